"""One connection: P-02 to P-11, P-16, P-45.

Also tests: broker_lite.server.closings.
"""

import logging
import socket
import struct
import time

import anyio
import pytest

from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.rate_limited_log import INTERVAL_MS, LINES_MAX
from broker_lite.server.limits.node_limits import Limits
from broker_lite.wire import messages
from tests.server.conftest import (
    API_VERSIONS,
    BROKEN,
    CLOSING,
    ECHO,
    PARKED,
    SILENT,
    Serve,
    request_frame,
)

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _lines(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "broker_lite.server")


async def test_p_04_p_05_pipelined_requests_are_answered_in_order(serve: Serve) -> None:
    async with serve() as served:
        client = await served.connect()
        ids = [(-1) ** n * n for n in range(300)]
        await client.send(b"".join(request_frame(ECHO, b"%d" % n, correlation_id=n) for n in ids))
        assert [await client.answer() for _ in ids] == [(n, b"%d" % n) for n in ids]


async def test_p_01_a_frame_may_come_byte_by_byte(serve: Serve) -> None:
    async with serve() as served:
        client = await served.connect()
        data = request_frame(ECHO, b"slow", correlation_id=9)
        for byte in data:
            await client.send(bytes([byte]))
            await anyio.lowlevel.checkpoint()
        assert await client.answer() == (9, b"slow")


async def test_a_frame_larger_than_every_buffer(serve: Serve) -> None:
    async with serve() as served:
        client = await served.connect()
        body = bytes(range(256)) * 20_000
        async with anyio.create_task_group() as group:
            group.start_soon(client.send, request_frame(ECHO, body))
            assert await client.answer() == (1, body)


@pytest.mark.parametrize(
    "data",
    [
        struct.pack(">i", -1),
        struct.pack(">i", 104_857_601),
        struct.pack(">i", 0),
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        request_frame(7),
        request_frame(ECHO, version=1),
        request_frame(CLOSING),
    ],
    ids=[
        "P-02 negative",
        "P-02 large",
        "P-03 empty",
        "P-03 HTTP",
        "P-10 key",
        "P-10 version",
        "P-08",
    ],
)
async def test_the_only_answer_is_to_close(serve: Serve, data: bytes) -> None:
    async with serve() as served:
        client = await served.connect()
        await client.send(data)
        assert await client.is_closed()
        await served.until(lambda: served.node.connection_count == 0)


