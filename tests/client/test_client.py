"""A client of a whole cluster."""

import socket
import threading
from functools import partial
from pathlib import Path

import pytest

from broker_lite.client import (
    BadAnswer,
    Client,
    NoAnswer,
    NoConnection,
    NotSupported,
    Refused,
    UnknownHost,
    broker_connection,
)
from broker_lite.client.client import RETRIED, TRANSACTION
from broker_lite.errors import ClientError, ErrorCode, SettingsError
from broker_lite.wire import messages
from tests.support.broker_process import BrokerProcess
from tests.support.reference_kafka import free_port
from tests.support.scripted_server import (
    ScriptedServer,
    answer,
    read_request,
    speak,
    wait_for_end,
)


@pytest.fixture
def nobody() -> str:
    """An address at which nobody listens."""
    return f"127.0.0.1:{free_port()}"


def test_nodes_and_controller(bootstrap: str) -> None:
    with Client(bootstrap) as client:
        assert {node_id: str(address) for node_id, address in client.nodes().items()} == {
            1: bootstrap
        }
        assert client.controller_id() == 1


def test_the_controller_alone(bootstrap: str) -> None:
    with Client(bootstrap) as client:
        assert client.controller_id() == 1


def test_a_request_to_a_node(bootstrap: str) -> None:
    with Client(bootstrap) as client:
        value = messages.DescribeClusterRequest()
        assert client.request(value, node_id=1) == client.request(value)


def test_a_node_that_there_is_not(bootstrap: str) -> None:
    with Client(bootstrap) as client, pytest.raises(NoConnection, match="there is no broker 7"):
        client.connection(7)


def test_leaders_of_a_topic_that_is_made(bootstrap: str, topic: str) -> None:
    with Client(bootstrap) as client:
        with pytest.raises(Refused, match=f"topic {topic}: UNKNOWN_TOPIC_OR_PARTITION"):
            client.leaders(topic)
        assert client.leaders(topic, create=True) == {0: 1}
        assert client.leaders(topic) == {0: 1}


@pytest.mark.parametrize("kind", [0, TRANSACTION])
def test_a_coordinator(bootstrap: str, old_bootstrap: str, kind: int) -> None:
    for address in (bootstrap, old_bootstrap):
        with Client(address) as client:
            node_id = client.coordinator("me", kind)
            assert client.connection(node_id).address == client.connection().address
            assert list(client.nodes()) == [1]


def test_a_coordinator_that_is_refused(bootstrap: str) -> None:
    with Client(bootstrap) as client, pytest.raises(Refused, match="INVALID_REQUEST"):
        client.coordinator("me", 9)


def test_one_connection_a_node_and_purpose(bootstrap: str) -> None:
    with Client(bootstrap) as client:
        first = client.connection()
        assert client.connection(1) is first
        other = client.connection(1, "heartbeat")
        assert other is not first
        assert client.connection(1, "heartbeat") is other
        other.close()
        assert client.connection(1, "heartbeat") is not other
    assert first.closed


def test_what_was_closed_is_opened_again(bootstrap: str) -> None:
    with Client(bootstrap) as client:
        client.connection().close()
        assert client.metadata(()).brokers
        assert client.nodes()


