"""P-18: the answers of connections to slow topics. Times are lower bounds only."""

import struct
import time

import anyio
import pytest

from broker_lite.control.topics.slow_topics import Passage, Way
from broker_lite.handler.context import HandlerContext, MutedAnswer, Parts, Request
from broker_lite.server.limits.node_limits import Limits
from broker_lite.server.slow_answers import LATE_BYTES_MAX
from tests.server.conftest import ECHO, Serve, request_frame

pytestmark = pytest.mark.anyio

SLOW, LARGE, THROTTLED, NO_ANSWER = 3, 6, 7, 8
PRODUCE = ECHO  # the only API whose requests may be large
FOR_EVER = 1_000_000_000
RTT_S = 0.2


class Slow:
    """Handlers whose requests wait for one way; the size is what the request says."""

    def __init__(self, bytes_per_s: int = 0, rtt_s: float = 0.0) -> None:
        self.way = Way()
        self.way.set_rate(bytes_per_s)
        self.rtt_s = rtt_s
        self.handled = 0
        self.bodies: list[memoryview] = []

    def handlers(self) -> dict[int, object]:
        return {
            SLOW: self.answer,
            LARGE: self.large,
            THROTTLED: self.throttled,
            NO_ANSWER: self.nothing,
        }

    def _note(self, context: HandlerContext, request: Request) -> None:
        self.handled += 1
        self.bodies.append(request.body)
        (size_bytes,) = struct.unpack(">i", request.body[request.position :][:4])
        context.passage = Passage([(self.way, size_bytes)], self.rtt_s)

    async def answer(self, context: HandlerContext, request: Request) -> Parts | None:
        self._note(context, request)
        return [b"slow"]

    async def large(self, context: HandlerContext, request: Request) -> Parts | None:
        self._note(context, request)
        return [b"l" * (LATE_BYTES_MAX + 1)]

    async def throttled(self, context: HandlerContext, request: Request) -> Parts | None:
        self._note(context, request)
        return MutedAnswer([b"throttled"], 0)

    async def nothing(self, context: HandlerContext, request: Request) -> Parts | None:
        self._note(context, request)
        return None


def frame(key: int, number: int, size_bytes: int = 0) -> bytes:
    return request_frame(key, struct.pack(">i", size_bytes), correlation_id=number)


async def test_p_18_requests_in_flight_overlap(serve: Serve) -> None:
    slow = Slow(rtt_s=RTT_S)
    async with serve(slow.handlers()) as served:
        client = await served.connect()
        begin = time.monotonic()
        await client.send(b"".join(frame(SLOW, number) for number in range(100)))
        assert await client.answer() == (0, b"slow")
        assert time.monotonic() - begin >= RTT_S
        assert slow.handled == 100  # all, within the first round trip
        for number in range(1, 100):
            assert await client.answer() == (number, b"slow")


async def test_p_05_other_answers_keep_their_place(serve: Serve) -> None:
    slow = Slow(rtt_s=RTT_S)
    async with serve(slow.handlers()) as served:
        client = await served.connect()
        begin = time.monotonic()
        await client.send(frame(SLOW, 1) + request_frame(ECHO, b"fast", correlation_id=2))
        for key, number in ((LARGE, 3), (THROTTLED, 4), (NO_ANSWER, 5), (SLOW, 6)):
            await client.send(frame(key, number))
        assert [await client.answer() for _ in range(2)] == [(1, b"slow"), (2, b"fast")]
        assert time.monotonic() - begin >= RTT_S
        assert (await client.answer())[0] == 3
        assert [await client.answer() for _ in range(2)] == [(4, b"throttled"), (6, b"slow")]
        assert time.monotonic() - begin >= 3 * RTT_S
        # and nobody waits any more
        await client.send(request_frame(ECHO, b"last", correlation_id=7))
        assert await client.answer() == (7, b"last")


async def test_p_05_a_refused_renewal_keeps_its_place(serve: Serve) -> None:
    """The answer to a client that authenticates again and is refused is the last one."""

    async def refuse(context: HandlerContext, request: Request) -> tuple[Parts | None, str] | None:
        return ([b"refused"], "on purpose") if request.api_key == ECHO else None

    class Renewing(Slow):
        async def answer(self, context: HandlerContext, request: Request) -> Parts | None:
            context.renew = refuse
            return await super().answer(context, request)

    async with serve(Renewing(rtt_s=RTT_S).handlers()) as served:
        client = await served.connect()
        await client.send(frame(SLOW, 1) + request_frame(ECHO, correlation_id=2))
        assert [await client.answer() for _ in range(2)] == [(1, b"slow"), (2, b"refused")]
        assert await client.is_closed()


