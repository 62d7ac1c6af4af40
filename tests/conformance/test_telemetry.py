"""Metrics that real clients push, as the broker shows them (KIP-714)."""

import subprocess
from collections.abc import Iterator
from datetime import timedelta

import pytest
from confluent_kafka import Producer

from broker_lite.testing import Broker
from tests.support.reference_kafka import java_command, run_tool
from tests.support.toolchain import require


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as started:
        started.subscribe_telemetry()
        yield started


def scraped(broker: Broker, client_id: str) -> dict[str, float]:
    """The samples of a client by the name of the metric; the last one of each."""
    text = broker.control("GET", "/metrics")
    assert isinstance(text, str)
    lines = [line for line in text.splitlines() if f'client_id="{client_id}"' in line]
    return {line.partition("{")[0]: float(line.rpartition(" ")[2]) for line in lines}


@pytest.mark.client
@pytest.mark.slow
def test_librdkafka(broker: Broker) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "client.id": "rd"})
    producer.produce("t", b"x")
    assert producer.flush(30) == 0
    name = "org.apache.kafka.producer.node.request.latency.avg"
    (found,) = broker.wait_for_telemetry(
        name, client_id="rd", labels={"node.id": "1"}, at_least=0.001, pushes=2
    )
    assert found.software.startswith("confluent-kafka-python ")
    assert (found.refused, found.note) == (0, "")
    told = scraped(broker, "rd")
    assert told["org_apache_kafka_producer_node_request_latency_avg"] > 0
    # a delta of the connections that came after the subscription: none
    assert told["org_apache_kafka_producer_connection_creation_total"] == 0
    del producer
    (ended,) = broker.wait_for_telemetry(client_id="rd", is_ended=True)
    assert ended.refused == 0


@pytest.mark.client
@pytest.mark.slow
def test_java(broker: Broker) -> None:
    require("java", "mvn")
    arguments = (
        *("--topic", "t", "--num-records", "1000000", "--record-size", "10"),
        *("--throughput", "500", "--bootstrap-server", broker.bootstrap),
        *("--command-property", "client.id=jvm"),
    )
    command = java_command("org.apache.kafka.tools.ProducerPerformance", arguments)
    name = "org.apache.kafka.producer.record.send.total"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            (found,) = broker.wait_for_telemetry(
                name, client_id="jvm", at_least=500, timeout=timedelta(seconds=90)
            )
            told = scraped(broker, "jvm")
        finally:
            process.kill()
    assert found.software.startswith("apache-kafka-java ")
    assert found.value(name) <= told["org_apache_kafka_producer_record_send_total"]
    assert (found.note, found.last_refusal) == ("", "")


@pytest.mark.client
@pytest.mark.slow
def test_kafkas_own_command(broker: Broker) -> None:
    require("java", "mvn")

    def command(*arguments: str) -> str:
        name = "org.apache.kafka.tools.ClientMetricsCommand"
        return run_tool(name, "--bootstrap-server", broker.bootstrap, *arguments)

    named = ("--name", "theirs")
    wanted = ("--metrics", "org.apache", "--interval", "1000", "--match", "client_id=a")
    assert "Altered client metrics config for theirs." in command("--alter", *named, *wanted)
    assert "theirs" in command("--list").split()
    described = command("--describe", *named)
    assert "interval.ms=1000" in described
    assert "match=client_id=a" in described
    assert "metrics=org.apache" in described
    assert "Deleted client metrics config for theirs." in command("--delete", *named)
    assert "theirs" not in command("--list").split()
