"""kafka-python: produce with every codec, read back, by time, administer."""

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import (
    ConfigResource,
    ConfigResourceType,
    KafkaAdminClient,
    NewPartitions,
    NewTopic,
)

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
pytestmark = pytest.mark.client
TIMEOUT_S = 30


def create(bootstrap: str, topic: str, partitions: int, config: dict[str, str]) -> None:
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics([NewTopic(topic, partitions, 1, topic_configs=config)])
    admin.close()


def produce(bootstrap: str, topic: str, sent: list[Message], codec: str, idempotent: bool) -> None:
    producer = KafkaProducer(
        bootstrap_servers=bootstrap,
        compression_type=None if codec == "none" else codec,
        enable_idempotence=idempotent,
        acks="all" if idempotent else 1,
        max_in_flight_requests_per_connection=1,
        max_request_size=MAX_MESSAGE_BYTES,
        linger_ms=2,
    )
    futures = [
        producer.send(
            topic,
            value=message.value,
            key=message.key,
            headers=message.headers,
            partition=message.partition,
            timestamp_ms=message.timestamp_ms,
        )
        for message in sent
    ]
    for future in futures:
        future.get(TIMEOUT_S)
    producer.close()


def read_back(bootstrap: str, topic: str, sent: list[Message], isolation: str) -> None:
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap,
        isolation_level=isolation,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        group_id=None,
        consumer_timeout_ms=TIMEOUT_S * 1000,
        max_partition_fetch_bytes=10_000_000,
    )
    expected = by_partition(sent)
    consumer.assign([TopicPartition(topic, partition) for partition in expected])
    read: dict[int, list[Message]] = {}
    for _ in range(len(sent)):
        record = next(consumer)
        partition = read.setdefault(record.partition, [])
        assert record.offset == len(partition)
        headers = [tuple(header) for header in record.headers]
        partition.append(
            Message(record.partition, record.timestamp, record.key, record.value, headers)
        )
    consumer.close()
    assert read == expected


@pytest.mark.parametrize("idempotent", [True, False], ids=["idempotent", "plain"])
@pytest.mark.parametrize("codec", CODECS)
def test_produces_and_reads_back(bootstrap: str, topic: str, codec: str, idempotent: bool) -> None:
    create(bootstrap, topic, PARTITIONS, {"max.message.bytes": str(MAX_MESSAGE_BYTES)})
    produce(bootstrap, topic, SENT, codec, idempotent)
    for isolation in ("read_uncommitted", "read_committed"):
        read_back(bootstrap, topic, SENT, isolation)


def test_many_partitions(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic, MANY_PARTITIONS, {})
    produce(bootstrap, topic, many(), "gzip", True)
    read_back(bootstrap, topic, many(), "read_uncommitted")


def test_offsets_by_time_and_ends(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic, PARTITIONS, {"max.message.bytes": str(MAX_MESSAGE_BYTES)})
    produce(bootstrap, topic, SENT, "none", True)
    consumer = KafkaConsumer(bootstrap_servers=bootstrap)
    for index in (0, 1, 50, 100, 197):
        partition = TopicPartition(topic, index % PARTITIONS)
        found = consumer.offsets_for_times({partition: START_MS + index * 1000})[partition]
        assert (found.offset, found.timestamp) == (index // PARTITIONS, START_MS + index * 1000)
    first = TopicPartition(topic, 0)
    assert consumer.beginning_offsets([first]) == {first: 0}
    assert consumer.end_offsets([first]) == {first: 67}
    consumer.close()


def test_administers_topics(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic, 2, {"cleanup.policy": "compact"})
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    assert topic in admin.list_topics()
    resource = ConfigResource(ConfigResourceType.TOPIC, topic, configs={"retention.ms": "123456"})
    admin.alter_configs([resource])
    asked = ConfigResource(ConfigResourceType.TOPIC, topic)
    described = admin.describe_configs([asked])
    assert "123456" in str(described)
    admin.create_partitions({topic: NewPartitions(5)})
    (metadata,) = admin.describe_topics([topic])
    assert len(metadata["partitions"]) == 5
    admin.delete_topics([topic])
    assert topic not in admin.list_topics()
    admin.close()
