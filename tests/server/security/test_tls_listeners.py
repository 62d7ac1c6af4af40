"""Clients of a TLS listener, over real sockets.

Also tests: broker_lite.server.security.tls_socket.
"""

import os
import socket
import ssl
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, ExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.to_thread import run_sync

from broker_lite.errors import SettingsError
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.log.files.open_file import FileSlice
from broker_lite.server.security.hand_shakes import Turns
from broker_lite.server.security.tls_listeners import TlsListener, tls_listeners
from broker_lite.server.security.tls_socket import wrap
from broker_lite.settings import load_settings
from tests.server.conftest import ECHO, PARKED, SILENT, Serve, Served, request_frame
from tests.support.certificates import Certificates, write_certificates

pytestmark = pytest.mark.anyio


@pytest.fixture
def files(tmp_path: Path) -> Certificates:
    return write_certificates(tmp_path)


def _listeners(files: Certificates, **more: str) -> dict[str, TlsListener]:
    settings = {
        "listeners": "SSL://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.truststore.type": "PEM",
        "ssl.keystore.location": str(files.server),
        "listener.name.ssl.ssl.truststore.location": str(files.ca),
        **{name.replace("_", "."): text for name, text in more.items()},
    }
    return dict(tls_listeners(load_settings(overrides=settings), Turns()))


@pytest.fixture
def serve_tls(serve: Serve, files: Certificates) -> "ServeTls":
    def _serve(handlers: Any = None, **settings: str) -> AbstractAsyncContextManager[Served]:
        return serve(handlers, listeners=("SSL",), tls=_listeners(files, **settings))

    return _serve


ServeTls = Callable[..., AbstractAsyncContextManager[Served]]


@pytest.fixture
def clients() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def _client_context(files: Certificates, *, certificate: bool = False) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=files.ca)
    if certificate:
        context.load_cert_chain(files.client)
    return context


def _connect(served: Served, context: ssl.SSLContext, receive_bytes: int = 0) -> ssl.SSLSocket:
    sock = socket.socket()
    sock.settimeout(10)
    if receive_bytes:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    sock.connect(served.addresses[0])
    return context.wrap_socket(sock, server_hostname="localhost")