def test_what_a_broker_closed_is_opened_again(
    bootstrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after connections.max.idle.ms without a request."""
    monkeypatch.setattr(broker_connection, "IDLE_S", 0)
    with Client(bootstrap) as client:
        other = client.connection(1, "coordinator")
        for connection in (client.connection(), other):
            connection.raw_socket.shutdown(socket.SHUT_RD)
        assert client.connection(1, "coordinator") is not other
        assert other.closed
        assert client.metadata(()).brokers


def test_a_node_of_another_address(bootstrap: str) -> None:
    port = bootstrap.partition(":")[2]
    with Client(f"localhost:{port}") as client:
        assert str(client.connection().address) == f"localhost:{port}"
        assert str(client.connection(1).address) == bootstrap


def test_bootstrap_servers_are_tried_in_order(bootstrap: str, nobody: str) -> None:
    with Client(f"{nobody},{bootstrap}") as client:
        assert str(client.connection().address) == bootstrap


def test_no_bootstrap_server_answers(nobody: str) -> None:
    with pytest.raises(ClientError) as raised:
        Client(f"{nobody}, {nobody}")
    assert str(raised.value) == "; ".join([f"{nobody}: connection refused"] * 2)


def test_no_bootstrap_server_is_given() -> None:
    with pytest.raises(SettingsError):
        Client("")


def test_a_broker_that_comes_later(tmp_path: Path, nobody: str) -> None:
    port = int(nobody.partition(":")[2])
    clients: list[Client] = []
    waiting = threading.Thread(target=lambda: clients.append(Client(nobody, wait_s=60)))
    waiting.start()
    with BrokerProcess(tmp_path / "data", port=port):
        waiting.join(60)
        with clients[0] as client:
            assert client.nodes()


def hang_up(_client: socket.socket) -> None:
    """Do nothing: the end of the script closes the connection."""


def test_a_forwarded_port_whose_broker_comes_later() -> None:
    # a forwarder takes a connection before there is anybody behind it, and ends it then
    with ScriptedServer(hang_up, hang_up, speak) as server, Client(server.bootstrap, wait_s=60):
        pass


def test_waiting_has_an_end(nobody: str) -> None:
    with pytest.raises(NoConnection, match="connection refused"):
        Client(nobody, wait_s=0.3)


def test_a_stranger_is_not_waited_for() -> None:
    def greet(client: socket.socket) -> None:
        client.sendall(b"SSH-2.0-x\r\n")
        wait_for_end(client)

    with ScriptedServer(greet) as server, pytest.raises(BadAnswer):
        Client(server.bootstrap, wait_s=60)


def test_an_unknown_name_is_not_waited_for() -> None:
    with pytest.raises(UnknownHost):
        Client(f"{'n' * 64}.invalid:9092", wait_s=60)


def test_the_timeout_of_one_request() -> None:
    def be_silent(client: socket.socket) -> None:
        speak(client, Metadata=(0, 9))
        wait_for_end(client)

    with (
        ScriptedServer(be_silent) as server,
        Client(server.bootstrap) as client,
        pytest.raises(NoAnswer, match=r"no answer within 0\.1 s"),
    ):
        client.request(messages.MetadataRequest(), timeout_s=0.1)


def without_leader(client: socket.socket, codes: list[int]) -> None:
    """Answer Metadata with these codes of a partition, one after the other."""
    speak(client, Metadata=(0, 1))
    struct = messages.MetadataResponse
    for code in codes:
        _, version, correlation_id = read_request(client)
        partition = struct.MetadataResponsePartition(error_code=code, leader_id=3)
        value = struct(topics=[struct.MetadataResponseTopic(name="t", partitions=[partition])])
        answer(client, correlation_id, struct.encode(value, version))


@pytest.mark.parametrize("code", sorted(RETRIED))
def test_what_may_change_is_asked_again(code: int) -> None:
    with (
        ScriptedServer(partial(without_leader, codes=[code, code, 0])) as server,
        Client(server.bootstrap) as client,
    ):
        assert client.leaders("t", create=True) == {0: 3}


def test_asking_again_has_an_end() -> None:
    codes = [int(ErrorCode.LEADER_NOT_AVAILABLE)] * 99
    with (
        ScriptedServer(partial(without_leader, codes=codes)) as server,
        Client(server.bootstrap, timeout_s=0.3) as client,
        pytest.raises(Refused, match="partition t-0: LEADER_NOT_AVAILABLE"),
    ):
        client.leaders("t", create=True)


def test_a_broker_that_is_too_old_for_a_flag() -> None:
    with (
        ScriptedServer(partial(speak, Metadata=(0, 1))) as server,
        Client(server.bootstrap) as client,
        pytest.raises(NotSupported, match="AllowAutoTopicCreation"),
    ):
        client.metadata(["t"])
