"""`kafka leader-election`, with the flags and the lines of kafka-leader-election.sh."""

import json
import socket
from collections.abc import Mapping
from pathlib import Path

import pytest

from broker_lite.errors import ErrorCode
from broker_lite.wire import messages
from tests.support.command_line import CommandLine, Done
from tests.support.scripted_server import ScriptedServer, answer, read_request, speak


def tell_controller(client: socket.socket, port: int) -> None:
    """Answer Metadata with one broker, which is the controller."""
    _, version, correlation_id = read_request(client)
    struct = messages.MetadataResponse
    broker = struct.MetadataResponseBroker(node_id=1, host="127.0.0.1", port=port)
    value = struct(brokers=[broker], controller_id=1)
    answer(client, correlation_id, struct.encode(value, version))


def tell_results(client: socket.socket, codes: Mapping[int, int]) -> None:
    """Answer ElectLeaders with the codes of partitions of the topic `t`."""
    _, version, correlation_id = read_request(client)
    struct = messages.ElectLeadersResponse
    results = [
        struct.PartitionResult(partition_id=number, error_code=code, error_message=None)
        for number, code in codes.items()
    ]
    topic = struct.ReplicaElectionResult(topic="t", partition_result=results)
    answer(client, correlation_id, struct.encode(struct(replica_election_results=[topic]), version))


def elected(command: CommandLine, codes: Mapping[int, int], *flags: str) -> Done:
    """How it ends when a broker gives these codes."""

    def serve(client: socket.socket) -> None:
        speak(client, Metadata=(0, 5), ElectLeaders=(0, 1))
        tell_controller(client, server.port)
        tell_results(client, codes)

    with ScriptedServer(serve) as server:
        at = ("--bootstrap-server", server.bootstrap, "--election-type", "preferred")
        return command("kafka", "leader-election", *at, *flags)


def test_of_all_partitions(command: CommandLine) -> None:
    codes = {0: 0, 1: ErrorCode.ELECTION_NOT_NEEDED, 2: 0, 3: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    done = elected(command, codes, "--all-topic-partitions")
    assert done.out.splitlines() == [
        "Successfully completed leader election (PREFERRED) for partitions t-0, t-2",
        "Valid replica already elected for partitions t-1",
        "Error completing leader election (PREFERRED) for partition: t-3: org.apache.kafka.common"
        ".errors.UnknownTopicOrPartitionException: This server does not host this topic-partition.",
    ]
    assert (done.code, done.err) == (1, "broker-lite: 1 replica(s) could not be elected\n")


def test_of_one_partition(command: CommandLine) -> None:
    done = elected(command, {0: 0}, "--topic", "t", "--partition", "0")
    assert done.out == "Successfully completed leader election (PREFERRED) for partitions t-0\n"
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize("twice", [False, True])
def test_of_those_in_a_file(command: CommandLine, tmp_path: Path, twice: bool) -> None:
    path = tmp_path / "partitions.json"
    path.write_text(json.dumps({"partitions": [{"topic": "t", "partition": 0}] * (1 + twice)}))
    flags = ("--path-to-json-file", str(path))
    if twice:
        at = ("--election-type", "unclean")
        line = command.fails("kafka", "leader-election", *at, *flags)
        assert line == "2: Replica election data contains duplicate topic partitions"
    else:
        assert elected(command, {0: 0}, *flags).code == 0


def test_a_topic_without_a_partition(command: CommandLine) -> None:
    at = ("--election-type", "unclean", "--topic", "t")
    line = command.fails("kafka", "leader-election", *at)
    assert line == "2: --topic and --partition need each other"
