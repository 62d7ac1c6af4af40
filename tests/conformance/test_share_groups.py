"""Share groups with clients that have them: Java's, librdkafka's, and Kafka's own tools."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer, ShareConsumer

from tests.conformance.share.scene import configure_group
from tests.support.broker_process import BrokerProcess
from tests.support.reference_kafka import run_tool

pytestmark = pytest.mark.client
TIMEOUT_S = 30.0
COUNT = 1000


def produce(bootstrap: str, topic: str, count: int = COUNT) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(count):
        producer.produce(topic, str(number))
    assert producer.flush(TIMEOUT_S) == 0


def read(consumer: ShareConsumer, count: int) -> list[int]:
    """Read so many records, acknowledged as they are read."""
    values: list[int] = []
    deadline = time.monotonic() + TIMEOUT_S
    while len(values) < count and time.monotonic() < deadline:
        values += [int(each.value()) for each in consumer.poll(1.0) if not each.error()]
    return values


def sharer(bootstrap: str, group: str, topic: str) -> ShareConsumer:
    consumer = ShareConsumer({"bootstrap.servers": bootstrap, "group.id": group})
    consumer.subscribe([topic])
    return consumer


def groups_tool(bootstrap: str, *words: str) -> str:
    command = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
    return run_tool(command, "--bootstrap-server", bootstrap, *words)


def test_librdkafka_reads_every_record_once_over_a_kill(tmp_path: Path) -> None:
    """K-20, K-21: what is acknowledged is not delivered again, not even after a kill."""
    with BrokerProcess(tmp_path / "data") as broker:
        produce(broker.bootstrap, "t")
        configure_group(broker.bootstrap, "g", share_auto_offset_reset="earliest")
        consumer = sharer(broker.bootstrap, "g", "t")
        values = read(consumer, COUNT)
        consumer.commit_sync()  # close() alone leaves the last records unacknowledged
        consumer.close()
        broker.kill()
        port = broker.port
    with BrokerProcess(tmp_path / "data", port=port) as broker:
        produce(broker.bootstrap, "t", 10)
        consumer = sharer(broker.bootstrap, "g", "t")
        again = read(consumer, 10)
        consumer.commit_sync()
        consumer.close()
    assert sorted(values) == list(range(COUNT))
    assert sorted(again) == list(range(10))


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.usefixtures("java")
def test_java_and_its_tools(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        produce(broker.bootstrap, "t")
        printed = run_tool(
            "org.apache.kafka.tools.VerifiableShareConsumer",
            *("--bootstrap-server", broker.bootstrap, "--topic", "t", "--group-id", "g"),
            *("--max-messages", str(COUNT), "--acknowledgement-mode", "sync"),
            *("--offset-reset-strategy", "earliest"),
        )
        events: list[dict[str, Any]] = [
            json.loads(line) for line in printed.splitlines() if line.startswith("{")
        ]
        acknowledged = [
            offset
            for event in events
            if event["name"] == "offsets_acknowledged"
            for partition in event["partitions"]
            for offset in partition["offsets"]
        ]
        assert sorted(acknowledged) == list(range(COUNT))
        assert groups_tool(broker.bootstrap, "--list").split() == ["g"]
        described = groups_tool(broker.bootstrap, "--describe", "--group", "g").split()
        # the start offset that is kept is the one before the last change
        assert described[-5:] == ["g", "t", "0", "0", "0"]
        reset = ("--reset-offsets", "--group", "g", "--topic", "t", "--to-earliest", "--execute")
        assert "t" in groups_tool(broker.bootstrap, *reset)
        described = groups_tool(broker.bootstrap, "--describe", "--group", "g").split()
        assert described[-5:] == ["g", "t", "0", "0", str(COUNT)]
        groups_tool(broker.bootstrap, "--delete", "--group", "g")
        assert groups_tool(broker.bootstrap, "--list").split() == []
