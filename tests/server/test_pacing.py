"""Connections of one host are not paced, whatever the system is set to; those of others are."""

import socket
from collections.abc import Iterator

import pytest

from broker_lite.handler.context import ListenerInfo
from broker_lite.server import pacing
from broker_lite.server.listener import ListenerAddress, bind
from broker_lite.server.pacing import pace_across_hosts

pytestmark = pytest.mark.skipif(not hasattr(socket, "TCP_CONGESTION"), reason="Linux only")


def congestion_control(sock: socket.socket) -> bytes:
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0")


@pytest.fixture(params=["127.0.0.1", "::1"])
def accepted(request: pytest.FixtureRequest) -> Iterator[socket.socket]:
    address = ListenerAddress(ListenerInfo("PLAINTEXT"), request.param, 0)
    with bind(address, backlog=1) as listener, socket.socket(listener.family) as client:
        client.connect(listener.getsockname())
        listener.setblocking(True)
        sock, _ = listener.accept()
        with sock:
            yield sock


@pytest.mark.parametrize(
    ("client", "local"),
    [("127.0.0.1", "127.0.0.1"), ("127.0.0.2", "127.0.0.1"), ("::1", "::1"), ("::2", "::2")],
)
def test_a_client_on_this_host_is_not_paced(
    accepted: socket.socket, client: str, local: str
) -> None:
    pace_across_hosts(accepted, client, local)
    assert congestion_control(accepted) == b"reno"


@pytest.mark.parametrize(("name", "value"), [("_UNPACED", b"none such"), ("_OPTION", 9999)])
def test_a_system_that_does_not_let_it_be_chosen_is_listened_on(
    monkeypatch: pytest.MonkeyPatch, name: str, value: object
) -> None:
    monkeypatch.setattr(pacing, name, value)
    address = ListenerAddress(ListenerInfo("PLAINTEXT"), "127.0.0.1", 0)
    with bind(address, backlog=1) as listener, socket.socket() as fresh:
        assert congestion_control(listener) == congestion_control(fresh)
        pace_across_hosts(listener, "192.0.2.3", "192.0.2.2")


@pytest.mark.parametrize(
    ("client", "local"), [("192.0.2.3", "192.0.2.2"), ("2001:db8::3", "2001:db8::2")]
)
def test_a_client_elsewhere_is_paced_as_the_system_is_set(
    accepted: socket.socket, client: str, local: str
) -> None:
    pace_across_hosts(accepted, client, local)
    with socket.socket() as fresh:
        assert congestion_control(accepted) == congestion_control(fresh)
