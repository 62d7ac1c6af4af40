"""The log directories of replicas."""

import socket
from typing import Any

import pytest

from broker_lite.client import Client
from broker_lite.commands.kafka.replica_dirs import Place, Replica, move, state_line
from broker_lite.errors import ClientError, ErrorCode
from broker_lite.wire import messages
from tests.support.scripted_server import ScriptedServer, answer, read_request, speak

REPLICA = Replica(1, "t", 0)


@pytest.mark.parametrize(
    ("place", "line"),
    [
        (
            Place(),
            "Partition t-0 is not found in any live log dir on broker 1. There is likely an"
            " offline log directory on the broker.",
        ),
        (Place("/d"), "Reassignment of replica t-0-1 completed successfully."),
        (
            Place("/old"),
            "Partition t-0 on broker 1 is not being moved from log dir /old to /d.",
        ),
        (Place("/old", "/d"), "Reassignment of replica t-0-1 is still in progress."),
        (
            Place("/old", "/e"),
            "Partition t-0 on broker 1 is being moved to log dir /e instead of /d.",
        ),
    ],
)
def test_state_line(place: Place, line: str) -> None:
    assert state_line(REPLICA, place, "/d") == line


def moved(codes: list[int], timeout_ms: int) -> None:
    """Move the replica at a broker that gives these codes, one an answer."""

    def serve(client: socket.socket) -> None:
        speak(client, Metadata=(0, 5), AlterReplicaLogDirs=(1, 1))
        _, version, correlation_id = read_request(client)
        make: Any = messages.MetadataResponse
        broker = make.MetadataResponseBroker(node_id=1, host="127.0.0.1", port=server.port)
        value = make(brokers=[broker], controller_id=1)
        answer(client, correlation_id, make.encode(value, version))
        make = messages.AlterReplicaLogDirsResponse
        for code in codes:
            _, version, correlation_id = read_request(client)
            partition = make.AlterReplicaLogDirPartitionResult(partition_index=0, error_code=code)
            topic = make.AlterReplicaLogDirTopicResult(topic_name="t", partitions=[partition])
            answer(client, correlation_id, make.encode(make(results=[topic]), version))

    with ScriptedServer(serve) as server, Client(server.bootstrap, timeout_s=30) as client:
        move(client, {REPLICA: "/d"}, timeout_ms)


def test_a_replica_that_comes_later(capsys: pytest.CaptureFixture[str]) -> None:
    moved([ErrorCode.REPLICA_NOT_AVAILABLE, 0], timeout_ms=60_000)
    assert capsys.readouterr().out == (
        "Successfully started moving log directory to /d for replica t-0 with broker 1 \n"
    )


def test_a_replica_that_does_not_come() -> None:
    with pytest.raises(ClientError) as failure:
        moved([ErrorCode.REPLICA_NOT_AVAILABLE], timeout_ms=0)
    assert str(failure.value) == ("Timed out before log directory move could be started for: t-0-1")


def test_a_move_that_is_refused() -> None:
    with pytest.raises(ClientError, match="Failed to alter dir for t-0-1: "):
        moved([ErrorCode.LOG_DIR_NOT_FOUND], timeout_ms=60_000)
