"""Very many hand-shakes, and first records that come in pieces."""

import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import anyio
import pytest
from anyio.to_thread import run_sync

from broker_lite.server.security.hand_shakes import Turns
from broker_lite.server.security.tls_listeners import TlsListener, tls_listeners
from broker_lite.settings import load_settings
from tests.server.conftest import ECHO, Serve, Served, request_frame
from tests.support.certificates import Certificates, write_certificates

pytestmark = pytest.mark.anyio


@pytest.fixture
def files(tmp_path: Path) -> Certificates:
    return write_certificates(tmp_path)


@pytest.fixture
def clients() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def _listeners(files: Certificates, at_once_max: int = 1000) -> dict[str, TlsListener]:
    settings = {
        "listeners": "SSL://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(files.server),
    }
    return dict(tls_listeners(load_settings(overrides=settings), Turns(at_once_max)))


def first_record(context: ssl.SSLContext) -> bytes:
    """What a client sends first."""
    sent = ssl.MemoryBIO()
    wrapped = context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname="localhost")
    with suppress(ssl.SSLWantReadError):
        wrapped.do_handshake()
    return sent.read()


def _ask(served: Served, context: ssl.SSLContext) -> bytes:
    sock = socket.create_connection(served.addresses[0], 20)
    with context.wrap_socket(sock, server_hostname="localhost") as wrapped:
        wrapped.sendall(request_frame(ECHO, b"hello"))
        return wrapped.recv(100)[8:]


async def test_one_more_client_takes_the_place_of_the_oldest(
    serve: Serve, files: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    context = ssl.create_default_context(cafile=files.ca)
    hello = first_record(context)
    async with serve(listeners=("SSL",), tls=_listeners(files, at_once_max=2)) as served:
        first, second = await served.connect(), await served.connect()
        for client in (first, second):
            await client.send(hello)
            assert len(await client.receive(5)) == 5
        with caplog.at_level("INFO"):
            began = time.monotonic()
            assert await run_sync(_ask, served, context) == b"hello"
            assert time.monotonic() - began < 15
        assert "given up for that of another client" in caplog.text
        assert served.node.connection_count >= 1
        second.close()


@pytest.mark.parametrize("cut", [1, 3, 5, 6, 100])
async def test_the_first_record_comes_in_pieces(
    serve: Serve, files: Certificates, cut: int
) -> None:
    context = ssl.create_default_context(cafile=files.ca)
    incoming, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
    wrapped = context.wrap_bio(incoming, sent, server_hostname="localhost")
    with suppress(ssl.SSLWantReadError):
        wrapped.do_handshake()
    hello = sent.read()
    async with serve(listeners=("SSL",), tls=_listeners(files)) as served:
        client = await served.connect()
        await client.send(hello[:cut])
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        await client.send(hello[cut:])
        while True:
            incoming.write(await client.receive(1))
            try:
                wrapped.do_handshake()
                break
            except ssl.SSLWantReadError:
                continue
        assert wrapped.version() == "TLSv1.3"


@pytest.mark.parametrize("sent", [b"", b"\x16", b"\x16\x03\x01\x02\x00", b"\x16\x03\x01\xff\xff"])
async def test_a_client_that_leaves_in_its_first_record(
    serve: Serve, files: Certificates, sent: bytes
) -> None:
    async with serve(listeners=("SSL",), tls=_listeners(files)) as served:
        client = await served.connect()
        await client.send(sent)
        await served.until(lambda: served.node.connection_count == 1)
        client.close()
        await served.until(lambda: served.node.connection_count == 0)
