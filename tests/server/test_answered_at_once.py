"""Requests that a connection answers where they are received: P-04, P-05, P-07, P-10."""

import logging
import socket
import weakref
from functools import partial

import anyio
import pytest

from broker_lite.handler.context import CloseConnection, HandlerContext, Parts, Request, Rest
from tests.server.conftest import (
    CLOSING,
    ECHO,
    PARKED,
    SILENT,
    Parking,
    Serve,
    request_frame,
)

pytestmark = pytest.mark.anyio


def body_of(request: Request) -> bytes:
    return bytes(request.body[request.position :])


def begin_echo(context: HandlerContext, request: Request) -> Parts | Rest:
    """Answers "now..." at once, and leaves the rest to the task."""
    body = body_of(request)
    if body.startswith(b"now"):
        return [body]
    return partial(finish_echo, body)


async def finish_echo(body: bytes) -> Parts | None:
    await anyio.lowlevel.checkpoint()
    return None if body == b"unanswered" else [body]


async def never(context: HandlerContext, request: Request) -> Parts | None:
    raise AssertionError("the request has begun already")


async def test_p_04_p_05_in_order_whoever_answers(serve: Serve) -> None:
    bodies = [b"now %d" % n if n % 3 else b"later %d" % n for n in range(300)]
    frames = [request_frame(ECHO, body, correlation_id=n) for n, body in enumerate(bodies)]
    async with serve(begins={ECHO: begin_echo}) as served:
        client = await served.connect()
        await client.send(b"".join(frames))
        assert [await client.answer() for _ in bodies] == list(enumerate(bodies))
        for n, frame in enumerate(frames[:10]):  # one at a time
            await client.send(frame)
            assert await client.answer() == (n, bodies[n])


async def test_the_first_of_several_is_begun_only_once(serve: Serve) -> None:
    begun = []

    def begin(context: HandlerContext, request: Request) -> Parts | Rest:
        begun.append(body_of(request))
        return begin_echo(context, request)

    async with serve({ECHO: never}, begins={ECHO: begin}) as served:
        client = await served.connect()
        for body in (b"now", b"later", b"now again"):
            await client.send(request_frame(ECHO, body))
            assert await client.answer() == (1, body)
        assert begun == [b"now", b"later", b"now again"]
        (connection,) = served.node.connections
        assert connection.requests == 3


async def test_other_requests_follow_those_answered_at_once(serve: Serve) -> None:
    async with serve(begins={ECHO: begin_echo}) as served:
        client = await served.connect()
        await client.send(
            request_frame(ECHO, b"now") + request_frame(SILENT) + request_frame(ECHO, b"now 2")
        )
        assert await client.answer() == (1, b"now")
        assert await client.answer() == (1, b"now 2")


async def test_p_07_what_has_no_answer_lets_the_answer_before_it_leave(serve: Serve) -> None:
    async with serve(begins={ECHO: begin_echo}) as served:
        client = await served.connect()
        await client.send(request_frame(ECHO, b"now") + request_frame(ECHO, b"unanswered"))
        assert await client.answer() == (1, b"now")


async def test_a_connection_that_waits_keeps_no_request(serve: Serve) -> None:
    bodies: list[weakref.ref[memoryview]] = []

    def begin(context: HandlerContext, request: Request) -> Parts | Rest:
        bodies.append(weakref.ref(request.body))
        return begin_echo(context, request)

    async with serve({ECHO: never}, begins={ECHO: begin}) as served:
        client = await served.connect()
        for body in (b"later", b"now"):
            await client.send(request_frame(ECHO, body))
            assert await client.answer() == (1, body)
        for _ in range(10):
            await anyio.lowlevel.checkpoint()
        assert [each() for each in bodies] == [None, None]


async def test_many_at_once_let_others_have_their_turn(serve: Serve) -> None:
    order: list[bytes] = []

    def begin(context: HandlerContext, request: Request) -> Parts | Rest:
        order.append(body_of(request))
        return [b""]

    async with serve({ECHO: never_mind}, begins={ECHO: begin}) as served:
        greedy, other = await served.connect(), await served.connect()
        await greedy.send(request_frame(ECHO, b"greedy") * 31)
        await other.send(request_frame(ECHO, b"other"))
        for _ in range(31):
            await greedy.answer()
        await other.answer()
        await greedy.send(request_frame(ECHO, b"greedy") * 2000)
        await other.send(request_frame(ECHO, b"other"))
        for _ in range(2000):
            await greedy.answer()
        await other.answer()
        assert order.count(b"other") == 2


async def never_mind(context: HandlerContext, request: Request) -> Parts | None:
    return [b""]


