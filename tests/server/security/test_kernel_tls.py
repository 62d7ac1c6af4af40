"""What the broker does where the kernel encrypts, on kernels that may not be able to."""

import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from broker_lite.server.security import kernel_tls, tls_listeners
from broker_lite.server.security.hand_shakes import Turns
from broker_lite.server.security.kernel_tls import KERNEL_TLS
from broker_lite.server.security.tls_socket import TlsSocket, wrap
from broker_lite.settings import load_settings
from tests.support.certificates import write_certificates

_TCP_ULP = 31


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    with ExitStack() as stack:
        listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        client = stack.enter_context(socket.create_connection(listening.getsockname(), 10))
        server = stack.enter_context(listening.accept()[0])
        yield server, client


def test_the_kernel_is_asked(pair: tuple[socket.socket, socket.socket]) -> None:
    server, client = pair
    assert not kernel_tls.encrypts(server)
    assert not kernel_tls.decrypts(server)
    try:
        client.setsockopt(socket.IPPROTO_TCP, _TCP_ULP, b"tls")
    except OSError:
        assert not kernel_tls.has_kernel_tls()
    else:
        assert kernel_tls.has_kernel_tls()


def test_what_the_kernel_encrypts_is_handed_over_as_it_is(
    pair: tuple[socket.socket, socket.socket], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, client = pair
    path = tmp_path / "file"
    path.write_bytes(b"skipped" + b"x" * 1000)
    with wrap(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), server) as wrapped:
        monkeypatch.setattr(kernel_tls, "encrypts", lambda _: True)
        wrapped.ask_kernel()
        fd = os.open(path, os.O_RDONLY)
        try:
            assert wrapped.send_file(fd, 7, 2000) == 1000
            assert wrapped.send_file(fd, 1007, 1) == 0
        finally:
            os.close(fd)
        assert client.recv(2000) == b"x" * 1000


def test_a_peek_sees_what_the_kernel_has_decrypted(
    pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, client = pair
    with wrap(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), server) as wrapped:
        monkeypatch.setattr(kernel_tls, "decrypts", lambda _: True)
        wrapped.ask_kernel()
        client.sendall(b"abc")
        assert _peek(wrapped) == b"a"
        client.close()
        assert _peek(wrapped) == b"a", "a client that has gone has sent something before"


def _peek(sock: TlsSocket) -> bytes:
    return sock.recv(1, socket.MSG_PEEK)


@pytest.mark.parametrize("has_it", [True, False])
def test_it_is_told_at_the_start_if_the_kernel_cannot(
    has_it: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(tls_listeners, "has_kernel_tls", lambda: has_it)
    settings = {
        "listeners": "SSL://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(write_certificates(tmp_path).server),
        "broker.lite.kernel.tls": "true",
    }
    found = tls_listeners.tls_listeners(load_settings(overrides=settings), Turns())
    assert bool(found["SSL"].context.options & KERNEL_TLS) == has_it
    assert ("this kernel has no TLS" in caplog.text) != has_it
