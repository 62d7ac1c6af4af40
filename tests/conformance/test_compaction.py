"""Clients go on while their logs, and those of the coordinators, are compacted: S-80 to S-89."""

import random
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from broker_lite.testing import Broker

SETTINGS = {
    "log.cleaner.backoff.ms": 10,
    "log.cleaner.min.cleanable.ratio": 0.01,
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
}
CONFIGS = {
    "cleanup.policy": "compact",
    "internal.segment.bytes": 1000,
    "delete.retention.ms": 0,
}
COORDINATORS = ("__consumer_offsets", "__transaction_state")
TRANSACTIONS = 40
CLEANINGS = 3
KEYS = 12


class Reader:
    """A consumer of committed records that keeps the newest value of each key."""

    def __init__(self, broker: Broker) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": broker.bootstrap,
                "group.id": "reader",
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        self._consumer.assign([TopicPartition("t", 0, 0)])
        self.newest: dict[bytes, bytes] = {}
        self.position = -1

    def read(self, timeout_s: float = 0.0) -> None:
        for message in self._consumer.consume(500, timeout_s):
            assert message.error() is None
            assert message.offset() > self.position
            self.position = message.offset()
            keep(self.newest, message.key(), message.value())

    def close(self) -> None:
        self._consumer.close()


def keep(newest: dict[bytes, bytes], key: bytes | None, value: bytes | None) -> None:
    assert key is not None
    if value is None:
        newest.pop(key, None)
    else:
        newest[key] = value


def producer_of(broker: Broker) -> Producer:
    made = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "writer"})
    made.init_transactions(20)
    return made


def write(producer: Producer, draw: random.Random, number: int, group: Any) -> dict[bytes, Any]:
    """One transaction, with the group's offset; what it leaves when it counts."""
    changes: dict[bytes, Any] = {}
    producer.begin_transaction()
    for index in range(5):
        key = b"key %d" % draw.randrange(KEYS)
        changes[key] = None if draw.random() < 0.2 else b"%d %d" % (number, index)
        producer.produce("t", changes[key], key)
    producer.send_offsets_to_transaction([TopicPartition("t", 0, number)], group, 20)
    if number % 4 == 3:
        producer.abort_transaction(20)
        return {}
    producer.commit_transaction(20)
    return changes


def shorten_segments(broker: Broker) -> None:
    """Of the coordinators' topics, which are there."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    entry = ConfigEntry(
        "internal.segment.bytes", "2000", incremental_operation=AlterConfigOpType.SET
    )
    resources = [
        ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        for topic in COORDINATORS
    ]
    for future in admin.incremental_alter_configs(resources).values():
        future.result(20)


def committed(broker: Broker) -> int:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "writer's"})
    (found,) = consumer.committed([TopicPartition("t", 0)], 20)
    consumer.close()
    return int(found.offset)


@pytest.mark.client
@pytest.mark.slow
def test_transactions_and_a_consumer_beside_the_cleaner(tmp_path: Path) -> None:
    draw, expected = random.Random(7), dict[bytes, bytes]()
    with Broker(SETTINGS, data_dir=tmp_path / "data") as broker:
        broker.create_topic("t", configs=CONFIGS)
        reader, producer = Reader(broker), producer_of(broker)
        member = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "writer's"})
        group = member.consumer_group_metadata()
        number = last = -1
        while number < TRANSACTIONS or broker.log.count("log cleaned topic=t-0") < CLEANINGS:
            number += 1
            for key, value in write(producer, draw, number, group).items():
                keep(expected, key, value)
                last = number
            if number == 0:
                shorten_segments(broker)
            reader.read()
        member.close()
        for topic in ("t", *COORDINATORS):
            while f"log cleaned topic={topic}-0" not in broker.log:
                reader.read(0.05)
        while reader.newest != expected:
            reader.read(0.05)
        reader.close()
        again: dict[bytes, bytes] = {}
        for record in broker.records("t", read_committed=True):
            keep(again, record.key, record.value)
        assert again == expected
        assert committed(broker) == last

        broker.kill()
        broker.start()
        assert committed(broker) == last
        producer = producer_of(broker)  # the transactional id is known
        producer.begin_transaction()
        producer.produce("t", b"last", b"key 0")
        producer.commit_transaction(20)
        keep(expected, b"key 0", b"last")
        found: dict[bytes, bytes] = {}
        for record in broker.records("t", read_committed=True):
            keep(found, record.key, record.value)
        assert found == expected