async def test_a_slow_reader_gets_all_of_it(serve: Serve) -> None:
    large = bytes(range(256)) * (8 << 12)

    def begin(context: HandlerContext, request: Request) -> Parts | Rest:
        return [large]

    async with serve({ECHO: never}, begins={SILENT: begin, ECHO: begin_echo}) as served:
        slow, other = await served.connect(receive_buffer_bytes=4096), await served.connect()
        await slow.send(request_frame(SILENT))
        await other.send(request_frame(ECHO, b"now"))
        assert await other.answer() == (1, b"now")
        assert await slow.answer() == (1, large)
        await slow.send(request_frame(ECHO, b"now"))
        assert await slow.answer() == (1, b"now")


async def test_a_client_that_sends_no_more_gets_all_of_it(serve: Serve) -> None:
    large = bytes(range(256)) * (8 << 12)

    def begin(context: HandlerContext, request: Request) -> Parts | Rest:
        return [large]

    async with serve({ECHO: never}, begins={SILENT: begin}) as served:
        client = await served.connect(receive_buffer_bytes=4096)
        await client.send(request_frame(SILENT))
        client.sock.shutdown(socket.SHUT_WR)
        await anyio.sleep(0.05)
        assert await client.answer() == (1, large)
        assert await client.is_closed()


async def test_a_close_with_what_was_answered_before(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    def begin(context: HandlerContext, request: Request) -> Parts | Rest:
        if body_of(request) == b"close":
            raise CloseConnection("on purpose")
        return begin_echo(context, request)

    caplog.set_level(logging.INFO, "broker_lite.server")
    async with serve(begins={ECHO: begin}) as served:
        client = await served.connect()
        await client.send(request_frame(ECHO, b"now") + request_frame(ECHO, b"close"))
        assert await client.answer() == (1, b"now")
        assert await client.is_closed()
        assert "on purpose" in caplog.text


async def test_a_bug_closes(serve: Serve) -> None:
    def begin(context: HandlerContext, request: Request) -> Parts | Rest:
        raise RuntimeError("a bug")

    async with serve(begins={ECHO: begin}) as served:
        client = await served.connect()
        await client.send(request_frame(ECHO))
        assert await client.is_closed()


async def test_p_10_a_version_that_is_not_offered_closes(serve: Serve) -> None:
    async with serve(begins={ECHO: begin_echo}) as served:
        client = await served.connect()
        await client.send(request_frame(ECHO, b"now", version=1))
        assert await client.is_closed()


async def test_a_node_that_hangs_answers_nothing(serve: Serve) -> None:
    begun = []

    def begin(context: HandlerContext, request: Request) -> Parts | Rest:
        begun.append(body_of(request))
        return [b""]

    async with serve({ECHO: never_mind}, begins={ECHO: begin}) as served:
        client = await served.connect()
        await client.send(request_frame(ECHO, b"before"))
        await client.answer()
        served.node.hang()
        await client.send(request_frame(ECHO, b"meanwhile"))
        await anyio.sleep(0.05)
        assert begun == [b"before"]
        served.node.go_on()
        await client.answer()


async def test_a_hook_is_called(serve: Serve) -> None:
    async with serve(begins={ECHO: begin_echo}) as served:
        client = await served.connect()
        await client.send(request_frame(ECHO, b"now"))
        assert await client.answer() == (1, b"now")
        (connection,) = served.node.connections

        async def hook(context: HandlerContext, request: Request, handle: object) -> Parts | None:
            return [b"hooked"]

        connection.context.hooks[ECHO] = hook
        await client.send(request_frame(ECHO, b"now"))
        assert await client.answer() == (1, b"hooked")


async def test_a_stop_waits_for_the_rest(serve: Serve) -> None:
    entered, release = anyio.Event(), anyio.Event()

    async def rest() -> Parts | None:
        entered.set()
        await release.wait()
        return [b"late"]

    def begin(context: HandlerContext, request: Request) -> Parts | Rest:
        return rest

    async with serve({ECHO: never}, begins={ECHO: begin}) as served:
        client = await served.connect()
        await client.send(request_frame(ECHO))
        await entered.wait()
        served.node.stop()
        release.set()
        assert await client.answer() == (1, b"late")
        assert await client.is_closed()


async def test_a_client_that_leaves_ends_the_rest(serve: Serve) -> None:
    parking = Parking()

    def begin(context: HandlerContext, request: Request) -> Parts | Rest:
        return partial(parking.handle, context, request)

    async with serve(begins={PARKED: begin}) as served:
        client = await served.connect()
        await client.send(request_frame(PARKED))
        await parking.entered.wait()
        client.close()
        await parking.has_ended.wait()
        assert parking.ended == ["cancelled"]


async def test_what_cannot_begin_is_dispatched(serve: Serve) -> None:
    async with serve(begins={ECHO: begin_echo}) as served:
        client = await served.connect()
        await client.send(request_frame(ECHO, b"now") + request_frame(CLOSING))
        assert await client.answer() == (1, b"now")
        assert await client.is_closed()
