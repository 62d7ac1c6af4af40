"""Consume, transform, produce with aiokafka; `tests.conformance.clients` says how.

aiokafka sends no generation with the positions and reads positions that a transaction may still
change, so each partition has a producer of its own, whose start ends what another one had begun.
"""

import asyncio

from aiokafka import (
    AIOKafkaConsumer,
    AIOKafkaProducer,
    ConsumerRebalanceListener,
    ConsumerRecord,
    TopicPartition,
)
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.errors import IllegalStateError, KafkaError

from tests.conformance.python.aiokafka_transactor import producer_of
from tests.conformance.python.lines import Commands, Owned, emit, name_of, options


class Movers(ConsumerRebalanceListener):
    """The producers of the partitions; a rebalance makes them all void."""

    def __init__(self, consumer: AIOKafkaConsumer, given: dict[str, str]) -> None:
        self._owned = Owned()
        self._consumer = consumer
        self._given = given
        self._producers: dict[TopicPartition, AIOKafkaProducer] = {}
        self._void: list[AIOKafkaProducer] = []

    async def on_partitions_assigned(self, assigned: list[TopicPartition]) -> None:
        """All that it has now."""
        self._owned.add(each.partition for each in assigned)

    async def on_partitions_revoked(self, revoked: list[TopicPartition]) -> None:
        """All that it had."""
        self._owned.remove(each.partition for each in revoked)
        self._void += self._producers.values()
        self._producers.clear()

    async def stop_void(self) -> None:
        """End the producers that are of no use any more."""
        while self._void:
            await self._void.pop().stop()

    async def move(self, partition: TopicPartition, records: list[ConsumerRecord]) -> None:
        """Write what was read to the other topic, in one transaction with the position."""
        producer = self._producers.get(partition)
        if producer is None:
            await self._begin(partition)
            return
        try:
            async with producer.transaction():
                for record in records:
                    value = f"{record.partition}:{record.offset}".encode()
                    await producer.send(self._given["output"], value, partition=partition.partition)
                end = {partition: records[-1].offset + 1}
                await producer.send_offsets_to_transaction(end, self._given["group"])
            emit("moved", len(records))
        except KafkaError as error:
            emit("gave_up", name_of(error))
            self._void.append(producer)
            self._producers.pop(partition, None)

    async def _begin(self, partition: TopicPartition) -> None:
        """Take a partition over, and read it from what is committed then."""
        transactional_id = f"{self._given['group']}-{partition.partition}"
        producer = producer_of({**self._given, "transactional_id": transactional_id})
        await producer.start()
        try:
            self._consumer.seek(partition, await self._consumer.committed(partition) or 0)
            self._producers[partition] = producer
        except IllegalStateError:  # it was revoked meanwhile
            self._void.append(producer)


async def main() -> None:
    """Move records until told to leave."""
    given, commands = options(), Commands()
    consumer = AIOKafkaConsumer(
        bootstrap_servers=given["bootstrap"],
        group_id=given["group"],
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=int(given["session_ms"]),
        heartbeat_interval_ms=int(given["heartbeat_ms"]),
        partition_assignment_strategy=(RangePartitionAssignor,),
    )
    movers = Movers(consumer, given)
    consumer.subscribe([given["topic"]], listener=movers)
    await consumer.start()
    while commands.next() != ["leave"]:
        batches = await consumer.getmany(timeout_ms=100, max_records=50)
        for partition, records in batches.items():
            await movers.move(partition, records)
        await movers.stop_void()
    await consumer.stop()
    await movers.on_partitions_revoked([])
    await movers.stop_void()


if __name__ == "__main__":
    asyncio.run(main())
