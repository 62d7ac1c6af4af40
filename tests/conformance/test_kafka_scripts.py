"""`broker-lite kafka` prints what Kafka's tools print, about broker-lite and about a real Kafka."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from broker_lite.commands.console.formatters import PACKAGE
from broker_lite.testing import Broker
from tests.support.command_line import CommandLine, command
from tests.support.reference_kafka import run_tool

__all__ = ["command"]

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.usefixtures("java")]
TIMEOUT_S = 30
TOOLS = "org.apache.kafka.tools"
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
EPOCH = re.compile(r"(?<=Epoch: )\d+")
LOGGED = re.compile(r"^\d{4}-\d\d-\d\d .* ERROR .*\n", re.MULTILINE)
"""What Kafka's client logs between what its tool prints."""
NUMBER = re.compile(r"(?:-?\d+(?:\.\d+)?|NaN) *")


@pytest.fixture
def filled(command: CommandLine, either: str, topic: str) -> str:
    """A topic with ten records in its one partition."""
    command.ok("topics", "--bootstrap-server", either, "--create", "--topic", topic)
    producer = Producer({"bootstrap.servers": either})
    for _ in range(10):
        producer.produce(topic, b"value", partition=0)
    assert producer.flush(TIMEOUT_S) == 0
    return topic


