"""`topics`, with the flags and the words of kafka-topics.sh.

Also tests: broker_lite.commands.configs.entries, broker_lite.commands.topics.describe.
"""

import re

import pytest

from broker_lite.client import Client
from tests.support.command_line import CommandLine
from tests.support.scripted_server import ScriptedServer, speak


@pytest.fixture
def topics(command: CommandLine, bootstrap: str) -> CommandLine:
    """The command with a broker's address."""
    return command.of("topics", "--bootstrap-server", bootstrap)


def lines_of(name: str, partitions: int, configs: str = "") -> str:
    """What --describe prints, as a regular expression."""
    head = (
        rf"Topic: {name}\tTopicId: [\w-]{{22}}\tPartitionCount: {partitions}"
        rf"\tReplicationFactor: 1\tConfigs: {configs}\n"
    )
    return head + "".join(
        rf"\tTopic: {name}\tPartition: {index}\tLeader: 1\tReplicas: 1\tIsr: 1"
        r"\tElr: \tLastKnownElr: \n"
        for index in range(partitions)
    )


def test_from_creation_to_deletion(topics: CommandLine, topic: str) -> None:
    named = ("--topic", topic)
    configs = ("--config", "cleanup.policy=compact,delete", "--config", "retention.ms = 7000")
    assert topics.ok("--create", *named, "--partitions", "2", *configs) == (
        f"Created topic {topic}.\n"
    )
    assert topic in topics.ok("--list").splitlines()
    described = topics.ok("--describe", *named)
    assert re.fullmatch(
        lines_of(topic, 2, "cleanup.policy=compact,delete,min.insync.replicas=1,retention.ms=7000"),
        described,
    )
    assert topics.ok("--alter", *named, "--partitions", "3") == ""
    assert topics.ok("--describe", *named).count("\tPartition: ") == 3
    assert topics.ok("--delete", *named) == ""
    assert topic not in topics.ok("--list").splitlines()


def test_the_broker_s_defaults(topics: CommandLine, topic: str) -> None:
    topics.ok("--create", "--topic", topic)
    configs = "min.insync.replicas=1"  # the cluster's own, as in Kafka
    assert re.fullmatch(lines_of(topic, 1, configs), topics.ok("--describe", "--topic", topic))


def test_a_topic_that_exists(topics: CommandLine, topic: str) -> None:
    create = ("--create", "--topic", topic, "--replication-factor", "1")
    topics.ok(*create)
    assert topics.fails(*create) == f"1: Topic '{topic}' already exists."
    assert topics.ok(*create, "--if-not-exists") == ""


@pytest.mark.parametrize(
    "action", [("--describe",), ("--alter", "--partitions", "2"), ("--delete",)], ids=lambda x: x[0]
)
def test_a_topic_that_does_not_exist(
    topics: CommandLine, topic: str, action: tuple[str, ...]
) -> None:
    asked = (*action, "--topic", topic)
    assert topics.fails(*asked) == f"1: Topic '{topic}' does not exist as expected"
    assert topics.ok(*asked, "--if-exists") == ""


def test_chosen_by_regular_expressions(topics: CommandLine, topic: str) -> None:
    for suffix in ("a", "b", "ab"):
        topics.ok("--create", "--topic", f"{topic}-{suffix}")
    assert topics.ok("--list", "--topic", f"{topic}-.").split() == [f"{topic}-a", f"{topic}-b"]
    assert topics.ok("--list", "--topic", f"{topic}-b, {topic}-ab").split() == [
        f"{topic}-ab",
        f"{topic}-b",
    ]
    topics.ok("--delete", "--topic", f"{topic}.*")
    assert topics.ok("--list", "--topic", f"{topic}.*") == ""


def test_internal_topics(topics: CommandLine, bootstrap: str, topic: str) -> None:
    with Client(bootstrap) as client:
        client.coordinator("group")
    topics.ok("--create", "--topic", topic)
    assert "__consumer_offsets" in topics.ok("--list").split()
    listed = topics.ok("--list", "--exclude-internal").split()
    assert topic in listed
    assert "__consumer_offsets" not in listed


def test_described_by_id(topics: CommandLine, topic: str) -> None:
    topics.ok("--create", "--topic", topic)
    described = topics.ok("--describe", "--topic", topic)
    topic_id = described.partition("TopicId: ")[2].partition("\t")[0]
    assert topics.ok("--describe", f"--topic-id={topic_id}") == described
    other = "AAAAAAAAAAAAAAAAAAAAAA"
    asked = ("--describe", f"--topic-id={other}")
    assert topics.fails(*asked) == f"1: TopicId '{other}' does not exist as expected"
    assert topics.ok(*asked, "--if-exists") == ""
    assert "x: not the id of a topic" in topics.fails("--describe", "--topic-id", "x")


