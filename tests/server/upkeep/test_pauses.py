"""Waiting by the broker's clock."""

import time
from typing import Any

import anyio
import pytest

from broker_lite.control.clock import Clock
from broker_lite.server.upkeep.pauses import Pauses

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> Any:
    return ("asyncio", {"use_uvloop": True})


async def test_a_step_of_the_clock_ends_a_pause_and_not_too_early() -> None:
    clock = Clock.standing_still()
    pauses = Pauses(clock)
    ended: list[int] = []

    async def wait(pause_ms: int) -> None:
        await pauses.wait(pause_ms)
        ended.append(pause_ms)

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(wait, 10)
            group.start_soon(wait, 1 << 62)
            await anyio.wait_all_tasks_blocked()
            clock.step(9)
            await anyio.wait_all_tasks_blocked()
            assert ended == []
            clock.step(1)
            await anyio.wait_all_tasks_blocked()
            assert ended == [10]
            clock.step(1 << 62)


async def test_without_a_step_the_time_passes_by_itself() -> None:
    with anyio.fail_after(10):
        await Pauses(Clock()).wait(1)


async def test_a_frozen_clock_is_not_asked_again_and_again() -> None:
    asked: list[int] = []

    def monotonic_ns() -> int:
        asked.append(0)
        return time.monotonic_ns()

    clock = Clock(monotonic_ns=monotonic_ns)
    pauses = Pauses(clock)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            clock.freeze()
            group.start_soon(pauses.wait, 1)
            await anyio.sleep(0.02)
            assert len(asked) <= 3
            clock.unfreeze()
