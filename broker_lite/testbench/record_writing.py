"""Writing the records of a request or a script to topics."""

from collections.abc import Sequence
from typing import Final

from broker_lite.control.metadata.topic import NO_LEADER
from broker_lite.seed.fields import SeedRecord
from broker_lite.seed.writer import WAITING_BYTES_MAX, SeedWriter
from broker_lite.server.life import Life
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.turns import Turns

BATCH_BYTES_MAX: Final = 128 * 1024
"""For the writer: it takes 7 ms to compress so much with gzip, and others do not run meanwhile."""
# Less than what the writer appends by itself, without letting others run.
_WAITING_BYTES_MAX: Final = WAITING_BYTES_MAX // 2
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
    turns = Turns()
    for record in records:
        writer.add(record)
        await turns.next()
        if writer.waiting_bytes > _WAITING_BYTES_MAX:
            await _flush(writer, turns)
    await _flush(writer, turns)


async def _flush(writer: SeedWriter, turns: Turns) -> None:
    for _ in writer.flush_steps():
        await turns.next()
