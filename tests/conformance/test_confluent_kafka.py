"""confluent-kafka (librdkafka): produce with every codec, read back, by time, administer."""

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
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

pytestmark = pytest.mark.client
TIMEOUT_S = 30.0


def produce(bootstrap: str, topic: str, sent: list[Message], codec: str, idempotent: bool) -> None:
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "compression.type": codec,
            "enable.idempotence": idempotent,
            "message.max.bytes": MAX_MESSAGE_BYTES,
            "linger.ms": 2,
        }
    )
    failures: list[object] = []
    for message in sent:
        producer.produce(
            topic,
            message.value,
            message.key,
            partition=message.partition,
            timestamp=message.timestamp_ms,
            headers=message.headers,
            on_delivery=lambda error, _: failures.append(error) if error else None,
        )
        producer.poll(0)
    assert producer.flush(TIMEOUT_S) == 0
    assert failures == []


def read_back(bootstrap: str, topic: str, sent: list[Message], isolation: str) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "isolation.level": isolation,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "fetch.message.max.bytes": 10_000_000,
        }
    )
    expected = by_partition(sent)
    consumer.assign([TopicPartition(topic, partition, 0) for partition in expected])
    read: dict[int, list[Message]] = {}
    for index in range(len(sent)):
        record = consumer.poll(TIMEOUT_S)
        assert record is not None, f"only {index} of {len(sent)} records"
        assert record.error() is None, record.error()
        partition = read.setdefault(record.partition(), [])
        assert record.offset() == len(partition)
        partition.append(
            Message(
                record.partition(),
                record.timestamp()[1],
                record.key(),
                record.value(),
                record.headers() or [],
            )
        )
    consumer.close()
    assert read == expected


def create(bootstrap: str, topic: str, partitions: int, **config: str) -> AdminClient:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    settings = {name.replace("_", "."): value for name, value in config.items()}
    admin.create_topics([NewTopic(topic, partitions, 1, config=settings)])[topic].result(TIMEOUT_S)
    return admin


@pytest.mark.parametrize("idempotent", [True, False], ids=["idempotent", "plain"])
@pytest.mark.parametrize("codec", CODECS)
def test_produces_and_reads_back(bootstrap: str, topic: str, codec: str, idempotent: bool) -> None:
    create(bootstrap, topic, PARTITIONS, max_message_bytes=str(MAX_MESSAGE_BYTES))
    sent = messages()
    produce(bootstrap, topic, sent, codec, idempotent)
    for isolation in ("read_uncommitted", "read_committed"):
        read_back(bootstrap, topic, sent, isolation)


def test_many_partitions(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic, MANY_PARTITIONS)
    produce(bootstrap, topic, many(), "lz4", True)
    read_back(bootstrap, topic, many(), "read_uncommitted")


def test_offsets_by_time_and_watermarks(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic, PARTITIONS, max_message_bytes=str(MAX_MESSAGE_BYTES))
    produce(bootstrap, topic, messages(), "gzip", True)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused"})
    for index in (0, 1, 50, 100, 197):
        asked = TopicPartition(topic, index % PARTITIONS, START_MS + index * 1000)
        found = consumer.offsets_for_times([asked], TIMEOUT_S)[0]
        assert found.offset == index // PARTITIONS
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), TIMEOUT_S) == (0, 67)
    consumer.close()


def test_administers_topics(bootstrap: str, topic: str) -> None:
    admin = create(bootstrap, topic, 2, cleanup_policy="compact")
    assert len(admin.list_topics(topic, TIMEOUT_S).topics[topic].partitions) == 2
    resource = ConfigResource(
        ResourceType.TOPIC,
        topic,
        incremental_configs=[
            ConfigEntry("retention.ms", "123456", incremental_operation=AlterConfigOpType.SET),
            ConfigEntry("cleanup.policy", "delete", incremental_operation=AlterConfigOpType.APPEND),
        ],
    )
    admin.incremental_alter_configs([resource])[resource].result(TIMEOUT_S)
    asked = ConfigResource(ResourceType.TOPIC, topic)
    described = admin.describe_configs([asked])[asked].result(TIMEOUT_S)
    assert described["retention.ms"].value == "123456"
    assert described["cleanup.policy"].value == "compact,delete"
    admin.create_partitions([NewPartitions(topic, 5)])[topic].result(TIMEOUT_S)
    assert len(admin.list_topics(topic, TIMEOUT_S).topics[topic].partitions) == 5
    sent = [Message(4, START_MS, b"k", f"v{index}".encode(), []) for index in range(10)]
    produce(bootstrap, topic, sent, "none", True)
    target = TopicPartition(topic, 4, 4)
    deleted = admin.delete_records([target])[target].result(TIMEOUT_S)
    assert deleted.low_watermark == 4
    admin.delete_topics([topic])[topic].result(TIMEOUT_S)
    assert topic not in admin.list_topics(timeout=TIMEOUT_S).topics
