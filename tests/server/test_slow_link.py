"""P-17: connections behind a slow link. Times are lower bounds only: a machine may be slower."""

import socket
import struct
import time

import anyio
import pytest

from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.server.client_connection import ClientConnection
from broker_lite.server.limits.node_limits import Limits, Pace
from broker_lite.server.slow_link import WAY_BYTES_MAX
from tests.server.conftest import (
    CLOSING,
    ECHO,
    PARKED,
    SILENT,
    Client,
    Serve,
    Served,
    request_frame,
)

pytestmark = pytest.mark.anyio

RTT_MS = 200
RTT_S = RTT_MS / 1000
DELAYED = Limits(pace=Pace(RTT_MS, 0, 0, "*"))
BYTES = 200_000
# A timer of the loop may come so much too early.
EARLY_S = 0.005


def slow(*, rtt_ms: int = 0, inward: int = 0, outward: int = 0, client_ids: str = "*") -> Limits:
    return Limits(pace=Pace(rtt_ms, inward, outward, client_ids))


async def large(context: HandlerContext, request: Request) -> Parts | None:
    return [bytes(BYTES)]


def frame_of(client_id: bytes) -> bytes:
    frame = struct.pack(">hhih", ECHO, 0, 1, len(client_id)) + client_id + b"x"
    return struct.pack(">i", len(frame)) + frame


async def unread(served: Served) -> tuple[Client, ClientConnection]:
    """A client that has asked for much and reads nothing, when the broker finds its socket full."""
    client = await served.connect(receive_buffer_bytes=4096)
    for _ in range(100):
        await client.send(request_frame(ECHO))
    await served.until(lambda: served.node.connection_count == 1)
    (connection,) = served.node.connections
    await served.until(lambda: connection.stream.is_sending)
    return client, connection


async def all_gone(served: Served) -> None:
    await served.until(lambda: served.node.connection_count == 0)


async def test_p_17_an_answer_takes_the_round_trip_time(serve: Serve) -> None:
    async with serve(limits=DELAYED) as served:
        client = await served.connect()
        begin = time.monotonic()
        await client.send(request_frame(ECHO, b"x"))
        assert await client.answer() == (1, b"x")
        assert time.monotonic() - begin >= RTT_S - EARLY_S


async def test_p_17_requests_in_flight_overlap_and_keep_their_order(serve: Serve) -> None:
    """One after the other, ten requests would take ten round trips."""
    async with serve(limits=slow(rtt_ms=2000)) as served:
        client = await served.connect()
        begin = time.monotonic()
        for number in range(10):
            await client.send(request_frame(ECHO, b"x", correlation_id=number))
        assert [(await client.answer())[0] for _ in range(10)] == list(range(10))
        assert 2 - EARLY_S <= time.monotonic() - begin < 2 * 10


@pytest.mark.parametrize("way", ["inward", "outward"])
async def test_p_17_bytes_take_their_time(serve: Serve, way: str) -> None:
    size_bytes = 100_000
    async with serve(limits=slow(**{way: 200_000})) as served:
        client = await served.connect()
        begin = time.monotonic()
        await client.send(request_frame(ECHO, b"x" * size_bytes))
        assert await client.answer() == (1, b"x" * size_bytes)
        assert time.monotonic() - begin >= 0.45


async def test_p_17_bytes_trickle(serve: Serve) -> None:
    async with serve({ECHO: large}, slow(outward=BYTES)) as served:
        client = await served.connect()
        await client.send(request_frame(ECHO))
        begin, seen = time.monotonic(), set()
        left = BYTES + 8
        while left:
            left -= len(await client.receive(min(left, 1000)))
            seen.add(int((time.monotonic() - begin) * 20))
        assert len(seen) >= 15  # of the twenty parts of this second


async def test_p_17_only_clients_of_these_ids_are_slow(serve: Serve) -> None:
    async with serve(limits=slow(rtt_ms=60_000, client_ids="slow-?")) as served:
        for client_id in (b"fast", b"slow-10", b""):
            client = await served.connect()
            await client.send(frame_of(client_id))
            assert await client.answer() == (1, b"x")
        for begin in (frame_of(b"slow-1"), frame_of(b"fast")[:10], b"\x16" + frame_of(b"fast")):
            client = await served.connect()
            await client.send(begin)
            with anyio.move_on_after(0.1) as waiting:
                await client.answer()
            assert waiting.cancelled_caught


