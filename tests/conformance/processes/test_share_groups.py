"""Share groups of clients that have them, at several processes: Java's, librdkafka's, the tools."""

import json
import time
from typing import Any

import pytest
from confluent_kafka import Producer, ShareConsumer

from broker_lite.testing import Broker
from tests.conformance.processes.conftest import PROCESSES, further_processes
from tests.conformance.share.scene import configure_group
from tests.conformance.test_share_groups import groups_tool, sharer
from tests.support.reference_kafka import run_tool

pytestmark = [pytest.mark.client, pytest.mark.slow]

PARTITIONS = 2 * PROCESSES
COUNT = 1200
TIMEOUT_S = 60.0


def produce(cluster: Broker, topic: str, numbers: range) -> None:
    """Write the numbers, each partition as many of them."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    for number in numbers:
        producer.produce(topic, str(number), partition=number % PARTITIONS)
    assert producer.flush(TIMEOUT_S) == 0


def read(consumer: ShareConsumer, values: set[int], count: int) -> None:
    """Read until so many different records were read; each is acknowledged with the next poll."""
    deadline = time.monotonic() + TIMEOUT_S
    while len(values) < count:
        assert time.monotonic() < deadline, f"{len(values)} of {count} were read"
        values.update(int(each.value()) for each in consumer.poll(1.0) if not each.error())


def test_k20_k28_librdkafka_reads_everything_although_processes_are_killed(
    cluster: Broker, topic: str
) -> None:
    cluster.create_topic(topic, partitions=PARTITIONS)
    configure_group(cluster.bootstrap, topic, share_auto_offset_reset="earliest")
    consumer = sharer(cluster.bootstrap, topic, topic)
    produce(cluster, topic, range(COUNT))
    values: set[int] = set()
    read(consumer, values, COUNT)
    consumer.commit_sync()
    for process in further_processes(cluster):
        process.kill()
    produce(cluster, topic, range(COUNT, 2 * COUNT))
    again: set[int] = set()
    read(consumer, again, COUNT)
    consumer.commit_sync()
    consumer.close()
    # what was acknowledged before the kill is not delivered again
    assert values == set(range(COUNT))
    assert again == set(range(COUNT, 2 * COUNT))


@pytest.mark.kafka
@pytest.mark.usefixtures("java")
def test_java_and_its_tools(cluster: Broker, topic: str) -> None:
    cluster.create_topic(topic, partitions=PARTITIONS)
    produce(cluster, topic, range(COUNT))
    group = f"group-of-{topic}"
    last = cluster.bootstrap.split(",")[-1]
    printed = run_tool(
        "org.apache.kafka.tools.VerifiableShareConsumer",
        *("--bootstrap-server", last, "--topic", topic, "--group-id", group),
        *("--max-messages", str(COUNT), "--acknowledgement-mode", "sync"),
        *("--offset-reset-strategy", "earliest"),
    )
    events: list[dict[str, Any]] = [
        json.loads(line) for line in printed.splitlines() if line.startswith("{")
    ]
    acknowledged = [
        (partition["partition"], offset)
        for event in events
        if event["name"] == "offsets_acknowledged"
        for partition in event["partitions"]
        for offset in partition["offsets"]
    ]
    each = COUNT // PARTITIONS
    assert sorted(acknowledged) == [(p, o) for p in range(PARTITIONS) for o in range(each)]
    assert group in groups_tool(last, "--list").split()
    assert _lags(last, group) == ["0"] * PARTITIONS
    reset = ("--reset-offsets", "--group", group, "--topic", topic, "--to-earliest", "--execute")
    assert topic in groups_tool(last, *reset)
    assert _lags(last, group) == [str(each)] * PARTITIONS
    groups_tool(last, "--delete", "--group", group)
    assert group not in groups_tool(last, "--list").split()


def _lags(address: str, group: str) -> list[str]:
    described = groups_tool(address, "--describe", "--group", group).splitlines()
    return [line.split()[-1] for line in described if line.startswith(group)]
