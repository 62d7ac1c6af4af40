"""Quotas at several processes: each measures its own clients, as each of Kafka's brokers does."""

import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from broker_lite.testing import Broker
from tests.conformance.processes.conftest import PROCESSES
from tests.support.command_line import CommandLine, command
from tests.support.reference_kafka import run_tool

__all__ = ["command"]

pytestmark = [pytest.mark.client, pytest.mark.slow]

TIMEOUT_S = 30
RATE = 100_000
"""Of a client at each broker; it may use that of 10 seconds at once."""
VALUE = b"v" * 10_000
ENOUGH = 130
"""So many values throttle who writes or reads them at one broker."""
TOPICS = "org.apache.kafka.tools.TopicCommand"


class Throttled:
    """Which brokers have throttled a client."""

    def __init__(self) -> None:
        self.brokers: set[int] = set()

    def __call__(self, event: object) -> None:
        if event.throttle_time > 0:  # type: ignore[attr-defined]
            self.brokers.add(event.broker_id)  # type: ignore[attr-defined]


def create(cluster: Broker, topic: str) -> dict[int, int]:
    """Make a topic with a partition at each process; the partitions by their leaders."""
    cluster.create_topic(topic, PROCESSES)
    return {int(str(cluster.partition(topic, p)["leader"])): p for p in range(PROCESSES)}


def set_quota(command: CommandLine, address: str, client_id: str, quota: str) -> None:
    """Set a quota of a client id through one broker."""
    entity = ("--entity-type", "clients", "--entity-name", client_id)
    command.ok("configs", "--bootstrap-server", address, "--alter", "--add-config", quota, *entity)


def produce(producer: Producer, topic: str, partition: int, count: int) -> None:
    for _ in range(count):
        producer.produce(topic, VALUE, partition=partition)
    assert producer.flush(TIMEOUT_S) == 0


@pytest.mark.parametrize("through", range(PROCESSES))
def test_a_producer_is_throttled_by_the_broker_to_which_it_writes_too_much(
    cluster: Broker, topic: str, command: CommandLine, through: int
) -> None:
    led = create(cluster, topic)
    address = cluster.bootstrap.split(",")[through]
    set_quota(command, address, topic, f"producer_byte_rate={RATE}")
    throttled = Throttled()
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "client.id": topic,
            "throttle_cb": throttled,
            "linger.ms": 5,
        }
    )
    for each in (2, 3):
        produce(producer, topic, led[each], ENOUGH // 3)
    assert throttled.brokers == set(), "each broker has a quota of its own"
    produce(producer, topic, led[2], ENOUGH)
    produce(producer, topic, led[3], 1)
    assert throttled.brokers == {2}


def test_a_consumer_is_throttled_by_each_broker_from_which_it_reads_too_much(
    cluster: Broker, topic: str, command: CommandLine
) -> None:
    led = create(cluster, topic)
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    for partition in led.values():
        produce(producer, topic, partition, ENOUGH)
    set_quota(command, cluster.bootstrap, topic, f"consumer_byte_rate={RATE}")
    throttled, read = Throttled(), 0
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "client.id": topic,
            "group.id": topic,
            "throttle_cb": throttled,
            "fetch.message.max.bytes": 200_000,
        }
    )
    consumer.assign([TopicPartition(topic, partition, 0) for partition in led.values()])
    deadline_s = time.monotonic() + TIMEOUT_S
    while read < PROCESSES * ENOUGH or throttled.brokers != set(led):
        read += len(consumer.consume(100, 0.1))
        assert time.monotonic() < deadline_s, f"{read} were read, throttled by {throttled.brokers}"
    consumer.close()


@pytest.mark.kafka
@pytest.mark.usefixtures("java")
def test_changes_of_topics_are_measured_together(
    cluster: Broker, topic: str, command: CommandLine, tmp_path: Path
) -> None:
    set_quota(command, cluster.bootstrap, topic, "controller_mutation_rate=0.1")
    config = tmp_path / "client.properties"
    config.write_text(f"client.id={topic}\n")
    last, *others = reversed(cluster.bootstrap.split(","))

    def create_by(address: str, name: str, partitions: int) -> None:
        at = ("--bootstrap-server", address, "--command-config", str(config))
        run_tool(TOPICS, *at, "--create", "--topic", name, "--partitions", str(partitions))

    create_by(last, topic, 100)
    for address in (last, *others):
        with pytest.raises(RuntimeError, match="ThrottlingQuotaExceededException"):
            create_by(address, f"{topic}-more", 1)
