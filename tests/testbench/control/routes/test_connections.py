"""Connections by the control API: the list, resets, waits for their number."""

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from broker_lite.client import Client
from broker_lite.testing import Broker, BrokerFailed


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(brokers=2) as started:
        yield started


@pytest.fixture(autouse=True)
def _none_is_left(broker: Broker) -> Iterator[None]:
    yield
    broker.control("POST", "/v1/connections/wait", {"count": 0, "timeout_ms": 20_000})


def asked(broker: Broker, method: str, path: str, body: object = None) -> Any:
    return broker.control(method, path, body)


def ids(connections: list[dict[str, Any]]) -> list[str]:
    return [each["id"] for each in connections]


def connect(broker: Broker, node: int) -> socket.socket:
    host, _, port = broker.addresses[node - 1].rpartition(":")
    return socket.create_connection((host, int(port)))


def wait(broker: Broker, count: int, **more: object) -> Any:
    wanted = {"count": count, "timeout_ms": 20_000, **more}
    return asked(broker, "POST", "/v1/connections/wait", wanted)


def test_connections_are_told_as_they_are(broker: Broker) -> None:
    with connect(broker, 1) as first:
        wait(broker, 1)
        with connect(broker, 2):
            one, two = wait(broker, 2)
            assert (one["node"], two["node"]) == (1, 2)
            assert one["client"] == f"127.0.0.1:{first.getsockname()[1]}"
            assert (one["software"], one["is_idle"], one["listener"]) == ("", True, "PLAINTEXT")
            assert int(one["id"][1:]) < int(two["id"][1:])
            assert 0 <= one["open_ms"] < 60_000
            assert ids(asked(broker, "GET", "/v1/connections")) == ids([one, two])
            assert ids(asked(broker, "GET", "/v1/connections?node=2")) == ids([two])


def test_a_client_that_tells_its_software(broker: Broker) -> None:
    with Client(broker.addresses[0]) as client:
        client.nodes()
        found = asked(broker, "GET", "/v1/connections?node=1")
        assert [each["software"].partition(" ")[0] for each in found] == ["broker-lite"]


def test_a_connection_that_is_reset(broker: Broker) -> None:
    with connect(broker, 1) as sock:
        (one,) = wait(broker, 1)
        assert broker.control("DELETE", f"/v1/connections/{one['id']}") == {}
        with pytest.raises(ConnectionResetError):
            sock.recv(1)
        assert wait(broker, 0) == []


def test_a_wait_ends_with_the_connection(broker: Broker) -> None:
    made: list[socket.socket] = []
    later = threading.Timer(0.05, lambda: made.append(connect(broker, 2)))
    later.start()
    assert len(wait(broker, 1, node=2)) == 1
    later.join()
    made[0].close()


def test_a_time_out_tells_what_is_there(broker: Broker) -> None:
    with connect(broker, 1):
        wait(broker, 1)
        with pytest.raises(BrokerFailed, match=r'there is \[\{"id": "c\d+", "node": 1'):
            wait(broker, 2, timeout_ms=1)


@pytest.mark.parametrize(
    ("method", "path", "body", "text"),
    [
        ("DELETE", "/v1/connections/c99", None, "there is no connection 'c99'"),
        ("DELETE", "/v1/connections/x", None, "there is no connection 'x'"),
        ("GET", "/v1/connections?node=9", None, "there is no broker 9; there are 1, 2"),
        ("POST", "/v1/connections/wait", {"count": 0, "node": 9}, "there is no broker 9"),
        ("POST", "/v1/connections/wait", {}, "missing required field `count`"),
    ],
)
def test_what_cannot_be_done_is_told(
    broker: Broker, method: str, path: str, body: object, text: str
) -> None:
    with pytest.raises(BrokerFailed) as caught:
        broker.control(method, path, body)
    assert text in str(caught.value)
