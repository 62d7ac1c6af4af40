"""Consume, transform, produce with aiokafka; `tests.conformance.clients` says how.

aiokafka sends no generation with the positions, so a member that lost its partitions is held back
by its own check alone: nothing of a batch is moved once a rebalance has begun.
"""

import asyncio

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.errors import KafkaError, ProducerFenced

from tests.conformance.python.aiokafka_member import Listener
from tests.conformance.python.aiokafka_transactor import producer_of
from tests.conformance.python.lines import Commands, emit, name_of, options


async def move(
    producer: AIOKafkaProducer,
    batches: dict[TopicPartition, list[ConsumerRecord]],
    given: dict[str, str],
) -> None:
    """Write what was read to the other topic, in one transaction with the positions."""
    async with producer.transaction():
        for partition, records in batches.items():
            for record in records:
                value = f"{record.partition}:{record.offset}".encode()
                await producer.send(given["output"], value, partition=partition.partition)
        ends = {partition: records[-1].offset + 1 for partition, records in batches.items()}
        await producer.send_offsets_to_transaction(ends, given["group"])
    emit("moved", sum(map(len, batches.values())))


async def main() -> None:
    """Move records until told to leave."""
    given, commands = options(), Commands()
    session_ms = int(given["session_ms"])
    consumer = AIOKafkaConsumer(
        bootstrap_servers=given["bootstrap"],
        group_id=given["group"],
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=session_ms,
        heartbeat_interval_ms=session_ms // 6,
        partition_assignment_strategy=(RangePartitionAssignor,),
    )
    producer = producer_of(given)
    await producer.start()
    consumer.subscribe([given["topic"]], listener=Listener())
    await consumer.start()
    while commands.next() != ["leave"]:
        batches = await consumer.getmany(timeout_ms=100, max_records=20)
        if not batches:
            continue
        try:
            await move(producer, batches, given)
        except ProducerFenced:
            raise
        except KafkaError as error:
            emit("gave_up", name_of(error))
            await consumer.seek_to_committed()
    await consumer.stop()
    await producer.stop()


if __name__ == "__main__":
    asyncio.run(main())
