"""What a real consumer reads of a replayed log, and what it has to be."""

from typing import NamedTuple

from confluent_kafka import Consumer, Message, TopicPartition

from broker_lite.client import Client
from broker_lite.client.partition_offsets import LATEST, list_offsets
from broker_lite.client.topic_partitions import find_topics
from tests.pipeline.support import Partition
from tests.support.command_line import TIMEOUT_S

Headers = tuple[tuple[str, bytes | None], ...]


class Read(NamedTuple):
    """A record as librdkafka reads it."""

    topic: str
    partition: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers


def read(bootstrap: str, *topics: str) -> list[Read]:
    """All committed records of topics, by topic and partition."""
    with Client(bootstrap) as client:
        found = find_topics(client, topics)
        keys = [(topic, number) for topic in topics for number in found[topic].leaders]
        ends = list_offsets(client, dict.fromkeys(keys, LATEST), found, read_committed=True)
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    records: list[Read] = []
    try:
        consumer.assign([TopicPartition(*key, 0) for key in keys])
        left = {key for key in keys if ends[key]}
        while left:
            message = consumer.poll(TIMEOUT_S)
            assert message is not None, f"only {len(records)} records"
            if message.error() is not None:  # the end of a partition
                left.discard((str(message.topic()), message.partition()))
            else:
                records.append(_read(message))
    finally:
        consumer.close()
    return sorted(records, key=lambda each: (each.topic, each.partition))


def _read(message: Message) -> Read:
    return Read(
        str(message.topic()),
        int(message.partition() or 0),
        message.timestamp()[1],
        message.key(),
        message.value(),
        tuple(message.headers() or ()),
    )


def written(partition: Partition, topic: str) -> list[Read]:
    return [
        Read(topic, row.partition, row.timestamp_ms, row.key, row.value, row.headers or ())
        for row in partition.rows
    ]
