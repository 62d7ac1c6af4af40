"""Through a running node: answers that are cut, split, lost, held or late."""

import logging
import time
from typing import Any

import anyio
import pytest

from tests.server.conftest import ECHO, Serve, request_frame, serve
from tests.testbench.faults.test_accept import add, bench

__all__ = ["serve"]

pytestmark = pytest.mark.anyio


@pytest.fixture(params=[("asyncio", {"use_uvloop": False}), ("asyncio", {"use_uvloop": True})])
def anyio_backend(request: pytest.FixtureRequest) -> Any:
    return request.param


ANSWER = b"\0\0\0\x05\0\0\0\x01a"
ASKED = request_frame(ECHO, b"a")


@pytest.mark.parametrize(
    ("action", "received", "is_closed"),
    [
        ({"cut_at": 0}, b"", True),
        ({"cut_at": 6}, ANSWER[:6], True),
        ({"cut_at": 99}, ANSWER, True),
        ({"split": [1, 2, 3]}, ANSWER, False),
        ({"split": [99]}, ANSWER, False),
        ({"rewrite": {"correlation_id": 9}}, b"\0\0\0\x05\0\0\0\x09a", False),
        ({"drop": "before"}, b"", True),
        ({"drop": "after"}, b"", True),
        ({"drop": "after", "reset": True}, b"", True),
        ({"delay_ms": 1}, ANSWER, False),
    ],
)
async def test_what_a_client_gets(
    serve: Serve,
    action: dict[str, Any],
    received: bytes,
    is_closed: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    seams, faults = bench()
    async with serve(seams=seams) as served:
        client = await served.connect()
        fault = add(faults, keys=[ECHO], **action)
        await client.send(ASKED)
        assert await client.receive(len(received)) == received
        if is_closed:
            assert await client.is_closed()
            await served.until(lambda: served.node.connection_count == 0)
            lines = [each for each in caplog.messages if f"fault {fault.id} " in each]
            assert len(lines) == 1
        else:
            await client.send(ASKED)
            assert await client.answer() == (1, b"a")
        assert fault.hits == 1
        assert not seams.hooks


async def test_the_answers_before_it_leave_first(serve: Serve) -> None:
    seams, faults = bench()
    async with serve(seams=seams) as served:
        client = await served.connect()
        add(faults, keys=[ECHO], skip=2, cut_at=1)
        await client.send(3 * ASKED)
        assert await client.receive(100) == 2 * ANSWER + ANSWER[:1]


async def test_a_held_request_holds_its_connection_only(serve: Serve) -> None:
    seams, faults = bench()
    async with serve(seams=seams) as served:
        fault = add(faults, keys=[ECHO], hold=True)
        held, other = await served.connect(), await served.connect()
        await held.send(2 * ASKED)
        await fault.wait(1, 5000)
        await other.send(ASKED)
        assert await other.answer() == (1, b"a")
        fault.release()
        assert await held.receive(2 * len(ANSWER)) == 2 * ANSWER


@pytest.mark.parametrize("action", [{"hold": True}, {"silence": True}, {"delay_ms": 1e6}])
async def test_a_client_that_goes_leaves_nothing(serve: Serve, action: dict[str, Any]) -> None:
    seams, faults = bench()
    async with serve(seams=seams) as served:
        fault = add(faults, keys=[ECHO], **action)
        client = await served.connect()
        await client.send(ASKED)
        await fault.wait(1, 5000)
        client.close()
        await served.until(lambda: served.node.connection_count == 0)
        assert faults.held == 0


async def test_silence_lasts_until_the_rule_is_removed(serve: Serve) -> None:
    seams, faults = bench()
    async with serve(seams=seams) as served:
        fault = add(faults, keys=[ECHO], silence=True)
        client = await served.connect()
        await client.send(2 * ASKED)
        await fault.wait(1, 5000)
        with anyio.move_on_after(0.02) as waiting:
            await client.receive(1)
        assert waiting.cancelled_caught
        faults.clear()
        assert await client.is_closed()


async def test_a_delay_is_as_long_as_it_says(serve: Serve) -> None:
    seams, faults = bench()
    async with serve(seams=seams) as served:
        add(faults, keys=[ECHO], delay_ms=50)
        client = await served.connect()
        began = time.monotonic()
        await client.send(ASKED)
        assert await client.answer() == (1, b"a")
        assert time.monotonic() - began >= 0.05
