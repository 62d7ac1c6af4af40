"""Connections that are reset: noticed at once, whatever the connection is doing."""

import asyncio
import os
import socket
import struct
from collections.abc import Callable

import anyio
import pytest

from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.server.resets import Resets
from tests.server.conftest import ECHO, PARKED, SILENT, Serve, Served, request_frame

pytestmark = pytest.mark.anyio

# The sweep that finds abandoned connections needs two turns of 5 s.
AT_ONCE_S = 4
MANY = 20
# What a new connection takes before its client has to wait.
FEW = 8


def reset(sock: socket.socket) -> None:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def dial(served: Served) -> socket.socket:
    return socket.create_connection(served.addresses[0])


async def all_gone(served: Served) -> None:
    with anyio.fail_after(AT_ONCE_S):
        await served.until(lambda: served.node.connection_count == 0)


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\0\0\x20", b"\0\0\0\x20\0\0\0\0"], ids=len)
async def test_a_reset_behind_part_of_a_frame(serve: Serve, data: bytes) -> None:
    """uvloop calls the reader once, for the bytes, and never again."""
    async with serve() as served:
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(MANY):
            sock = dial(served)
            sock.sendall(data)
            reset(sock)
        last = await served.connect()
        await last.send(request_frame(ECHO, b"x"))
        assert await last.answer() == (1, b"x")
        last.close()
        await all_gone(served)
        assert len(os.listdir("/proc/self/fd")) <= before + 1


async def test_a_reset_while_the_rest_of_a_frame_is_awaited(serve: Serve) -> None:
    async with serve() as served:
        sock = dial(served)
        await served.until(lambda: served.node.connection_count == 1)
        sock.sendall(b"\0\0")
        reset(sock)
        await all_gone(served)


async def test_requests_that_came_before_the_reset_are_handled(serve: Serve) -> None:
    handled: list[int] = []

    async def note(context: HandlerContext, request: Request) -> Parts | None:
        handled.append(len(request.body))
        return None

    async with serve({SILENT: note}) as served:
        sock = dial(served)
        frame = request_frame(SILENT, bytes(3000))
        for _ in range(FEW):
            sock.sendall(frame)
        sock.sendall(frame[:100])
        reset(sock)
        await served.until(lambda: bool(handled))
        await all_gone(served)
        assert len(handled) == FEW


@pytest.mark.parametrize("behind", [b"", b"\0", request_frame(ECHO)], ids=len)
async def test_a_reset_ends_what_waits_for_nobody(serve: Serve, behind: bytes) -> None:
    async with serve() as served:
        sock = dial(served)
        sock.sendall(request_frame(PARKED))
        await served.parking.entered.wait()
        sock.sendall(behind)
        for _ in range(20):  # what is behind is seen, and left where it is
            await anyio.lowlevel.checkpoint()
        reset(sock)
        await all_gone(served)
        assert served.parking.ended == ["cancelled"]


@pytest.mark.parametrize("behind", [b"", b"\0"], ids=len)
async def test_a_reset_ends_an_answer_that_is_not_taken(serve: Serve, behind: bytes) -> None:
    async def large(context: HandlerContext, request: Request) -> Parts | None:
        return [bytes(50_000_000)]

    async with serve({ECHO: large}) as served:
        sock = dial(served)
        sock.sendall(request_frame(ECHO) + behind)
        await served.until(lambda: served.node.connection_count == 1)
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        reset(sock)
        await all_gone(served)


async def test_each_connection_is_told_of_once() -> None:
    told: list[str] = []

    def note(name: str) -> Callable[[], None]:
        return lambda: told.append(name)

    with (
        Resets(asyncio.get_running_loop()) as resets,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        pairs = []
        for name in ("first", "forgotten", "closed"):
            ours = socket.create_connection(server.getsockname())
            theirs, _ = server.accept()
            resets.watch(theirs.fileno(), note(name))
            pairs.append((ours, theirs))
        resets.forget(pairs[1][1].fileno())
        reset(pairs[1][0])
        pairs[2][0].close()  # only its own direction
        reset(pairs[0][0])
        with anyio.fail_after(AT_ONCE_S):
            while not told:
                await anyio.lowlevel.checkpoint()
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        assert told == ["first"]
        for _, theirs in pairs:
            theirs.close()