def _exactly(sock: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count and (chunk := sock.recv(count - len(data))):
        data += chunk
    return bytes(data)


def _answer(sock: socket.socket) -> bytes:
    (size,) = struct.unpack(">i", _exactly(sock, 4))
    return _exactly(sock, size)[4:]


def _ask(sock: socket.socket, body: bytes = b"hello", key: int = ECHO) -> bytes:
    sock.sendall(request_frame(key, body))
    return _answer(sock)


async def _who(context: HandlerContext, request: Request) -> Parts | None:
    return [str(context.principal).encode()]


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_both_versions_x37(
    serve_tls: ServeTls, files: Certificates, version: ssl.TLSVersion
) -> None:
    context = _client_context(files)
    context.minimum_version = context.maximum_version = version

    def talk(served: Served) -> None:
        with _connect(served, context) as sock:
            assert _ask(sock) == b"hello"
            large = os.urandom(1_000_000)
            assert _ask(sock, large) == large

    async with serve_tls() as served:
        await run_sync(talk, served)


async def test_many_requests_in_one_record(serve_tls: ServeTls, files: Certificates) -> None:
    def talk(served: Served) -> None:
        with _connect(served, _client_context(files)) as sock:
            sock.sendall(b"".join(request_frame(ECHO, bytes([i]) * i) for i in range(100)))
            assert [_answer(sock) for _ in range(100)] == [bytes([i]) * i for i in range(100)]

    async with serve_tls() as served:
        await run_sync(talk, served)


async def test_one_byte_per_record(serve_tls: ServeTls, files: Certificates) -> None:
    def talk(served: Served) -> None:
        with _connect(served, _client_context(files)) as sock:
            for byte in request_frame(ECHO, b"slow"):
                sock.sendall(bytes([byte]))
            assert _answer(sock) == b"slow"

    async with serve_tls() as served:
        await run_sync(talk, served)


def test_one_read_takes_a_limited_number_of_records(files: Certificates) -> None:
    """A client that puts each byte into a record does not keep the others waiting."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        far = socket.create_connection(listening.getsockname(), 10)
        near, _ = listening.accept()
    far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.server)
    with wrap(context, near) as server, ThreadPoolExecutor(1) as pool:
        connecting = pool.submit(
            _client_context(files).wrap_socket, far, server_hostname="localhost"
        )
        server.do_handshake()
        with connecting.result() as client:
            for _ in range(300):
                client.sendall(b"x")
            server.setblocking(False)
            counts = [server.recv_into(bytearray(1000)) for _ in range(2)]
            with pytest.raises(BlockingIOError):
                server.recv_into(bytearray(1000))
            assert sum(counts) == 300 > counts[0] >= 200


@pytest.mark.parametrize("by_kernel", ["false", "true"])
async def test_a_file_to_a_client_that_reads_late(
    serve_tls: ServeTls, files: Certificates, tmp_path: Path, by_kernel: str
) -> None:
    data = os.urandom(5_000_003)
    path = tmp_path / "file"
    path.write_bytes(b"skipped" + data)

    def talk(served: Served) -> None:
        with _connect(served, _client_context(files), receive_bytes=4096) as sock:
            sock.sendall(request_frame(SILENT))
            with _connect(served, _client_context(files)) as other:
                assert _ask(other) == b"hello"
            assert _answer(sock) == b"head" + data + b"tail"

    with ExitStack() as stack:
        fd = os.open(path, os.O_RDONLY)
        stack.callback(os.close, fd)

        async def file(context: HandlerContext, request: Request) -> Parts | None:
            return [b"head", FileSlice(fd, 7, len(data), None), b"tail"]

        async with serve_tls({SILENT: file}, broker_lite_kernel_tls=by_kernel) as served:
            await run_sync(talk, served)


@pytest.mark.parametrize(
    ("auth", "certificate", "who"),
    [
        ("none", True, "User:ANONYMOUS"),
        ("requested", False, "User:ANONYMOUS"),
        ("requested", True, "User:alice of acme"),
        ("required", True, "User:alice of acme"),
    ],
)
async def test_who_a_client_is_x38(
    serve_tls: ServeTls, files: Certificates, auth: str, certificate: bool, who: str
) -> None:
    def talk(served: Served) -> None:
        with _connect(served, _client_context(files, certificate=certificate)) as sock:
            assert _ask(sock).decode() == who

    rules = {"ssl.principal.mapping.rules": "RULE:CN=(\\w+),.*O=(\\w+).*/$1 of $2/"}
    async with serve_tls({ECHO: _who}, **{"ssl.client.auth": auth}, **rules) as served:
        await run_sync(talk, served)


@pytest.mark.parametrize(
    ("name", "has_prefix"),
    [("ssl.client.auth", False), ("listener.name.ssl.ssl.client.auth", True)],
)
def test_a_listener_with_sasl_asks_for_certificates_by_its_own_setting_x37(
    files: Certificates, name: str, has_prefix: bool, caplog: pytest.LogCaptureFixture
) -> None:
    protocol = {"listener.security.protocol.map": "SSL:SASL_SSL"}
    (listener,) = _listeners(files, **{name: "required"}, **protocol).values()
    assert listener.context.verify_mode is (ssl.CERT_REQUIRED if has_prefix else ssl.CERT_NONE)
    assert ("listener.name.ssl.ssl.client.auth" in caplog.text) is not has_prefix


async def test_a_client_without_the_certificate_is_closed_x40(
    serve_tls: ServeTls, files: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    def talk(served: Served) -> None:
        with pytest.raises(OSError, match=r"."), _connect(served, _client_context(files)) as sock:
            assert _ask(sock)  # the client of TLS 1.3 learns it from its first read

    with caplog.at_level("INFO"):
        async with serve_tls(ssl_client_auth="required") as served:
            await run_sync(talk, served)
    assert "peer did not return a certificate" in caplog.text


async def test_a_trust_store_with_nothing_but_the_client_x37(
    serve_tls: ServeTls, files: Certificates, tmp_path: Path
) -> None:
    pem = files.client.read_text()
    start, end = pem.index("-----BEGIN CERTIFICATE"), pem.index("-----END CERTIFICATE-----")
    alone = tmp_path / "alone.pem"
    alone.write_text(pem[start:end] + "-----END CERTIFICATE-----\n")

    def talk(served: Served) -> None:
        with _connect(served, _client_context(files, certificate=True)) as sock:
            assert _ask(sock) == b"hello"

    trust = {"listener.name.ssl.ssl.truststore.location": str(alone)}
    async with serve_tls(ssl_client_auth="required", **trust) as served:
        await run_sync(talk, served)


@pytest.mark.parametrize("highest", ["TLSv1_2", "TLSv1_3"])
async def test_cipher_suites_x68(serve_tls: ServeTls, files: Certificates, highest: str) -> None:
    context = _client_context(files)
    context.maximum_version = ssl.TLSVersion[highest]
    names = "TLS_AES_256_GCM_SHA384,TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"

    def talk(served: Served) -> None:
        with _connect(served, context) as sock:
            assert _ask(sock) == b"hello"
            cipher = sock.cipher()
            assert cipher is not None
            expected = "TLS_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES128-GCM-SHA256"
            assert cipher[0] == expected[highest == "TLSv1_2"]

    async with serve_tls(ssl_cipher_suites=names) as served:
        await run_sync(talk, served)


async def test_no_rule_is_for_a_client_x39(
    serve_tls: ServeTls, files: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    def talk(served: Served) -> None:
        with _connect(served, _client_context(files, certificate=True)) as sock:
            assert sock.recv(1) == b""

    rules = {"ssl.principal.mapping.rules": "RULE:CN=bob/bob/"}
    with caplog.at_level("INFO"):
        async with serve_tls(ssl_client_auth="required", **rules) as served:
            await run_sync(talk, served)
    assert "no rule of ssl.principal.mapping.rules is for " in caplog.text


@pytest.mark.parametrize(
    "sent", [request_frame(ECHO, b"plain"), b"GET / HTTP/1.0\r\n\r\n", b"\0" * 99]
)
async def test_plain_bytes_are_closed_x40(
    serve_tls: ServeTls, sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"):
        async with serve_tls() as served:
            client = await served.connect()
            await client.send(sent)
            await client.receive(1000)
            await served.until(lambda: served.node.connection_count == 0)
    assert "the client spoke plain text to a TLS listener" in caplog.text


async def test_tls_on_a_plain_listener_is_closed_x40(serve: Serve, files: Certificates) -> None:
    def talk(served: Served) -> None:
        with pytest.raises(OSError, match=r"."):
            _connect(served, _client_context(files))

    async with serve() as served:
        await run_sync(talk, served)


async def test_half_hand_shakes_keep_nobody_waiting_and_end(
    serve_tls: ServeTls, files: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    def talk(served: Served) -> None:
        with _connect(served, _client_context(files)) as sock:
            assert _ask(sock) == b"hello"

    with caplog.at_level("INFO"):
        async with serve_tls(connections_max_idle_ms="1000") as served:
            half = [await served.connect() for _ in range(200)]
            for client in half:
                await client.send(b"\x16\x03\x01\x02\x00\x01")
            await run_sync(talk, served)
            for client in half:
                assert await client.is_closed()
    assert "the TLS hand-shake took too long" in caplog.text


async def test_a_client_leaves_in_its_hand_shake(
    serve_tls: ServeTls, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"):
        async with serve_tls() as served:
            client = await served.connect()
            await served.until(lambda: served.node.connection_count == 1)
            client.close()
            await served.until(lambda: served.node.connection_count == 0)
    assert "the client left during the TLS hand-shake" in caplog.text


async def test_a_node_that_stops_does_not_wait_for_hand_shakes(serve_tls: ServeTls) -> None:
    async with serve_tls() as served:
        client = await served.connect()
        await served.until(lambda: served.node.connection_count == 1)
        served.node.stop()
        assert await client.is_closed()


async def test_a_client_that_goes_ends_its_long_poll(
    serve_tls: ServeTls, files: Certificates
) -> None:
    def talk(served: Served) -> None:
        sock = _connect(served, _client_context(files))
        sock.sendall(request_frame(PARKED))
        anyio.from_thread.run(served.parking.entered.wait)
        sock.close()

    async with serve_tls() as served:
        await run_sync(talk, served)
        await served.parking.has_ended.wait()
    assert served.parking.ended == ["cancelled"]


async def test_a_goodbye_comes_before_the_close(serve_tls: ServeTls, files: Certificates) -> None:
    def talk(served: Served) -> None:
        context = _client_context(files)
        sock = socket.create_connection(served.addresses[0], 10)
        with context.wrap_socket(
            sock, server_hostname="localhost", suppress_ragged_eofs=False
        ) as wrapped:
            assert _ask(wrapped) == b"hello"
            anyio.from_thread.run_sync(served.node.stop)
            assert wrapped.recv(1) == b""

    async with serve_tls() as served:
        await run_sync(talk, served)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"ssl.keystore.location": "/none"}, "ssl.keystore.location: /none: cannot be read"),
        ({"ssl.principal.mapping.rules": "RULE"}, "Invalid rule: `RULE`"),
        ({"ssl.protocol": "TLSv9"}, "ssl.protocol: 'TLSv9' is not one of TLSv1.3, "),
        ({"ssl.cipher.suites": "TLS_X"}, "ssl.cipher.suites: TLS_X is unknown or not served"),
        (
            {"ssl.keystore.password": "secret"},
            "SSL key store password cannot be specified with PEM format",
        ),
        ({"listener.name.ssl.ssl.enabled.protocols": "SSLv3"}, "ssl.enabled.protocols: 'SSLv3'"),
    ],
)
def test_a_listener_that_cannot_be_served(
    files: Certificates, settings: dict[str, str], problem: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        _listeners(files, **settings)
    assert str(caught.value).startswith(f"listener SSL: {problem}")
