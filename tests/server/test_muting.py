"""Connections of throttled clients: nothing is read from them for a while. X-88."""

import socket
import struct
from collections.abc import Callable

import anyio
import pytest

from broker_lite.control.clock import Clock
from broker_lite.handler.context import HandlerContext, MutedAnswer, Parts, Request
from broker_lite.server.limits.node_limits import Limits
from tests.server.conftest import ECHO, SILENT, Client, Serve, Served, request_frame

pytestmark = pytest.mark.anyio

LONG_MS = 60_000
MUTING = 3


class Muting:
    """A handler whose answers mute the connection for a minute, by the clock of the node."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.has_answer = True
        self.body = b"throttled"
        self.count = 0

    async def handle(self, context: HandlerContext, request: Request) -> Parts | None:
        self.count += 1
        parts: Parts | None = [self.body] if self.has_answer else None
        return MutedAnswer(parts, self.clock.monotonic_ms() + LONG_MS)


async def turns(count: int = 20) -> None:
    for _ in range(count):
        await anyio.lowlevel.checkpoint()


async def muted(served: Served, muting: Muting, *behind: bytes) -> Client:
    """A client that is muted, and has sent frames behind the request that muted it."""
    muting.clock = served.clock
    client = await served.connect()
    await client.send(request_frame(MUTING) + b"".join(behind))
    if muting.has_answer:
        assert await client.answer() == (1, muting.body)
    await served.until(lambda: muting.count == 1)
    await turns()
    return client


async def test_x88_the_answer_leaves_at_once_and_the_next_request_waits(serve: Serve) -> None:
    muting = Muting()
    async with serve({MUTING: muting.handle}) as served:
        client = await muted(served, muting, request_frame(ECHO, b"next", correlation_id=2))
        await client.send(request_frame(ECHO, b"last", correlation_id=3))
        other = await served.connect()
        await other.send(request_frame(ECHO, b"other"))
        assert await other.answer() == (1, b"other")
        served.clock.step(LONG_MS - 1000)
        with pytest.raises(TimeoutError), anyio.fail_after(0.05):
            await client.answer()
        served.clock.step(1000)
        assert await client.answer() == (2, b"next")
        assert await client.answer() == (3, b"last")


async def test_x88_while_the_clock_stands_still_nothing_is_read(serve: Serve) -> None:
    muting = Muting()
    async with serve({MUTING: muting.handle}) as served:
        served.clock.freeze()
        client = await muted(served, muting, request_frame(ECHO, b"next", correlation_id=2))
        served.clock.step(LONG_MS)
        assert await client.answer() == (2, b"next")


async def test_x88_without_an_answer_the_connection_is_muted_all_the_same(serve: Serve) -> None:
    muting = Muting()
    muting.has_answer = False
    async with serve({MUTING: muting.handle}) as served:
        client = await muted(served, muting, request_frame(ECHO, b"next", correlation_id=2))
        with pytest.raises(TimeoutError), anyio.fail_after(0.05):
            await client.answer()
        served.clock.step(LONG_MS)
        assert await client.answer() == (2, b"next")


async def test_x88_answers_that_were_kept_back_leave_before(serve: Serve) -> None:
    muting = Muting()
    produce = 0

    async def first_echoes(context: HandlerContext, request: Request) -> Parts | None:
        if request.body[request.position :] == b"held":
            return [b"held"]
        return await muting.handle(context, request)

    for has_answer in (True, False):
        muting.count, muting.has_answer = 0, has_answer
        async with serve({produce: first_echoes}) as served:
            muting.clock = served.clock
            client = await served.connect()
            frames = request_frame(produce, b"held"), request_frame(produce, correlation_id=2)
            await client.send(b"".join(frames))
            assert await client.answer() == (1, b"held")
            if has_answer:
                assert await client.answer() == (2, muting.body)


async def test_x88_a_long_answer_leaves_as_the_client_reads_it(serve: Serve) -> None:
    muting = Muting()
    muting.body = bytes(8 << 20)
    async with serve({MUTING: muting.handle}) as served:
        client = await muted(served, muting, request_frame(ECHO, b"next", correlation_id=2))
        served.clock.step(LONG_MS)
        assert await client.answer() == (2, b"next")


def close(client: Client) -> None:
    client.close()


def reset(client: Client) -> None:
    client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


@pytest.mark.parametrize("leave", [close, reset])
async def test_x88_a_client_that_leaves_is_noticed(
    serve: Serve, leave: Callable[[Client], None]
) -> None:
    muting = Muting()
    async with serve({MUTING: muting.handle}) as served:
        client = await muted(served, muting)
        assert served.node.connection_count == 1
        leave(client)
        await served.until(lambda: served.node.connection_count == 0)


async def test_x88_a_client_that_leaves_behind_unread_bytes_is_noticed(serve: Serve) -> None:
    muting = Muting()
    async with serve({MUTING: muting.handle}, Limits(connections_max_idle_ms=4000)) as served:
        client = await muted(served, muting)
        await client.send(request_frame(ECHO))
        await turns()
        client.close()
        await served.until(lambda: served.node.connection_count == 0)


async def test_p_11_a_muted_connection_is_idle(serve: Serve) -> None:
    muting = Muting()
    async with serve({MUTING: muting.handle}, Limits(connections_max_idle_ms=100)) as served:
        client = await muted(served, muting)
        assert await client.is_closed()


async def test_p_16_a_stop_does_not_wait_for_muted_connections(serve: Serve) -> None:
    muting = Muting()
    async with serve({MUTING: muting.handle}) as served:
        client = await muted(served, muting)
        with anyio.fail_after(0.25):  # less than requests in progress have
            served.node.stop()
            await served.ended.wait()
        assert await client.is_closed()


async def test_x88_a_node_that_hangs_unmutes_later(serve: Serve) -> None:
    muting = Muting()
    async with serve({MUTING: muting.handle}) as served:
        client = await muted(served, muting, request_frame(ECHO, b"next", correlation_id=2))
        served.node.hang()
        served.clock.step(LONG_MS)
        with pytest.raises(TimeoutError), anyio.fail_after(0.05):
            await client.answer()
        served.node.go_on()
        assert await client.answer() == (2, b"next")


async def test_x88_every_muted_answer_mutes(serve: Serve) -> None:
    muting = Muting()
    async with serve({MUTING: muting.handle, SILENT: muting.handle}) as served:
        client = await muted(served, muting, request_frame(MUTING, correlation_id=2))
        served.clock.step(LONG_MS)
        assert await client.answer() == (2, muting.body)
        await client.send(request_frame(ECHO))
        with pytest.raises(TimeoutError), anyio.fail_after(0.05):
            await client.answer()