async def test_p_18_bytes_take_their_time_and_others_are_served(serve: Serve) -> None:
    slow = Slow(bytes_per_s=1000)
    async with serve(slow.handlers()) as served:
        client, other = await served.connect(), await served.connect()
        begin = time.monotonic()
        await client.send(frame(SLOW, 1, 200) + frame(SLOW, 2, 200))
        await other.send(request_frame(ECHO, b"other"))
        assert await other.answer() == (1, b"other")
        assert await client.answer() == (1, b"slow")
        assert time.monotonic() - begin >= 0.2 - 0.015
        assert await client.answer() == (2, b"slow")
        assert time.monotonic() - begin >= 0.4 - 0.015


async def test_p_18_without_an_answer_the_next_request_waits(serve: Serve) -> None:
    slow = Slow(bytes_per_s=1000, rtt_s=10.0)
    async with serve(slow.handlers()) as served:
        client = await served.connect()
        begin = time.monotonic()
        await client.send(frame(NO_ANSWER, 1, 200) + request_frame(ECHO, b"e", correlation_id=2))
        assert await client.answer() == (2, b"e")
        assert time.monotonic() - begin >= 0.2 - 0.015


async def test_p_18_a_request_that_waits_has_no_memory(serve: Serve) -> None:
    slow = Slow(bytes_per_s=1)
    limits = Limits(request_memory_bytes=3_000_000)
    async with serve({PRODUCE: slow.answer}, limits) as served:
        for count in range(1, 6):
            client = await served.connect()
            await client.send(
                request_frame(PRODUCE, struct.pack(">i", FOR_EVER) + bytes(1_000_000))
            )
            await served.until(lambda count=count: slow.handled == count)  # type: ignore[misc]
        await anyio.lowlevel.checkpoint()
        for view in slow.bodies:
            with pytest.raises(ValueError, match="released"):
                view[0]


async def test_p_18_a_client_that_leaves_makes_room(serve: Serve) -> None:
    slow = Slow(bytes_per_s=1)
    async with serve(slow.handlers()) as served:
        gone = [await served.connect() for _ in range(3)]
        for client in gone:
            await client.send(frame(SLOW, 1, 1_000_000))
        await served.until(lambda: slow.handled == 3)
        for client in gone:
            client.close()
        await served.until(lambda: not served.node.connections)
        slow.way.set_rate(1_000_000)
        client = await served.connect()
        await client.send(frame(SLOW, 1, 1))
        assert await client.answer() == (1, b"slow")


async def test_p_16_a_stop_waits_for_no_network(serve: Serve) -> None:
    slow = Slow(rtt_s=3600.0)
    async with serve(slow.handlers()) as served:
        client = await served.connect()
        await client.send(frame(SLOW, 1) + frame(SLOW, 2))
        await served.until(lambda: slow.handled == 2)
        carried = Slow(bytes_per_s=1)
        slow.way, slow.rtt_s = carried.way, 0.0
        other = await served.connect()
        await other.send(frame(SLOW, 3, 1_000_000))
        await served.until(lambda: slow.handled == 3)
        served.node.stop()
        await served.ended.wait()
        assert [await client.answer() for _ in range(2)] == [(1, b"slow"), (2, b"slow")]
        assert await other.answer() == (3, b"slow")  # what was done is told
        assert await client.is_closed()
        assert await other.is_closed()


async def test_p_18_a_client_that_reads_nothing_is_waited_for(serve: Serve) -> None:
    """Answers that wait are bounded: no more requests are read."""
    slow = Slow(rtt_s=0.01)
    count = 40_000
    async with serve(slow.handlers()) as served:
        client = await served.connect(receive_buffer_bytes=4096)
        async with anyio.create_task_group() as group:
            frames = b"".join(frame(SLOW, number) for number in range(count))
            group.start_soon(client.send, frames)
            await served.until(lambda: slow.handled > count // 10)
            for number in range(count):
                assert await client.answer() == (number, b"slow")
