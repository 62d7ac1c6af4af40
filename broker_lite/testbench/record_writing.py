"""Writing the records of a request or a script to topics."""

from collections.abc import Sequence
from typing import Final

from anyio.lowlevel import checkpoint

from broker_lite.control.metadata.topic import NO_LEADER
from broker_lite.seed.fields import SeedRecord
from broker_lite.seed.writer import SeedWriter
from broker_lite.server.life import Life
from broker_lite.testbench.errors import ControlError

RECORDS_AT_A_TIME: Final = 500
"""Other tasks have their turn after so many records."""
_CONFLICT: Final = 409


def check_leaders(life: Life, name: str) -> None:
    """Check that all partitions of a topic have a leader, if there is such a topic.

    Raises:
        ControlError: 409, it tells which partitions have none.
    """
    topic = life.cluster.topics.get(name)
    if topic is not None:
        lacking = [at for at, each in enumerate(topic.partitions) if each.leader == NO_LEADER]
        if lacking:
            raise ControlError(_CONFLICT, f"topic {name}: nobody leads the partitions {lacking}")


async def write_in_turns(writer: SeedWriter, records: Sequence[SeedRecord]) -> None:
    """Write records; other tasks run in between.

    Raises:
        SettingsError: a topic or partition does not exist, or a topic refuses a record.
        KafkaStorageError: a log cannot be written.
    """
    for index, record in enumerate(records, 1):
        writer.add(record)
        if index % RECORDS_AT_A_TIME == 0:
            await checkpoint()
    writer.flush()