def in_order(value: Any) -> Any:
    """JSON whose objects and arrays are in order; Kafka's tool has them in that of a hash."""
    if isinstance(value, dict):
        return {name: in_order(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return sorted(map(in_order, value), key=json.dumps)
    return value


def shape(printed: str) -> str:
    """What is printed, without its numbers and the blanks that fill their columns."""
    return NUMBER.sub("#", printed)


def test_log_dirs(command: CommandLine, either: str, filled: str) -> None:
    asked = ("--bootstrap-server", either, "--describe", "--topic-list", filled)
    theirs = run_tool(f"{TOOLS}.LogDirsCommand", *asked).splitlines()
    ours = command.ok("kafka", "log-dirs", *asked).splitlines()
    assert ours[:-1] == theirs[:-1]
    assert in_order(json.loads(ours[-1])) == in_order(json.loads(theirs[-1]))


def test_delete_records(command: CommandLine, either: str, filled: str, tmp_path: Path) -> None:
    file = tmp_path / "offsets.json"
    for offset in (3, 99):
        entry = {"topic": filled, "partition": 0, "offset": offset}
        file.write_text(json.dumps({"partitions": [entry], "version": 1}))
        asked = ("--bootstrap-server", either, "--offset-json-file", str(file))
        theirs = run_tool(f"{TOOLS}.DeleteRecordsCommand", *asked)
        assert command.ok("kafka", "delete-records", *asked) == LOGGED.sub("", theirs)


def test_features(command: CommandLine, either: str) -> None:
    at = ("--bootstrap-server", either)
    theirs = run_tool(f"{TOOLS}.FeatureCommand", *at, "describe")
    assert EPOCH.sub("#", command.ok("kafka", "features", *at, "describe")) == EPOCH.sub(
        "#", theirs
    )
    change = (*at, "upgrade", "--feature", "group.version=1")
    assert command.ok("kafka", "features", *change) == run_tool(f"{TOOLS}.FeatureCommand", *change)


@pytest.mark.parametrize(
    "arguments",
    [
        ("version-mapping",),
        *(
            ("version-mapping", "--release-version", name)
            for name in ("3.3", "3.9", "4.0", "4.2-IV0")
        ),
        ("feature-dependencies", "--feature", "eligible.leader.replicas.version=1"),
        ("feature-dependencies", "--feature", "metadata.version=30"),
    ],
)
def test_features_without_a_broker(command: CommandLine, arguments: tuple[str, ...]) -> None:
    theirs = run_tool(f"{TOOLS}.FeatureCommand", *arguments)
    assert command.ok("kafka", "features", *arguments) == theirs


def test_transactions(command: CommandLine, either: str, filled: str) -> None:
    producer = Producer({"bootstrap.servers": either, "transactional.id": f"id-{filled}"})
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce(filled, b"value", partition=0)
    assert producer.flush(TIMEOUT_S) == 0
    at = ("--bootstrap-server", either)
    for arguments in (
        ("list", "--transactional-id-pattern", f"id-{filled}"),
        ("describe-producers", "--topic", filled, "--partition", "0"),
        ("find-hanging", "--topic", filled),
    ):
        theirs = run_tool(f"{TOOLS}.TransactionsCommand", *at, *arguments)
        assert command.ok("kafka", "transactions", *at, *arguments) == theirs
    described = (*at, "describe", "--transactional-id", f"id-{filled}")
    theirs = run_tool(f"{TOOLS}.TransactionsCommand", *described)
    assert shape(command.ok("kafka", "transactions", *described)) == shape(theirs)
    producer.abort_transaction(TIMEOUT_S)


def test_leader_election(command: CommandLine, either: str, filled: str) -> None:
    at = ("--bootstrap-server", either, "--election-type", "PREFERRED")
    asked = (*at, "--topic", filled, "--partition", "0")
    theirs = run_tool(f"{TOOLS}.LeaderElectionCommand", *asked)
    assert command.ok("kafka", "leader-election", *asked) == theirs
    every = (*at, "--all-topic-partitions")
    theirs = run_tool(f"{TOOLS}.LeaderElectionCommand", *every)
    assert command.ok("kafka", "leader-election", *every) == theirs


@pytest.mark.parametrize("asked", ["--status", "--replication"])
def test_metadata_quorum(command: CommandLine, either: str, asked: str) -> None:
    arguments = ("--bootstrap-server", either, "describe", asked)
    theirs = run_tool(f"{TOOLS}.MetadataQuorumCommand", *arguments)
    assert shape(command.ok("kafka", "metadata-quorum", *arguments)) == shape(theirs)


def test_acls_without_an_authorizer(command: CommandLine, either: str) -> None:
    """Kafka's tool prints the line on standard output, with a stack trace under it."""
    named = ("--topic", "t")
    added = ("--add", *named, "--allow-principal", "User:Bob", "--operation", "Read")
    for arguments in (("--list",), added, ("--remove", *named, "--force")):
        asked = ("--bootstrap-server", either, *arguments)
        with pytest.raises(RuntimeError) as failure:
            run_tool(f"{TOOLS}.AclCommand", *asked)
        summary, line = str(failure.value).splitlines()[:2]
        assert summary == f"{TOOLS}.AclCommand exited with 1:"
        assert command.fails("kafka", "acls", *asked) == f"1: {line}"


def test_acls(command: CommandLine) -> None:
    """Two brokers with an authorizer: one for Kafka's tool, one for ours."""
    add = ("--add", "--force")
    to_alice = ("--allow-principal", "User:alice")
    with Broker(AUTHORIZER) as their_broker, Broker(AUTHORIZER) as our_broker:
        for arguments in (
            ("--list",),
            (*add, *to_alice, "--producer", "--topic", "orders"),
            (*add, "--allow-principal", "User:*", "--consumer", "--group", "g", "--topic", "*"),
            (
                *(*add, "--deny-principal", "User:bob", "--deny-host", "10.0.0.1"),
                *("--operation", "Read", "--topic", "o", "--resource-pattern-type", "prefixed"),
            ),
            ("--list", "--topic", "orders", "--resource-pattern-type", "match"),
            ("--list", "--principal", "User:alice"),
            ("--remove", "--topic", "o", "--resource-pattern-type", "prefixed", "--force"),
            ("--list",),
        ):
            theirs = run_tool(
                f"{TOOLS}.AclCommand", "--bootstrap-server", their_broker.bootstrap, *arguments
            )
            ours = command.ok(
                "kafka", "acls", "--bootstrap-server", our_broker.bootstrap, *arguments
            )
            # rules and resources are in the order of a hash
            assert sorted(ours.splitlines()) == sorted(theirs.splitlines())


def test_reassign_partitions(
    command: CommandLine, either: str, filled: str, tmp_path: Path
) -> None:
    plan, topics = tmp_path / "plan.json", tmp_path / "topics.json"
    entry = {"topic": filled, "partition": 0, "replicas": [1]}
    plan.write_text(json.dumps({"version": 1, "partitions": [entry]}))
    topics.write_text(json.dumps({"version": 1, "topics": [{"topic": filled}]}))
    planned = ("--reassignment-json-file", str(plan))
    for arguments in (
        ("--list",),
        ("--execute", *planned),
        ("--verify", *planned),
        ("--cancel", *planned),
        ("--generate", "--topics-to-move-json-file", str(topics), "--broker-list", "1"),
    ):
        asked = ("--bootstrap-server", either, *arguments)
        theirs = run_tool(f"{TOOLS}.reassign.ReassignPartitionsCommand", *asked)
        assert command.ok("kafka", "reassign-partitions", *asked) == theirs


def test_quotas(command: CommandLine, either: str, filled: str) -> None:
    at = ("--bootstrap-server", either)
    user = (*at, "--entity-type", "users", "--entity-name", filled)
    clients = (*user, "--entity-type", "clients", "--entity-default")
    address = (*at, "--entity-type", "ips", "--entity-name", "10.1.2.3")
    for entity, added in (
        (user, "producer_byte_rate=10485760"),
        (clients, "request_percentage=12.5"),
        (address, "connection_creation_rate=9"),
    ):
        for arguments in (("--alter", "--add-config", added), ("--describe",)):
            theirs = run_tool("kafka.admin.ConfigCommand", *entity, *arguments)
            assert command.ok("configs", *entity, *arguments) == theirs


def test_groups(command: CommandLine, either: str, filled: str) -> None:
    at = ("--bootstrap-server", either)
    read = ("--topic", filled, "--group", f"group-{filled}", "--from-beginning")
    command("consume", *at, *read, "--max-messages", "1")
    theirs = run_tool(f"{TOOLS}.GroupsCommand", *at, "--list").splitlines()
    ours = command.ok("kafka", "groups", *at, "--list").splitlines()
    assert (ours[0], ours[1:]) == (theirs[0], sorted(theirs[1:]))
    assert any(line.startswith(f"group-{filled} ") for line in ours)


def test_performance(command: CommandLine, either: str, filled: str) -> None:
    at = ("--bootstrap-server", either, "--topic", filled)
    send = (*at, "--num-records", "500", "--record-size", "100", "--throughput", "-1")
    theirs = run_tool(f"{TOOLS}.ProducerPerformance", *send)
    assert shape(command.ok("kafka", "producer-perf-test", *send)) == shape(theirs)
    read = (*at, "--num-records", "1010")
    theirs = run_tool(f"{TOOLS}.ConsumerPerformance", *read)
    assert shape(command.ok("kafka", "consumer-perf-test", *read)) == shape(theirs)
    measure = (*at, "--num-records", "5", "--producer-acks", "1", "--record-size", "100")
    theirs = run_tool(f"{TOOLS}.EndToEndLatency", *measure)
    assert shape(command.ok("kafka", "e2e-latency", *measure)) == shape(theirs)


@pytest.mark.parametrize(
    ("internal", "name"),
    [
        ("__consumer_offsets", "OffsetsMessageFormatter"),
        ("__consumer_offsets", "GroupMetadataMessageFormatter"),
        ("__transaction_state", "TransactionLogMessageFormatter"),
    ],
)
def test_formatters(
    command: CommandLine, either: str, filled: str, internal: str, name: str
) -> None:
    """Both read the first record of a partition, which nobody changes any more."""
    at = ("--bootstrap-server", either)
    group = ("--group", f"group-{filled}", "--command-property", "group.protocol=classic")
    command("consume", *at, "--topic", filled, *group, "--from-beginning", "--max-messages", "1")
    producer = Producer({"bootstrap.servers": either, "transactional.id": "formatters"})
    producer.init_transactions(TIMEOUT_S)
    (partition,) = [
        line.split(":")[1]
        for line in command.ok("offsets", *at, "--topic", internal).splitlines()
        if not line.endswith(":0")
    ][:1]
    read = (
        *at,
        "--topic",
        internal,
        "--partition",
        partition,
        "--offset",
        "0",
        "--max-messages",
        "1",
    )
    formatter = ("--formatter", f"{PACKAGE}.{name}")
    theirs = run_tool(f"{TOOLS}.consumer.ConsoleConsumer", *read, *formatter)
    assert command("consume", *read, *formatter).out == theirs
