import socket

import pytest

from broker_lite.client.address import Address
from broker_lite.client.connecting import connect, is_readable, reason_of
from broker_lite.client.errors import NoConnection, UnknownHost
from tests.support.reference_kafka import free_port


def test_a_connection_sends_at_once() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        connect(Address(*server.getsockname()), 5) as found,
    ):
        assert found.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_nobody_there() -> None:
    with pytest.raises(NoConnection, match=r"^127\.0\.0\.1:\d+: connection refused$"):
        connect(Address("127.0.0.1", free_port()), 5)
    with pytest.raises(UnknownHost, match="cannot be resolved"):
        connect(Address("n" * 64 + ".invalid", 9092), 5)


def test_a_reason_without_a_number() -> None:
    assert reason_of(OSError("Odd")) == "odd"


def test_what_can_be_read() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert not is_readable(ours, 0)
        theirs.send(b"x")
        assert is_readable(ours, 10)
        assert ours.recv(1) == b"x"
        theirs.close()
        assert is_readable(ours, 10)  # the end
