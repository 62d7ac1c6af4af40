"""A consumer without a group with aiokafka; tests.catalogue.play says what it does."""

import asyncio
from collections.abc import Iterable

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from tests.conformance.python.lines import Commands, answer_async, emit, name_of, options

TIMEOUT_S = 3
PAUSE_S = 0.05


def consumer_of(given: dict[str, str]) -> AIOKafkaConsumer:
    """The consumer that the options ask for."""
    return AIOKafkaConsumer(
        bootstrap_servers=given["bootstrap"],
        isolation_level=given.get("isolation", "read_uncommitted"),
        auto_offset_reset=given.get("reset", "earliest"),
        enable_auto_commit=False,
        fetch_max_wait_ms=100,
        retry_backoff_ms=50,
        metadata_max_age_ms=2000,
        request_timeout_ms=int(given.get("request_ms", 2000)),
    )


async def execute(consumer: AIOKafkaConsumer, topic: str, command: list[str]) -> Iterable[object]:
    """Execute one command."""
    match command:
        case ["seek", partition, offset]:
            consumer.seek(TopicPartition(topic, int(partition)), int(offset))
        case ["ends", partition]:
            asked = TopicPartition(topic, int(partition))
            begins = await consumer.beginning_offsets([asked])
            return begins[asked], (await consumer.end_offsets([asked]))[asked]
        case ["at", partition, time_ms]:
            asked = TopicPartition(topic, int(partition))
            found = (await consumer.offsets_for_times({asked: int(time_ms)}))[asked]
            return (None if found is None else found.offset,)
        case ["partitions"]:
            return (len(consumer.partitions_for_topic(topic)),)
    return ()


async def poll(consumer: AIOKafkaConsumer) -> None:
    """Print what has come."""
    try:
        for partition, records in (await consumer.getmany(timeout_ms=50)).items():
            for record in records:
                value = (record.value or b"").decode()
                emit("read", partition.partition, record.offset, value)
    except KafkaError as error:
        emit("refused", name_of(error))
        await asyncio.sleep(PAUSE_S)


async def main() -> None:
    """Read until told to leave."""
    given, commands = options(), Commands()
    topic = given["topic"]
    consumer = consumer_of(given)
    await consumer.start()
    partitions = [TopicPartition(topic, each) for each in range(int(given.get("partitions", 1)))]
    consumer.assign(partitions)
    for each in partitions if "start" in given else ():
        consumer.seek(each, int(given["start"]))
    while (command := commands.next()) != ["leave"]:
        if command is not None:
            await answer_async(
                command, lambda each: asyncio.wait_for(execute(consumer, topic, each), TIMEOUT_S)
            )
        await poll(consumer)
    await consumer.stop()


if __name__ == "__main__":
    asyncio.run(main())