async def test_p_17_a_client_that_does_not_read_costs_little_memory(serve: Serve) -> None:
    """The broker finds its socket full, and reads no further request."""
    answers: list[int] = []

    async def counted(context: HandlerContext, request: Request) -> Parts | None:
        answers.append(len(answers))
        return [bytes(BYTES)]

    async with serve({ECHO: counted}, slow(rtt_ms=1)) as served:
        client, _ = await unread(served)
        with anyio.move_on_after(0.3):
            await served.until(lambda: len(answers) * BYTES > 2 * WAY_BYTES_MAX + 6_000_000)
        assert len(answers) < 100
        for _ in range(100):
            assert len((await client.answer())[1]) == BYTES


async def test_p_17_it_is_known_how_long_bytes_are_on_their_way(serve: Serve) -> None:
    async with serve(limits=DELAYED) as served:
        client = await served.connect()
        await client.send(request_frame(ECHO, b"x"))
        assert await client.answer() == (1, b"x")
        (connection,) = served.node.connections
        assert connection.link is not None
        assert connection.link.on_way.seconds() >= RTT_S - 2 * EARLY_S
        assert not connection.link.on_way.is_running
        await client.send(request_frame(SILENT))
        on_way = connection.link.on_way
        await served.until(lambda: on_way.is_running)


async def test_p_17_what_the_client_does_not_read_is_not_on_its_way(serve: Serve) -> None:
    async with serve({ECHO: large}, slow(rtt_ms=1)) as served:
        client, connection = await unread(served)
        link = connection.link
        assert link is not None
        await served.until(lambda: link.not_read.is_running and not link.on_way.is_running)
        for _ in range(100):
            assert len((await client.answer())[1]) == BYTES
        await served.until(lambda: not link.not_read.is_running)


async def test_p_17_the_end_of_the_client_arrives_behind_its_requests(serve: Serve) -> None:
    async with serve(limits=DELAYED) as served:
        client = await served.connect()
        await client.send(request_frame(ECHO, b"x"))
        client.sock.shutdown(socket.SHUT_WR)
        assert await client.answer() == (1, b"x")
        assert await client.is_closed()
        await all_gone(served)


async def test_p_17_the_close_of_the_broker_arrives_behind_its_answers(serve: Serve) -> None:
    async with serve(limits=DELAYED) as served:
        client = await served.connect()
        await client.send(request_frame(ECHO, b"x") + request_frame(CLOSING))
        assert await client.answer() == (1, b"x")
        assert await client.is_closed()


async def test_p_17_a_reset_arrives(serve: Serve) -> None:
    async with serve(limits=DELAYED) as served:
        client = await served.connect()
        await client.send(request_frame(PARKED))
        await served.parking.entered.wait()
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        await served.parking.has_ended.wait()
        assert served.parking.ended == ["cancelled"]
        await all_gone(served)


async def test_p_17_a_client_that_is_gone_when_its_answer_comes(serve: Serve) -> None:
    async with serve({ECHO: large}, slow(rtt_ms=100, outward=BYTES)) as served:
        client = await served.connect()
        await client.send(request_frame(ECHO))
        assert len(await client.receive(10_000)) == 10_000
        client.close()
        await all_gone(served)


async def test_p_17_an_end_of_the_node_closes_slow_connections(serve: Serve) -> None:
    async with serve(limits=slow(rtt_ms=60_000)) as served:
        client = await served.connect()
        await client.send(request_frame(SILENT))
        await served.until(lambda: served.node.connection_count == 1)
        served.node.stop()
        assert await client.is_closed()
        await served.ended.wait()


async def test_p_17_a_slow_connection_counts_for_all_its_descriptors(serve: Serve) -> None:
    async with serve(limits=DELAYED, clients_max=3) as served:
        first = await served.connect()
        await first.send(request_frame(ECHO, b"1"))
        assert await first.answer() == (1, b"1")
        second: Client = await served.connect()
        await second.send(request_frame(ECHO, b"2"))
        with anyio.move_on_after(3 * RTT_S) as waiting:
            await second.answer()
        assert waiting.cancelled_caught
        first.close()
        assert await second.answer() == (1, b"2")