async def test_bad_frames_are_told_with_a_count(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    async with serve() as served:
        for _ in range(LINES_MAX + 20):
            client = await served.connect()
            await client.send(struct.pack(">i", -1))
            assert await client.is_closed()
        told = [record for record in caplog.records if record.getMessage().startswith("closing")]
        assert len(told) == LINES_MAX
        served.clock.step(INTERVAL_MS)
        client = await served.connect()
        await client.send(struct.pack(">i", -1))
        assert await client.is_closed()
        count, line = [record.message for record in caplog.records][-2:]
    assert "left out count=20 like=closing ProtocolError 127.0.0.1" in count
    assert line.startswith("closing")


async def test_counts_are_told_at_the_stop(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    async with serve(limits=Limits(connections_max=0)) as served:
        for _ in range(LINES_MAX + 7):
            assert await (await served.connect()).is_closed()
    assert [record.message for record in caplog.records if "count=7" in record.message]


async def test_p_45_the_connection_stays_usable(serve: Serve) -> None:
    async with serve() as served:
        client = await served.connect()
        await client.send(request_frame(API_VERSIONS, b"\xff", version=5, correlation_id=77))
        assert await client.answer() == (77, bytes.fromhex("0023 00000001 0012 0000 0000"))
        await client.send(request_frame(ECHO, b"on"))
        assert await client.answer() == (1, b"on")


@pytest.mark.parametrize("behind", [request_frame(SILENT), request_frame(CLOSING), b"\xff" * 9])
async def test_p_05_answers_that_wait_for_each_other_all_leave(serve: Serve, behind: bytes) -> None:
    async with serve() as served:
        client = await served.connect()
        frames = [request_frame(ECHO, b"%d" % n, correlation_id=n) for n in range(3)]
        await client.send(b"".join(frames) + behind)
        assert [await client.answer() for _ in frames] == [(n, b"%d" % n) for n in range(3)]


async def test_p_05_a_parked_request_holds_no_answer_back(serve: Serve) -> None:
    async with serve() as served:
        client = await served.connect()
        await client.send(request_frame(ECHO, b"first") + request_frame(PARKED))
        assert await client.answer() == (1, b"first")


async def test_p_05_a_produce_that_waits_for_the_disk_holds_no_answer_back(serve: Serve) -> None:
    may_go_on = anyio.Event()

    async def produce(context: HandlerContext, request: Request) -> Parts | None:
        body = bytes(request.body[request.position :])
        if body == b"second":
            await may_go_on.wait()
        context.has_waited = True
        return [body]

    async with serve({ECHO: produce}) as served:
        client = await served.connect()
        await client.send(request_frame(ECHO, b"first") + request_frame(ECHO, b"second"))
        assert await client.answer() == (1, b"first")
        may_go_on.set()
        assert await client.answer() == (1, b"second")


async def test_p_05_large_answers_and_small_ones_keep_their_order(serve: Serve) -> None:
    async with serve() as served:
        client = await served.connect()
        bodies = [b"a", b"b" * 3000, b"c", b"d" * 600_000, b"e"]
        async with anyio.create_task_group() as group:
            frames = b"".join(request_frame(ECHO, body) for body in bodies)
            group.start_soon(client.send, frames + request_frame(SILENT))
            assert [(await client.answer())[1] for _ in bodies] == bodies


async def test_p_07_an_answer_is_not_held_for_a_request_without_one(serve: Serve) -> None:
    async def answer_what_has_a_body(context: HandlerContext, request: Request) -> Parts | None:
        body = bytes(request.body[request.position :])
        return [body] if body else None

    async with serve({ECHO: answer_what_has_a_body}) as served:
        client = await served.connect()
        await client.send(request_frame(ECHO, b"acked") + request_frame(ECHO))
        assert await client.answer() == (1, b"acked")


async def test_p_07_no_answer_and_the_next_request(serve: Serve) -> None:
    async with serve() as served:
        client = await served.connect()
        await client.send(request_frame(SILENT) + request_frame(ECHO, b"next", correlation_id=2))
        assert await client.answer() == (2, b"next")


async def test_requests_before_a_client_leaves_are_all_handled(serve: Serve) -> None:
    count = 0

    async def counting(context: HandlerContext, request: Request) -> Parts | None:
        nonlocal count
        count += 1
        return None

    async with serve({SILENT: counting}) as served:
        client = await served.connect()
        await client.send(request_frame(SILENT) * 500)
        client.close()
        await served.until(lambda: count == 500)


async def test_an_unforeseen_error_is_logged_and_closes(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    async with serve() as served:
        client, other = await served.connect(), await served.connect()
        await client.send(request_frame(BROKEN))
        assert await client.is_closed()
        await other.send(request_frame(ECHO, b"fine"))
        assert await other.answer() == (1, b"fine")
    [record] = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert record.exc_info is not None


async def test_p_23_an_answer_that_cannot_be_told_is_one_line_and_closes(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    async def echo_a_longer_text(context: HandlerContext, request: Request) -> Parts | None:
        kind = messages.MetadataResponse
        topic = kind.MetadataResponseTopic(name="\ufffd" * 11_000)
        return [kind.encode(kind(topics=[topic]), 1)]

    async with serve(handlers={3: echo_a_longer_text}) as served:
        client = await served.connect()
        await client.send(request_frame(3))
        assert await client.is_closed()
    [record] = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert record.exc_info is None
    reason = "its answer cannot be encoded: MetadataResponse v1: a text has more than 32767 bytes"
    assert reason in record.message
    assert len(record.message) < 400


async def test_p_06_connections_are_independent(serve: Serve) -> None:
    async with serve() as served:
        parked, other = await served.connect(), await served.connect()
        await parked.send(request_frame(PARKED) + request_frame(ECHO, b"after", correlation_id=2))
        await served.parking.entered.wait()
        await other.send(request_frame(ECHO, b"now"))
        assert await other.answer() == (1, b"now")
        served.parking.release.set()
        assert await parked.answer() == (1, b"late")
        assert await parked.answer() == (2, b"after")


async def test_p_06_a_row_of_long_requests_lets_others_have_their_turn(serve: Serve) -> None:
    handled: list[bytes] = []

    async def work(context: HandlerContext, request: Request) -> Parts | None:
        name = bytes(request.body[request.position :])
        handled.append(name)
        if name == b"long":
            time.sleep(0.006)  # noqa: ASYNC251 - as a handler that computes
        return [name]

    async with serve(handlers={3: work}) as served:
        busy, other = await served.connect(), await served.connect()
        await busy.send(request_frame(3, b"long") * 20)
        await other.send(request_frame(3, b"short"))
        assert await other.answer() == (1, b"short")
        for _ in range(20):
            await busy.answer()
    assert handled.index(b"short") < 10


async def test_p_06_a_row_of_long_requests_that_are_answered_at_once(serve: Serve) -> None:
    handled: list[bytes] = []

    def begin(context: HandlerContext, request: Request) -> Parts:
        name = bytes(request.body[request.position :])
        handled.append(name)
        if name == b"long":
            time.sleep(0.006)
        return [name]

    async def work(context: HandlerContext, request: Request) -> Parts | None:
        return begin(context, request)

    async with serve(handlers={3: work}, begins={3: begin}) as served:
        busy, other = await served.connect(), await served.connect()
        await busy.send(request_frame(3, b"long") * 20)
        await other.send(request_frame(3, b"short"))
        assert await other.answer() == (1, b"short")
        for _ in range(20):
            await busy.answer()
    assert handled.index(b"short") < 10


async def test_a_parked_request_ends_when_its_client_leaves(serve: Serve) -> None:
    async with serve() as served:
        client = await served.connect()
        await client.send(request_frame(PARKED))
        await served.parking.entered.wait()
        client.close()
        await served.parking.has_ended.wait()
        assert served.parking.ended == ["cancelled"]
        await served.until(lambda: served.node.connection_count == 0)


@pytest.mark.slow
async def test_threads_have_more_time_for_a_client_that_left_than_its_request(serve: Serve) -> None:
    """Each client leaves in a way that is noticed elsewhere: by the reader, the sweep, Resets."""
    contexts: list[HandlerContext] = []
    is_stopped_at_the_end: list[bool] = []

    async def park(context: HandlerContext, request: Request) -> Parts | None:
        contexts.append(context)
        try:
            await anyio.sleep_forever()
            return None
        finally:
            is_stopped_at_the_end.append(context.stop.is_set)

    async with serve({PARKED: park}, Limits(connections_max_idle_ms=100)) as served:
        closing, hiding, resetting = [await served.connect() for _ in range(3)]
        for client in (closing, hiding, resetting):
            await client.send(request_frame(PARKED))
        await served.until(lambda: len(contexts) == 3)
        await hiding.send(request_frame(ECHO))
        resetting.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        for client in (closing, hiding, resetting):
            client.close()
        await served.until(lambda: len(is_stopped_at_the_end) == 3)
        assert is_stopped_at_the_end == [False] * 3
        await served.until(lambda: all(context.stop.is_set for context in contexts))


async def test_a_parked_request_survives_pipelined_bytes(serve: Serve) -> None:
    async with serve() as served:
        client = await served.connect()
        await client.send(request_frame(PARKED))
        await served.parking.entered.wait()
        await client.send(request_frame(ECHO, b"x" * 300_000, correlation_id=2))
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        served.parking.release.set()
        assert await client.answer() == (1, b"late")
        assert await client.answer() == (2, b"x" * 300_000)


async def test_a_slow_reader_blocks_only_itself(serve: Serve) -> None:
    async def large(context: HandlerContext, request: Request) -> Parts | None:
        return [bytes(8 << 20)]

    async with serve({SILENT: large}) as served:
        slow, other = await served.connect(receive_buffer_bytes=4096), await served.connect()
        await slow.send(request_frame(SILENT) * 3)
        await other.send(request_frame(ECHO, b"fine") * 50)
        for _ in range(50):
            assert await other.answer() == (1, b"fine")
        for _ in range(3):
            assert await slow.answer() == (1, bytes(8 << 20))


async def test_a_slow_reader_that_leaves_is_let_go(serve: Serve) -> None:
    async def large(context: HandlerContext, request: Request) -> Parts | None:
        return [bytes(8 << 20)]

    async with serve({SILENT: large}) as served:
        slow = await served.connect(receive_buffer_bytes=4096)
        await slow.send(request_frame(SILENT))
        await slow.receive(1)
        slow.close()
        await served.until(lambda: served.node.connection_count == 0)


async def test_a_reset_is_the_end(serve: Serve) -> None:
    async with serve() as served:
        client = await served.connect()
        await client.send(request_frame(ECHO, b"x"))
        await client.receive(1)
        # Closing with bytes unread resets the connection.
        client.close()
        await served.until(lambda: served.node.connection_count == 0)
