"""Responses with ranges of files: F-15."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.log.canned.run import RunBytes
from broker_lite.log.files.open_file import FileSlice
from broker_lite.server.sendfile import Outgoing, TruncatedFile, send_now
from tests.server.conftest import SILENT, Serve, request_frame

CONTENT = os.urandom(5_000_000)


@pytest.fixture
def fd(tmp_path: Path) -> Iterator[int]:
    path = tmp_path / "segment"
    path.write_bytes(CONTENT)
    descriptor = os.open(path, os.O_RDWR)
    yield descriptor
    os.close(descriptor)


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        client.connect(listener.getsockname())
        server, _ = listener.accept()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2048)
    server.setblocking(False)
    with client, server:
        yield server, client


def parts_of(fd: int) -> tuple[Parts, bytes]:
    parts: Parts = [
        b"head" * 1000,
        FileSlice(fd, 10, 700_001, None),
        b"",
        b"between",
        FileSlice(fd, 0, 0, None),
        FileSlice(fd, 4_000_000, 1_000_000, None),
        b"tail" * 5000,
    ]
    expected = b"".join(
        [
            b"head" * 1000,
            CONTENT[10:700_011],
            b"between",
            CONTENT[4_000_000:],
            b"tail" * 5000,
        ]
    )
    return parts, expected


def test_partial_sends_add_up(pair: tuple[socket.socket, socket.socket], fd: int) -> None:
    server, client = pair
    parts, expected = parts_of(fd)
    received = bytearray()
    stops = 0
    outgoing = send_now(server, parts)
    while outgoing is not None:
        stops += 1
        received += client.recv(100_000)
        if outgoing.advance(server):
            outgoing = None
    while len(received) < len(expected):
        received += client.recv(100_000)
    assert received == expected
    assert stops > 10


def test_one_part_that_does_not_fit(pair: tuple[socket.socket, socket.socket]) -> None:
    server, client = pair
    data = bytes(range(256)) * 10_000
    outgoing = send_now(server, [data])
    assert outgoing is not None
    received = bytearray()
    while len(received) < len(data):
        outgoing.advance(server)
        received += client.recv(100_000)
    assert received == data


def test_many_parts_in_memory_add_up(pair: tuple[socket.socket, socket.socket], fd: int) -> None:
    server, client = pair
    some = [bytes([number % 256]) * (number % 3000) for number in range(1500)]
    parts: Parts = [*some, FileSlice(fd, 0, 1000, None), *some[:2], FileSlice(fd, 7, 1, None)]
    expected = b"".join(some) + CONTENT[:1000] + some[1] + CONTENT[7:8]
    outgoing = send_now(server, parts)
    received = bytearray()
    while outgoing is not None:
        received += client.recv(100_000)
        if outgoing.advance(server):
            outgoing = None
    while len(received) < len(expected):
        received += client.recv(100_000)
    assert received == expected


class Sends(NamedTuple):
    """A socket that notes the calls that send."""

    calls: list[list[bytes]]

    def sendmsg(self, buffers: list[bytes], _: object, flags: int) -> int:
        self.calls.append([bytes(each) for each in buffers])
        return sum(map(len, buffers))


def test_bytes_behind_bytes_are_sent_by_one_call() -> None:
    sock: Any = Sends([])
    long = b"x" * 40_000  # a short response would be joined
    assert send_now(sock, [b"one", b"", long, b"three"]) is None
    assert sock.calls == [[b"one", b"", long, b"three"]]
    assert send_now(sock, [b"x" * 100] * 600) is None
    assert [len(call) for call in sock.calls[1:]] == [256, 256, 88]


def test_what_an_answer_holds_are_bytes_of_its_own(fd: int) -> None:
    shared = RunBytes(b"shared")
    assert Outgoing([b"own", shared, FileSlice(fd, 0, 9, None), b"too"]).held_bytes == 6


def test_f_15_a_truncated_file_is_an_error(
    pair: tuple[socket.socket, socket.socket], fd: int
) -> None:
    server, _ = pair
    os.ftruncate(fd, 100)
    outgoing = Outgoing([FileSlice(fd, 0, 200, None)])
    assert not outgoing.advance(server)
    with pytest.raises(TruncatedFile):
        outgoing.advance(server)


def test_f_15_short_responses_that_do_not_fit(
    pair: tuple[socket.socket, socket.socket], fd: int
) -> None:
    server, client = pair
    parts: Parts = [b"head", FileSlice(fd, 7, 3000, None), FileSlice(fd, 9, 1, None), b"tail"]
    expected = b"head" + CONTENT[7:3007] + CONTENT[9:10] + b"tail"
    outgoing, sent = send_now(server, parts), 1
    while outgoing is None:
        outgoing, sent = send_now(server, parts), sent + 1
    assert outgoing.held_bytes == len(expected)
    received = bytearray()
    while not outgoing.advance(server):
        received += client.recv(100_000)
    while len(received) < sent * len(expected):
        received += client.recv(100_000)
    assert received == sent * expected
    assert sent > 1


def test_f_15_of_a_short_response_nothing_is_sent_if_its_file_is_truncated(
    pair: tuple[socket.socket, socket.socket], fd: int
) -> None:
    server, client = pair
    os.ftruncate(fd, 100)
    with pytest.raises(TruncatedFile, match=r"ends 50 bytes early, at 100$"):
        send_now(server, [b"head", FileSlice(fd, 90, 60, None)])
    client.setblocking(False)
    with pytest.raises(BlockingIOError):
        client.recv(1)


def test_a_lost_connection_is_an_error(pair: tuple[socket.socket, socket.socket], fd: int) -> None:
    server, client = pair
    client.close()
    # The first bytes are answered by a reset; sending to a reset connection fails.
    send_now(server, [b"x"])
    with pytest.raises(OSError, match=r"reset|pipe"):
        send_now(server, [b"x"])


@pytest.mark.anyio
async def test_f_15_every_byte_through_a_node(serve: Serve, fd: int) -> None:
    parts, expected = parts_of(fd)

    async def fetch(context: HandlerContext, request: Request) -> Parts | None:
        return parts

    async with serve({SILENT: fetch}) as served:
        for client in (await served.connect(), await served.connect(receive_buffer_bytes=4096)):
            await client.send(request_frame(SILENT) * 2)
            assert await client.answer() == (1, expected)
            assert await client.answer() == (1, expected)


@pytest.mark.anyio
async def test_f_15_a_truncated_file_closes(serve: Serve, fd: int) -> None:
    async def fetch(context: HandlerContext, request: Request) -> Parts | None:
        return [b"head", FileSlice(fd, 0, len(CONTENT) + 1, None)]

    async with serve({SILENT: fetch}) as served:
        client = await served.connect()
        await client.send(request_frame(SILENT))
        assert len(await client.receive(len(CONTENT) + 100)) == 12 + len(CONTENT)
