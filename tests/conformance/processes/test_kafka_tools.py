"""Kafka's own command line tools at several processes."""

import re
import subprocess

import pytest
from confluent_kafka import Producer

from broker_lite.testing import Broker
from tests.conformance.group import visible_values
from tests.conformance.processes.conftest import PROCESSES
from tests.support.reference_kafka import java_command, run_tool

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.client,
    pytest.mark.slow,
    pytest.mark.usefixtures("java"),
]

TOOLS = "org.apache.kafka.tools"
PARTITIONS = 2 * PROCESSES
TIMEOUT_S = 60
COUNT = 30_000


@pytest.fixture
def at(cluster: Broker, topic: str) -> tuple[str, ...]:
    """What tools are told: the last process alone, and a topic with partitions at all of them."""
    address = ("--bootstrap-server", cluster.bootstrap.split(",")[-1])
    named = (*address, "--topic", topic)
    run_tool(f"{TOOLS}.TopicCommand", *named, "--create", "--partitions", str(PARTITIONS))
    return named


def counts(at: tuple[str, ...]) -> list[int]:
    """The ends of all partitions."""
    ends = run_tool(f"{TOOLS}.GetOffsetShell", *at).split()
    return [int(each.rpartition(":")[2]) for each in ends]


def test_topics_are_described_and_grow(at: tuple[str, ...]) -> None:
    described = run_tool(f"{TOOLS}.TopicCommand", *at, "--describe")
    assert sorted(re.findall(r"Leader: (\d)", described)) == sorted("123" * 2)
    run_tool(f"{TOOLS}.TopicCommand", *at, "--alter", "--partitions", str(PARTITIONS + 1))
    assert counts(at) == [0] * (PARTITIONS + 1)
    run_tool(f"{TOOLS}.TopicCommand", *at, "--delete")


def test_performance_tools_use_all_processes(at: tuple[str, ...]) -> None:
    bootstrap, topic = at[1], at[3]
    told = run_tool(
        f"{TOOLS}.ProducerPerformance",
        *("--topic", topic, "--num-records", str(COUNT), "--record-size", "100"),
        *("--throughput", "-1", "--producer-props", f"bootstrap.servers={bootstrap}"),
    )
    assert f"{COUNT} records sent" in told
    ends = counts(at)
    assert sum(ends) == COUNT
    assert all(ends)
    told = run_tool(
        f"{TOOLS}.ConsumerPerformance", *at, "--messages", str(COUNT), "--timeout", "30000"
    )
    assert int(float(told.splitlines()[-1].split(", ")[4])) == COUNT


def test_console_tools_and_groups(at: tuple[str, ...]) -> None:
    lines = "".join(f"key-{number}\tvalue-{number}\n" for number in range(200))
    producer = java_command(
        f"{TOOLS}.ConsoleProducer", (*at, "--reader-property", "parse.key=true")
    )
    subprocess.run(producer, input=lines, text=True, check=True, timeout=TIMEOUT_S)
    assert all(counts(at))
    group = f"group-{at[3]}"
    read = run_tool(
        f"{TOOLS}.consumer.ConsoleConsumer",
        *(*at, "--from-beginning", "--max-messages", "200", "--group", group),
        *("--formatter-property", "print.key=true", "--timeout-ms", "30000"),
    )
    assert sorted(read.splitlines()) == sorted(lines.splitlines())
    described = run_tool(
        f"{TOOLS}.consumer.group.ConsumerGroupCommand", *at[:2], "--describe", "--group", group
    )
    rows = [line.split() for line in described.splitlines() if line.startswith(group)]
    assert [row[5] for row in rows] == ["0"] * PARTITIONS, "no lag is left"


def test_transactions_of_the_performance_tool(at: tuple[str, ...]) -> None:
    bootstrap, topic = at[1], at[3]
    told = run_tool(
        f"{TOOLS}.ProducerPerformance",
        *("--topic", topic, "--num-records", "3000", "--record-size", "10"),
        *("--throughput", "-1", "--producer-props", f"bootstrap.servers={bootstrap}"),
        *("--transactional-id", topic, "--transaction-duration-ms", "50"),
    )
    assert "3000 records sent" in told
    other = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"other-{topic}"})
    other.init_transactions(TIMEOUT_S)
    other.begin_transaction()
    for partition in range(PARTITIONS):
        other.produce(topic, b"aborted", partition=partition)
    other.flush(TIMEOUT_S)
    other.abort_transaction(TIMEOUT_S)
    values = visible_values(bootstrap, topic, PARTITIONS)
    assert len(values) == 3000
    assert "aborted" not in values
    listed = run_tool(f"{TOOLS}.TransactionsCommand", *at[:2], "list")
    assert re.search(rf"^{topic}\s.*CompleteCommit", listed, re.MULTILINE)
