"""The memory of requests, seen by clients: queued.max.request.bytes."""

import struct

import anyio
import pytest

from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.server.limits.node_limits import Limits
from tests.server.conftest import ECHO, Client, Serve, Served, request_frame
from tests.server.test_resets import all_gone, reset

pytestmark = pytest.mark.anyio

MIB = 1 << 20
LIMITS = Limits(request_memory_bytes=4 * MIB)
LARGE = bytes(3 * MIB)


async def length(context: HandlerContext, request: Request) -> Parts | None:
    return [struct.pack(">i", len(request.body))]


async def some_turns() -> None:
    for _ in range(50):
        await anyio.lowlevel.checkpoint()


async def begin(served: Served, size_bytes: int = 5 * MIB) -> tuple[Client, bytes]:
    """Send half of a frame, which then has its memory; give the rest."""
    client = await served.connect()
    frame = request_frame(ECHO, bytes(size_bytes))
    await client.send(frame[: MIB // 2])
    await some_turns()
    return client, frame[MIB // 2 :]


async def test_a_frame_that_began_is_received_whole(serve: Serve) -> None:
    async with serve({ECHO: length}, LIMITS) as served:
        first, rest = await begin(served)
        second = await served.connect()
        async with anyio.create_task_group() as group:
            group.start_soon(second.send, request_frame(ECHO, LARGE))
            await some_turns()
            small = await served.connect()
            await small.send(request_frame(ECHO, bytes(60_000)))
            assert await small.answer() == (1, struct.pack(">i", 60_010))
            await first.send(rest)
            assert await first.answer() == (1, struct.pack(">i", 5 * MIB + 10))
            # its memory was given back for the one that waits
            assert await second.answer() == (1, struct.pack(">i", 3 * MIB + 10))


async def test_many_large_requests_have_their_turns(serve: Serve) -> None:
    async with serve({ECHO: length}, LIMITS) as served:

        async def produce() -> None:
            client = await served.connect()
            for _ in range(5):
                await client.send(request_frame(ECHO, LARGE))
                assert await client.answer() == (1, struct.pack(">i", 3 * MIB + 10))

        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(produce)


@pytest.mark.parametrize("end", ["close", "reset"])
async def test_a_client_that_goes_leaves_its_memory_to_others(serve: Serve, end: str) -> None:
    async with serve({ECHO: length}, LIMITS) as served:
        first, _ = await begin(served)
        waiting, _ = await begin(served)
        third = await served.connect()
        async with anyio.create_task_group() as group:
            group.start_soon(third.send, request_frame(ECHO, LARGE))
            await some_turns()
            for client in (waiting, first):  # the one that stands in line before the third first
                if end == "reset":
                    reset(client.sock)
                else:
                    client.close()
            assert await third.answer() == (1, struct.pack(">i", 3 * MIB + 10))
            third.close()
            await all_gone(served)


async def test_a_request_in_progress_holds_its_memory(serve: Serve) -> None:
    entered, release = anyio.Event(), anyio.Event()

    async def park_large(context: HandlerContext, request: Request) -> Parts | None:
        if len(request.body) < 4 * MIB:
            return [b"at once"]
        entered.set()
        await release.wait()
        return [b"late"]

    async with serve({ECHO: park_large}, LIMITS) as served:
        parked = await served.connect()
        await parked.send(request_frame(ECHO, bytes(5 * MIB)))
        await entered.wait()
        other = await served.connect()
        async with anyio.create_task_group() as group:
            group.start_soon(other.send, request_frame(ECHO, LARGE))
            await some_turns()
            release.set()
            assert await parked.answer() == (1, b"late")
            assert await other.answer() == (1, b"at once")


async def test_an_answer_that_is_not_taken_does_not_hold_the_request(serve: Serve) -> None:
    async def large(context: HandlerContext, request: Request) -> Parts | None:
        return [bytes(30 * MIB)] if len(request.body) > 4 * MIB else [b"x"]

    async with serve({ECHO: large}, LIMITS) as served:
        slow = await served.connect(receive_buffer_bytes=4096)
        await slow.send(request_frame(ECHO, bytes(5 * MIB)))
        await some_turns()
        other = await served.connect()
        await other.send(request_frame(ECHO, LARGE))
        assert await other.answer() == (1, b"x")


async def test_the_oldest_answer_that_is_not_taken_goes_first(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    async def large(context: HandlerContext, request: Request) -> Parts | None:
        return [bytes(30 * MIB)]

    async with serve({ECHO: large}, Limits(unsent_bytes_max=50 * MIB)) as served:
        first = await served.connect(receive_buffer_bytes=4096)
        await first.send(request_frame(ECHO))
        await some_turns()
        second = await served.connect(receive_buffer_bytes=4096)
        await second.send(request_frame(ECHO))
        await served.until(lambda: served.node.connection_count == 1)
        assert len(await second.receive(30 * MIB + 8)) == 30 * MIB + 8
    assert "does not take its answer" in caplog.text
