"""`api-versions`, with the lines of kafka-broker-api-versions.sh."""

import re
import socket

from broker_lite.wire import messages
from tests.support.command_line import CommandLine
from tests.support.scripted_server import ScriptedServer, answer, read_request, speak


def test_what_a_broker_speaks(command: CommandLine, bootstrap: str) -> None:
    printed = command.ok("api-versions", "--bootstrap-server", bootstrap)
    first, *lines, last = printed.splitlines()
    assert first == f"{bootstrap} (id: 1 rack: null isFenced: false) -> ("
    assert last == ")"
    assert "\tProduce(0): 0 to 13 [usable: 13]," in lines
    assert "\tOffsetDelete(47): 0 [usable: 0]," in lines
    assert "\tSaslHandshake(17): 0 to 1 [usable: 1]," in lines
    assert "\tCreateDelegationToken(38): 1 to 3 [usable: 3]," in lines
    assert "\tShareGroupHeartbeat(76): 1 [usable: 1]," in lines
    assert "\tStreamsGroupHeartbeat(88): 0 [usable: 0]," in lines
    assert "\tReadShareGroupState(84): UNSUPPORTED," in lines
    assert not [line for line in lines if "Vote(52)" in line]  # between controllers
    keys = [int(re.fullmatch(r"\t\w+\((\d+)\): .*", line)[1]) for line in lines]
    assert keys == sorted(keys)
    assert [line.endswith(",") for line in lines] == [True] * (len(lines) - 1) + [False]


def tell_of_two_brokers(port: int, client: socket.socket) -> None:
    """A broker with APIs of another time, and one that is not there."""
    _, version, correlation_id = read_request(client)
    api = messages.ApiVersionsResponse.ApiVersion
    keys = [
        api(api_key=key, min_version=first, max_version=last)
        for key, first, last in ((0, 90, 99), (2, 0, 0), (3, 0, 1), (4, 0, 5), (30_000, 1, 2))
    ]
    value = messages.ApiVersionsResponse(api_keys=keys)
    answer(client, correlation_id, messages.ApiVersionsResponse.encode(value, version))
    _, version, correlation_id = read_request(client)
    struct = messages.MetadataResponse
    brokers = [
        struct.MetadataResponseBroker(node_id=2, host="127.0.0.1", port=port, rack="r"),
        struct.MetadataResponseBroker(node_id=1, host=f"{'n' * 64}.invalid", port=9092),
    ]
    answer(client, correlation_id, struct.encode(struct(brokers=brokers), version))


def test_brokers_of_another_time_or_out_of_reach(command: CommandLine) -> None:
    with ScriptedServer(lambda client: tell_of_two_brokers(server.port, client)) as server:
        lines = command.ok("api-versions", "--bootstrap-server", server.bootstrap).splitlines()
    assert lines[0].startswith("nnnn")
    assert lines[0].endswith("-> ERROR: " + lines[0].partition(" ")[0] + ": the host's name cannot"
                             " be resolved")  # fmt: skip
    assert lines[1] == f"{server.bootstrap} (id: 2 rack: r isFenced: false) -> ("
    assert "\tProduce(0): 90 to 99 [unusable: node too new]," in lines
    assert "\tFetch(1): UNSUPPORTED," in lines
    assert "\tMetadata(3): 0 to 1 [usable: 1]," in lines
    assert "\tLeaderAndIsr(4): 0 to 5 [unusable: node too old]," in lines
    assert lines[-2:] == ["\tUNKNOWN(30000): 1 to 2", ")"]


def test_a_broker_that_is_not_there(command: CommandLine) -> None:
    with ScriptedServer(speak) as server:
        line = command.fails("api-versions", "--bootstrap-server", server.bootstrap)
    assert line.endswith("the broker does not have the API Metadata")