def test_described_page_by_page(topics: CommandLine, topic: str) -> None:
    for suffix, partitions in (("a", "3"), ("b", "1"), ("c", "2")):
        topics.ok("--create", "--topic", f"{topic}-{suffix}", "--partitions", partitions)
    asked = ("--describe", "--topic", f"{topic}-.")
    whole = topics.ok(*asked)
    assert whole.count("Partition: ") == 6
    assert topics.ok(*asked, "--partition-size-limit-per-response", "1") == whole


def test_only_topics_with_configs_of_their_own(topics: CommandLine, topic: str) -> None:
    """As in Kafka, the cluster's min.insync.replicas is one of a topic's own."""
    topics.ok("--create", "--topic", f"{topic}-a")
    topics.ok("--create", "--topic", f"{topic}-b", "--config", "retention.ms=1")
    printed = topics.ok("--describe", "--topic", f"{topic}-.", "--topics-with-overrides")
    assert re.fullmatch(
        rf"Topic: {topic}-a\t.*\tConfigs: min.insync.replicas=1\n"
        rf"Topic: {topic}-b\t.*\tConfigs: min.insync.replicas=1,retention.ms=1\n",
        printed,
    )


@pytest.mark.parametrize(
    ("flag", "shown"),
    [
        ("--under-replicated-partitions", False),
        ("--unavailable-partitions", False),
        ("--under-min-isr-partitions", False),
        ("--at-min-isr-partitions", True),
    ],
)
def test_only_some_partitions(topics: CommandLine, topic: str, flag: str, shown: bool) -> None:
    topics.ok("--create", "--topic", topic)
    printed = topics.ok("--describe", "--topic", topic, flag)
    assert printed.startswith(f"\tTopic: {topic}\tPartition: 0\t") == shown
    assert bool(printed) == shown


def test_brokers_of_each_partition(topics: CommandLine, topic: str) -> None:
    topics.ok("--create", "--topic", topic, "--replica-assignment", "1,1")
    topics.ok("--alter", "--topic", topic, "--partitions", "3", "--replica-assignment", "1,1,1")
    assert topics.ok("--describe", "--topic", topic).count("\tPartition: ") == 3
    refused = topics.fails(
        "--alter", "--topic", topic, "--partitions", "4", "--replica-assignment", "1,1,1,9"
    )
    assert refused.startswith("1: ")


def test_a_broker_of_2_6(command: CommandLine, old_bootstrap: str, topic: str) -> None:
    topics = command.of("topics", "--bootstrap-server", old_bootstrap)
    topics.ok("--create", "--topic", topic)
    described = topics.ok("--describe", "--topic", topic)
    assert re.search(r"\tIsr: 1\tElr: N/A\tLastKnownElr: N/A\n", described)
    topics.ok("--delete", "--topic", topic)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "one of the arguments --list --create --describe --alter --delete is required"),
        (("--list", "--create"), "argument --create: not allowed with argument --list"),
        (("--list", "--fly"), "unrecognized arguments: --fly"),
        (("--create",), "--create needs --topic"),
        (("--delete",), "--delete needs --topic"),
        (("--alter", "--topic", "t"), "--alter needs --partitions"),
        (("--create", "--topic", "t", "--partitions", "0"), "--partitions must be greater than 0"),
        (("--create", "--topic", "t", "--partitions", "x"), "argument --partitions: invalid int"),
        (
            ("--create", "--topic", "t", "--replication-factor", "0"),
            "--replication-factor must be greater than 0",
        ),
        (("--create", "--topic", "t", "--config", "a"), "--config a: not NAME=VALUE"),
        (("--list", "--config", "a=b"), "--config goes with --create"),
        (
            ("--create", "--topic", "t", "--replica-assignment", "1:x"),
            "--replica-assignment 1:x: not numbers of brokers",
        ),
        (
            ("--create", "--topic", "t", "--replica-assignment", "1", "--replication-factor", "1"),
            "--replica-assignment and --replication-factor exclude each other",
        ),
        (("--list", "--topic", "("), "(: not a regular expression"),
    ],
)
def test_what_a_person_got_wrong(
    topics: CommandLine, arguments: tuple[str, ...], message: str
) -> None:
    assert topics.fails(*arguments).startswith(f"2: {message}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--topic", "b d"), "Topic name is invalid: 'b d' contains one or more characters"),
        (("--topic", "t", "--replication-factor", "2"), "Unable to replicate the partition 2"),
        (("--topic", "t", "--config", "nope=1"), "Unknown topic config name: nope"),
        (("--topic", "t", "--config", "retention.ms=x"), "Invalid value x for configuration"),
        (("--topic", "t", "--partitions", "99999999999"), "127.0.0.1:"),
    ],
)
def test_what_the_broker_refuses(
    topics: CommandLine, arguments: tuple[str, ...], message: str
) -> None:
    assert topics.fails("--create", *arguments).startswith(f"1: {message}")


def test_a_broker_without_topics_to_create(command: CommandLine) -> None:
    with ScriptedServer(speak) as server:
        line = command.fails("topics", "--bootstrap-server", server.bootstrap, "--list")
    assert line.endswith("the broker does not have the API Metadata")
