"""How long the event loop keeps a byte waiting."""

import asyncio
from threading import active_count
from time import perf_counter

import pytest

from broker_lite.testbench.loop_waits import LoopWaits

BUSY_S = 0.03


def test_a_loop_at_work_keeps_bytes_waiting() -> None:
    """Each byte waits for the rest of the step that is in progress, and for those before it."""

    async def work() -> LoopWaits:
        with LoopWaits() as waits:
            while waits.count < 5:
                until_s = perf_counter() + BUSY_S
                while perf_counter() < until_s:
                    pass
                await asyncio.sleep(0)
        return waits

    found = asyncio.run(work())
    assert found.count >= 5
    assert 0 < found.mean_s < 10
    assert found.sum_s == pytest.approx(found.mean_s * found.count)


def test_who_leaves_at_once_has_measured_nothing() -> None:
    before = active_count()

    async def leave() -> LoopWaits:
        with LoopWaits() as waits:
            pass
        return waits

    assert asyncio.run(leave()).mean_s == 0.0
    assert active_count() == before


def test_who_leaves_while_a_byte_is_about_to_be_sent_is_not_kept() -> None:
    """The thread wakes each 10 ms; who leaves then once blocked the event loop for ever."""

    async def leave(after_s: float) -> None:
        until_s = perf_counter() + after_s
        with LoopWaits():
            await asyncio.sleep(after_s - 0.001)
            while perf_counter() < until_s:
                pass

    async def leave_often() -> None:
        for each in range(300):
            await leave(0.0095 + 0.00001 * (each % 100))

    before = active_count()
    asyncio.run(leave_often())
    assert active_count() == before
