"""`kafka metadata-quorum`, with the flags and the lines of kafka-metadata-quorum.sh."""

import socket

import pytest

from broker_lite.wire import messages
from tests.support.command_line import CommandLine
from tests.support.scripted_server import ScriptedServer, answer, read_request, speak

DIRECTORY = "EREREREREREREREREREREQ"


def tell_quorum(client: socket.socket, *, caught_up_ms: int) -> None:
    """Answer DescribeQuorum: a leader, a voter that is behind it, and an observer."""
    _, version, correlation_id = read_request(client)
    struct = messages.DescribeQuorumResponse

    def replica(number: int, end: int, fetched_ms: int, caught_up_ms: int) -> object:
        return struct.ReplicaState(
            replica_id=number,
            replica_directory_id=bytes([0x11] * 16) if number == 2 else bytes(16),
            log_end_offset=end,
            last_fetch_timestamp=fetched_ms,
            last_caught_up_timestamp=caught_up_ms,
        )

    partition = struct.PartitionData(
        partition_index=0,
        leader_id=1,
        leader_epoch=7,
        high_watermark=10,
        current_voters=[replica(2, 8, 1000, caught_up_ms), replica(1, 12, 2000, 2000)],
        observers=[replica(3, 12, 2000, 2000)],
    )
    listener = struct.Listener(name="CONTROLLER", host="h", port=9093)
    value = struct(
        topics=[struct.TopicData(topic_name="__cluster_metadata", partitions=[partition])],
        nodes=[struct.Node(node_id=1, listeners=[listener])],
    )
    no_tags = b"\0"
    answer(client, correlation_id, no_tags + struct.encode(value, version))


def tell_cluster(client: socket.socket) -> None:
    """Answer Metadata with the id of a cluster."""
    _, version, correlation_id = read_request(client)
    struct = messages.MetadataResponse
    answer(client, correlation_id, struct.encode(struct(cluster_id="c"), version))


def described(command: CommandLine, *flags: str, caught_up_ms: int = 500) -> list[str]:
    """What is printed of that quorum."""

    def serve(client: socket.socket) -> None:
        speak(client, Metadata=(0, 5), DescribeQuorum=(0, 2))
        tell_quorum(client, caught_up_ms=caught_up_ms)
        tell_cluster(client)

    with ScriptedServer(serve) as server:
        at = ("--bootstrap-server", server.bootstrap)
        return command.ok("kafka", "metadata-quorum", *at, "describe", *flags).splitlines()


@pytest.mark.parametrize(("caught_up_ms", "lag_ms"), [(500, "1500"), (-1, "-1")])
def test_status(command: CommandLine, caught_up_ms: int, lag_ms: str) -> None:
    assert described(command, "--status", caught_up_ms=caught_up_ms) == [
        "ClusterId:              c",
        "LeaderId:               1",
        "LeaderEpoch:            7",
        "HighWatermark:          10",
        "MaxFollowerLag:         4",
        f"MaxFollowerLagTimeMs:   {lag_ms}",
        f'CurrentVoters:          [{{"id": 2, "directoryId": "{DIRECTORY}"}},'
        ' {"id": 1, "endpoints": ["CONTROLLER://h:9093"]}]',
        'CurrentObservers:       [{"id": 3}]',
    ]


def test_replication(command: CommandLine) -> None:
    header, *rows = [line.split() for line in described(command, "--replication")]
    assert header[:4] == ["NodeId", "DirectoryId", "LogEndOffset", "Lag"]
    zero = "A" * 22
    assert rows == [
        ["1", zero, "12", "0", "2000", "2000", "Leader"],
        ["2", DIRECTORY, "8", "4", "1000", "500", "Follower"],
        ["3", zero, "12", "0", "2000", "2000", "Observer"],
    ]


def test_times_for_people(command: CommandLine) -> None:
    lines = described(command, "--re", "--hr", caught_up_ms=-1)
    assert lines[1].count(" ms ago") == 2
    assert lines[2].count(" ms ago") == 1


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ((), "One of --status or --replication must be specified with describe sub-command"),
        (
            ("--status", "--replication"),
            "Only one of --status or --replication should be specified with describe sub-command",
        ),
        (
            ("--status", "--human-readable"),
            "The option --human-readable is only supported along with --replication",
        ),
    ],
)
def test_wrong_use(command: CommandLine, flags: tuple[str, ...], message: str) -> None:
    assert command.fails("kafka", "metadata-quorum", "describe", *flags) == f"2: {message}"
