"""Kafka's own tools at a cluster of three brokers; `broker-lite`'s commands print the same."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from broker_lite.testing import Broker
from tests.support.command_line import CommandLine, command
from tests.support.reference_kafka import run_tool

__all__ = ["command"]

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.usefixtures("java")]

TOOLS: Final = "org.apache.kafka.tools"
COMMANDS: Final = {
    "TopicCommand": ("topics",),
    "LeaderElectionCommand": ("kafka", "leader-election"),
    "MetadataQuorumCommand": ("kafka", "metadata-quorum"),
    "reassign.ReassignPartitionsCommand": ("kafka", "reassign-partitions"),
}
TOPIC_ID: Final = re.compile(r"TopicId: \S+")

Ask = Callable[..., list[str]]


@pytest.fixture
def ask(command: CommandLine, broker_cluster: Broker) -> Ask:
    """Run a tool of Kafka's and return its lines; if `alike`, our command prints them, too."""

    def ask(tool: str, *arguments: str, alike: bool = True) -> list[str]:
        # a tool writes about a broker that is away between its lines
        up = next(one for one in broker_cluster.brokers.values() if one.state == "up")
        at = ("--bootstrap-server", up.bootstrap, *arguments)
        lines = run_tool(f"{TOOLS}.{tool}", *at).splitlines()
        if alike:
            assert command.ok(*COMMANDS[tool], *at).splitlines() == lines
        return lines

    return ask


@pytest.fixture
def placed(broker_cluster: Broker, command: CommandLine, topic: str) -> str:
    """A topic of two partitions, led by the brokers 1 and 2, each with all three replicas."""
    at = ("--bootstrap-server", broker_cluster.bootstrap)
    command.ok("topics", *at, "--create", "--topic", topic, "--replica-assignment", "1:2:3,2:3:1")
    return topic


def states(lines: list[str]) -> list[str]:
    """What `--describe` tells of each partition, from its number to its ISR."""
    found = (re.search(r"Partition: (.*?Isr: \S*)", line) for line in lines)
    return [" ".join(each[1].split()) for each in found if each]


def test_topics(broker_cluster: Broker, ask: Ask, placed: str) -> None:
    """C-40: who leads, who is in sync, and what lacks replicas, while a broker is away."""
    described = ask("TopicCommand", "--describe", "--topic", placed)
    assert "ReplicationFactor: 3" in described[0]
    assert states(described) == [
        "0 Leader: 1 Replicas: 1,2,3 Isr: 1,2,3",
        "1 Leader: 2 Replicas: 2,3,1 Isr: 2,3,1",
    ]
    lacking = ("--describe", "--topic", placed, "--under-replicated-partitions")
    assert ask("TopicCommand", *lacking) == []
    broker_cluster.brokers[2].down()
    assert states(ask("TopicCommand", *lacking)) == [
        "0 Leader: 1 Replicas: 1,2,3 Isr: 1,3",
        "1 Leader: 3 Replicas: 2,3,1 Isr: 3,1",
    ]
    broker_cluster.brokers[2].up()
    assert ask("TopicCommand", *lacking) == []


def test_leader_election(broker_cluster: Broker, ask: Ask, placed: str) -> None:
    """C-41: a preferred one, and an unclean one."""
    one = ("--topic", placed, "--partition", "0")
    broker_cluster.move_leader(placed, 0, to=3)
    preferred = ("--election-type", "PREFERRED", *one)
    elected = ask("LeaderElectionCommand", *preferred, alike=False)
    assert elected == [
        f"Successfully completed leader election (PREFERRED) for partitions {placed}-0"
    ]
    assert broker_cluster.partition(placed, 0)["leader"] == 1
    assert "Valid replica already elected" in ask("LeaderElectionCommand", *preferred)[0]
    broker_cluster.produce(placed, "kept", partition=0)
    for node in (2, 3):
        broker_cluster.shrink_isr(placed, 0, node=node)
    broker_cluster.produce(placed, "lost", partition=0)
    broker_cluster.brokers[1].down()
    assert broker_cluster.partition(placed, 0)["leader"] == -1
    elected = ask("LeaderElectionCommand", "--election-type", "UNCLEAN", *one, alike=False)
    assert elected == [
        f"Successfully completed leader election (UNCLEAN) for partitions {placed}-0"
    ]
    broker_cluster.heal()
    assert [each.value for each in broker_cluster.records(placed)] == [b"kept"]


def test_reassign_partitions(broker_cluster: Broker, ask: Ask, placed: str, tmp_path: Path) -> None:
    """C-43, C-44: in progress while a new replica lags, complete when it has all records."""
    tool = "reassign.ReassignPartitionsCommand"
    plan = tmp_path / "plan.json"

    def planned(*replicas: int) -> tuple[str, str]:
        entry = {"topic": placed, "partition": 0, "replicas": replicas}
        plan.write_text(json.dumps({"version": 1, "partitions": [entry]}))
        return "--reassignment-json-file", str(plan)

    ask(tool, "--execute", *planned(1, 2), alike=False)
    verified = f"Reassignment of partition {placed}-0 is completed."
    assert verified in ask(tool, "--verify", *planned(1, 2))
    assert broker_cluster.partition(placed, 0)["replicas"] == [1, 2]

    broker_cluster.lag(placed, 0, node=3)
    ask(tool, "--execute", *planned(1, 3), alike=False)
    assert f"Reassignment of partition {placed}-0 is still in progress." in ask(
        tool, "--verify", *planned(1, 3)
    )
    listed = f"{placed}-0: replicas: 1,3,2. adding: 3. removing: 2."
    assert listed in ask(tool, "--list")

    broker_cluster.catch_up(placed, 0, node=3)
    assert verified in ask(tool, "--verify", *planned(1, 3))
    assert ask(tool, "--list") == ["No partition reassignments found."]
    assert broker_cluster.partition(placed, 0)["isr"] == [1, 3]


def test_metadata_quorum(ask: Ask) -> None:
    """C-45: one controller, which is the first broker, and the others observe."""
    tool = "MetadataQuorumCommand"
    status = dict(line.split(":", 1) for line in ask(tool, "describe", "--status", alike=False))
    assert status["LeaderId"].strip() == "1"
    rows = [line.split() for line in ask(tool, "describe", "--replication", alike=False)[1:]]
    assert [(row[0], row[-1]) for row in rows] == [
        ("1", "Leader"),
        ("2", "Observer"),
        ("3", "Observer"),
    ]
