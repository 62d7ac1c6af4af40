"""A member of a group with aiokafka; `tests.conformance.members` says what it does."""

import asyncio

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import KafkaError

from tests.conformance.python.lines import Commands, Owned, emit, name_of, options

ASSIGNORS = {"range": RangePartitionAssignor, "sticky": StickyPartitionAssignor}


class Listener(ConsumerRebalanceListener):
    """Tells what the member owns, and gives nothing away in the middle of a commit.

    aiokafka tries a commit again in the name of the generation that the member is in by then, and
    so could commit a partition that another member reads already. Its documentation lets the
    listener wait for a lock.
    """

    def __init__(self, committing: asyncio.Lock) -> None:
        self._owned = Owned()
        self._committing = committing

    async def on_partitions_assigned(self, assigned: list[TopicPartition]) -> None:
        """All that it has now."""
        self._owned.add(each.partition for each in assigned)

    async def on_partitions_revoked(self, revoked: list[TopicPartition]) -> None:
        """All that it had."""
        async with self._committing:
            self._owned.remove(each.partition for each in revoked)


async def poll(consumer: AIOKafkaConsumer, committing: asyncio.Lock) -> None:
    """Print some records and commit them all at once: a rebalance may come with every await."""
    ends = {}
    for partition, records in (await consumer.getmany(timeout_ms=100, max_records=20)).items():
        for record in records:
            value = (record.value or b"").decode()
            emit("read", partition.partition, record.offset, value)
        ends[partition] = records[-1].offset + 1
    if not ends:
        return
    try:
        # not around getmany(), which waits for the end of a rebalance
        async with committing:
            await consumer.commit(ends)
        for partition, end in ends.items():
            emit("committed", partition.partition, end)
    except KafkaError as error:
        emit("refused", name_of(error))


async def main() -> None:
    """Read until told to leave."""
    given, commands = options(), Commands()
    topic, session_ms = given["topic"], int(given["session_ms"])
    consumer = AIOKafkaConsumer(
        bootstrap_servers=given["bootstrap"],
        group_id=given["group"],
        group_instance_id=given.get("instance"),
        isolation_level=given.get("isolation", "read_uncommitted"),
        auto_offset_reset=given.get("reset", "earliest"),
        enable_auto_commit=False,
        # aiokafka does not ask for the leaders when ListOffsets tells it that they moved
        metadata_max_age_ms=1000,
        session_timeout_ms=session_ms,
        heartbeat_interval_ms=int(given["heartbeat_ms"]),
        partition_assignment_strategy=(ASSIGNORS[given["assignor"]],),
    )
    committing = asyncio.Lock()
    consumer.subscribe([topic], listener=Listener(committing))
    await consumer.start()
    while (command := commands.next()) != ["leave"]:
        if command is not None:
            consumer.seek(TopicPartition(topic, int(command[1])), int(command[2]))
            emit("done", *command)
        await poll(consumer, committing)
    await consumer.stop()


if __name__ == "__main__":
    asyncio.run(main())
