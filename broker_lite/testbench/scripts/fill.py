"""What a script has in the topics and groups before it begins: records and committed offsets."""

from collections.abc import Mapping, Sequence

from broker_lite.errors import SettingsError
from broker_lite.handler.uncollected import uncollected
from broker_lite.seed.fields import SeedRecord
from broker_lite.seed.writer import SeedWriter
from broker_lite.server.life import Life
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.group_offsets import commit_offsets
from broker_lite.testbench.record_writing import BATCH_BYTES_MAX, check_leaders, write_in_turns
from broker_lite.testbench.turns import Turns

Offsets = Mapping[str, Mapping[str, Mapping[int, int]]]
"""Group, then topic, then partition, then offset."""


async def fill(life: Life, records: Sequence[SeedRecord], offsets: Offsets) -> None:
    """Write records, and commit offsets for groups without members.

    Raises:
        ControlError: a topic refuses a record, or a group its offsets; it names the place.
    """
    if records:
        for topic in {record.topic for record in records}:
            check_leaders(life, topic)
        writer = SeedWriter(life.cluster, life.clock, None, _error, batch_bytes_max=BATCH_BYTES_MAX)
        try:
            with uncollected():
                await write_in_turns(writer, records)
        except SettingsError as error:
            at, _, text = str(error).partition(": ")
            raise ControlError(400, text, at) from None
    turns = Turns()
    for group_id, given in offsets.items():
        await turns.next()
        try:
            await commit_offsets(life, group_id, given)
        except ControlError as error:
            at = f"offsets.{group_id}.{error.at}".rstrip(".")
            raise ControlError(error.status, error.text, at) from None


def _error(reason: str, number: int) -> SettingsError:
    return SettingsError(f"records[{number}]: {reason}")
