"""aiokafka: produce with every codec, read back, by time, administer."""

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic

from tests.conformance.records import (
    CODECS,
    MANY_PARTITIONS,
    MAX_MESSAGE_BYTES,
    PARTITIONS,
    START_MS,
    Message,
    by_partition,
    many,
    messages,
)

SENT = messages(client_takes_all_nulls=False)
pytestmark = [pytest.mark.client, pytest.mark.asyncio]
TIMEOUT_S = 30


async def create(bootstrap: str, topic: str, partitions: int, config: dict[str, str]) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    await admin.create_topics([NewTopic(topic, partitions, 1, topic_configs=config)])
    await admin.close()


async def produce(
    bootstrap: str, topic: str, sent: list[Message], codec: str, idempotent: bool
) -> None:
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap,
        compression_type=None if codec == "none" else codec,
        enable_idempotence=idempotent,
        acks="all" if idempotent else 1,
        max_request_size=MAX_MESSAGE_BYTES,
        linger_ms=2,
    )
    async with producer:
        acknowledged = [
            await producer.send(
                topic,
                message.value,
                message.key,
                partition=message.partition,
                timestamp_ms=message.timestamp_ms,
                headers=message.headers,
            )
            for message in sent
        ]
        await asyncio.wait_for(asyncio.gather(*acknowledged), TIMEOUT_S)


async def read_back(bootstrap: str, topic: str, sent: list[Message], isolation: str) -> None:
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        isolation_level=isolation,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_partition_fetch_bytes=10_000_000,
    )
    expected = by_partition(sent)
    read: dict[int, list[Message]] = {}
    async with consumer:
        consumer.assign([TopicPartition(topic, partition) for partition in expected])
        await consumer.seek_to_beginning()
        for _ in range(len(sent)):
            record = await asyncio.wait_for(consumer.getone(), TIMEOUT_S)
            partition = read.setdefault(record.partition, [])
            assert record.offset == len(partition)
            headers = list(record.headers)
            partition.append(
                Message(record.partition, record.timestamp, record.key, record.value, headers)
            )
    assert read == expected


@pytest.mark.parametrize("idempotent", [True, False], ids=["idempotent", "plain"])
@pytest.mark.parametrize("codec", CODECS)
async def test_produces_and_reads_back(
    bootstrap: str, topic: str, codec: str, idempotent: bool
) -> None:
    await create(bootstrap, topic, PARTITIONS, {"max.message.bytes": str(MAX_MESSAGE_BYTES)})
    await produce(bootstrap, topic, SENT, codec, idempotent)
    for isolation in ("read_uncommitted", "read_committed"):
        await read_back(bootstrap, topic, SENT, isolation)


async def test_many_partitions(bootstrap: str, topic: str) -> None:
    await create(bootstrap, topic, MANY_PARTITIONS, {})
    await produce(bootstrap, topic, many(), "snappy", True)
    await read_back(bootstrap, topic, many(), "read_uncommitted")


async def test_offsets_by_time_and_ends(bootstrap: str, topic: str) -> None:
    await create(bootstrap, topic, PARTITIONS, {"max.message.bytes": str(MAX_MESSAGE_BYTES)})
    await produce(bootstrap, topic, SENT, "zstd", True)
    async with AIOKafkaConsumer(bootstrap_servers=bootstrap) as consumer:
        for index in (0, 1, 50, 100, 197):
            partition = TopicPartition(topic, index % PARTITIONS)
            found = await consumer.offsets_for_times({partition: START_MS + index * 1000})
            assert found[partition].offset == index // PARTITIONS
        first = TopicPartition(topic, 0)
        assert await consumer.beginning_offsets([first]) == {first: 0}
        assert await consumer.end_offsets([first]) == {first: 67}


async def test_administers_topics(bootstrap: str, topic: str) -> None:
    await create(bootstrap, topic, 2, {"cleanup.policy": "compact"})
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    assert topic in await admin.list_topics()
    await admin.create_partitions({topic: NewPartitions(5)})
    (described,) = await admin.describe_topics([topic])
    assert len(described["partitions"]) == 5
    await admin.delete_topics([topic])
    assert topic not in await admin.list_topics()
    await admin.close()
