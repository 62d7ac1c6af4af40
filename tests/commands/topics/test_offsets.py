"""`offsets`, with the flags and the lines of kafka-get-offsets.sh."""

import socket
from collections.abc import Mapping

import pytest
from confluent_kafka import Producer

from broker_lite.client import Client
from broker_lite.wire import messages
from tests.support.command_line import CommandLine
from tests.support.scripted_server import ScriptedServer, answer, read_request, speak

FIRST_MS = 1_700_000_000_000


@pytest.fixture
def offsets(command: CommandLine, bootstrap: str) -> CommandLine:
    """The command with a broker's address."""
    return command.of("offsets", "--bootstrap-server", bootstrap)


@pytest.fixture
def filled(command: CommandLine, bootstrap: str, topic: str) -> str:
    """A topic of two partitions: five records a second apart in the first, none in the second."""
    command.ok("topics", "--bootstrap-server", bootstrap, "--create", "--topic", topic,
               "--partitions", "2")  # fmt: skip
    producer = Producer({"bootstrap.servers": bootstrap})
    for index in range(5):
        producer.produce(topic, b"value", partition=0, timestamp=FIRST_MS + 1000 * index)
        producer.flush()
    return topic


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        (None, ["0:5", "1:0"]),
        ("-1", ["0:5", "1:0"]),
        ("latest", ["0:5", "1:0"]),
        ("-2", ["0:0", "1:0"]),
        ("earliest", ["0:0", "1:0"]),
        ("-3", ["0:4"]),
        ("max-timestamp", ["0:4"]),
        ("-4", ["0:0", "1:0"]),
        ("earliest-local", ["0:0", "1:0"]),
        ("-5", []),
        ("latest-tiered", []),
        ("-6", []),
        ("0", ["0:0"]),
        (str(FIRST_MS + 1500), ["0:2"]),
        (str(FIRST_MS + 9000), []),
    ],
)
def test_at_a_moment(
    offsets: CommandLine, filled: str, time: str | None, expected: list[str]
) -> None:
    at = () if time is None else ("--time", time)
    printed = offsets.ok("--topic", filled, *at)
    assert printed.splitlines() == [f"{filled}:{line}" for line in expected]


def test_only_some_partitions(offsets: CommandLine, filled: str) -> None:
    assert offsets.ok("--topic", filled, "--partitions", "1") == f"{filled}:1:0\n"
    assert offsets.ok("--topic-partitions", f"{filled}:0") == f"{filled}:0:5\n"


def test_internal_topics(offsets: CommandLine, bootstrap: str, filled: str) -> None:
    with Client(bootstrap) as client:
        client.coordinator("group")
    every = offsets.ok()
    assert f"{filled}:0:5\n" in every
    assert "__consumer_offsets:0:" in every
    listed = offsets.ok("--exclude-internal-topics")
    assert f"{filled}:0:5\n" in listed
    assert "__consumer_offsets" not in listed


def test_the_old_name_of_the_address(command: CommandLine, bootstrap: str, filled: str) -> None:
    printed = command.ok("offsets", "--broker-list", bootstrap, "--topic", f"{filled}")
    assert printed.splitlines() == [f"{filled}:0:5", f"{filled}:1:0"]


def test_nothing_matches(offsets: CommandLine, topic: str) -> None:
    message = "1: Could not match any topic-partitions with the specified filters"
    assert offsets.fails("--topic", topic) == message


@pytest.mark.parametrize("time", ["foo", "-7", "1.5", str(2**63)])
def test_what_is_no_moment(offsets: CommandLine, time: str) -> None:
    line = offsets.fails("--time", time)
    assert line.startswith(f"2: argument --time: {time} is neither milliseconds since 1970 nor")


def test_a_broker_that_is_too_old_for_a_moment(
    command: CommandLine, old_bootstrap: str, topic: str
) -> None:
    at = ("--bootstrap-server", old_bootstrap, "--topic", topic)
    command.ok("topics", *at, "--create")
    assert command.ok("offsets", *at, "--time", "-2") == f"{topic}:0:0\n"
    line = command.fails("offsets", *at, "--time", "-3")
    assert line == "1: broker 1 does not know such a --time"


def tell_partitions(client: socket.socket, port: int) -> None:
    """Answer Metadata: of three partitions the first has no leader."""
    _, version, correlation_id = read_request(client)
    struct = messages.MetadataResponse
    partitions = [
        struct.MetadataResponsePartition(partition_index=index, leader_id=leader)
        for index, leader in enumerate((-1, 1, 1))
    ]
    value = struct(
        brokers=[struct.MetadataResponseBroker(node_id=1, host="127.0.0.1", port=port)],
        topics=[struct.MetadataResponseTopic(name="t", partitions=partitions)],
    )
    answer(client, correlation_id, struct.encode(value, version))


def tell_offsets(client: socket.socket, codes: Mapping[int, int]) -> None:
    """Answer ListOffsets with the codes of partitions; where there is none, with offset 42."""
    _, version, correlation_id = read_request(client)
    struct = messages.ListOffsetsResponse
    answers = [
        struct.ListOffsetsPartitionResponse(
            partition_index=index, error_code=code, offset=-1 if code else 42
        )
        for index, code in codes.items()
    ]
    value = struct(topics=[struct.ListOffsetsTopicResponse(name="t", partitions=answers)])
    answer(client, correlation_id, struct.encode(value, version))


def test_partitions_that_cannot_be_asked(command: CommandLine) -> None:
    def serve(client: socket.socket) -> None:
        speak(client, Metadata=(0, 1), ListOffsets=(1, 1))
        tell_partitions(client, server.port)
        tell_offsets(client, {1: 29, 2: 0})

    with ScriptedServer(serve) as server:
        done = command("offsets", "--bootstrap-server", server.bootstrap)
    assert (done.code, done.out) == (0, "t:2:42\n")
    assert sorted(done.err.splitlines()) == [
        "broker-lite: t:0 is left out: there is no leader",
        "broker-lite: t:1 is left out: TOPIC_AUTHORIZATION_FAILED",
    ]


def test_a_leader_that_has_just_changed(command: CommandLine) -> None:
    def serve(client: socket.socket) -> None:
        speak(client, Metadata=(0, 1), ListOffsets=(1, 1))
        for code in (6, 0):
            tell_partitions(client, server.port)
            tell_offsets(client, {1: code})

    with ScriptedServer(serve) as server:
        at = ("--bootstrap-server", server.bootstrap, "--partitions", "1")
        assert command.ok("offsets", *at) == "t:1:42\n"
