"""The task that sleeps until something is due: G-120."""

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from broker_lite.control.clock import Clock
from broker_lite.control.coordinators.alarm import Alarm
from broker_lite.server.upkeep import timers
from broker_lite.server.upkeep.timers import run_timers

pytestmark = pytest.mark.anyio


class Deadline:
    """One deadline, and when it was noticed."""

    def __init__(self, clock: Clock, deadline_ms: int | None) -> None:
        self.clock = clock
        self.deadline_ms = deadline_ms
        self.noticed_ms: list[int] = []
        self.failures_left = 0
        self.looks = 0
        self.noticed = anyio.Event()

    def next_deadline_ms(self) -> int | None:
        self.looks += 1
        return self.deadline_ms

    def on_time(self) -> None:
        now_ms = self.clock.steady_ms()
        if self.deadline_ms is None or now_ms < self.deadline_ms:
            return
        if self.failures_left:
            self.failures_left -= 1
            raise ZeroDivisionError
        self.noticed_ms.append(now_ms)
        self.deadline_ms = None
        self.noticed.set()


async def running(
    timed: list[Deadline], clock: Clock, alarm: Alarm, act: Callable[..., Any]
) -> None:
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(run_timers, timed, clock, alarm)
            for _ in range(3):
                await checkpoint()
            await act()
            group.cancel_scope.cancel()


async def test_g120_what_is_due_happens_when_it_is_due_and_never_before() -> None:
    clock, alarm = Clock(), Alarm()
    start_ms = clock.steady_ms()
    first, second = Deadline(clock, start_ms + 30), Deadline(clock, None)
    await running([first, second], clock, alarm, first.noticed.wait)
    assert first.noticed_ms[0] >= start_ms + 30
    assert second.noticed_ms == []


async def test_an_earlier_deadline_wakes_it() -> None:
    clock, alarm = Clock(), Alarm()
    deadline = Deadline(clock, clock.steady_ms() + 3_600_000)

    async def act() -> None:
        deadline.deadline_ms = clock.steady_ms()
        alarm.due_at(deadline.deadline_ms)
        await deadline.noticed.wait()

    await running([deadline], clock, alarm, act)


async def test_a_stepped_clock_wakes_it() -> None:
    clock, alarm = Clock.standing_still(), Alarm()
    clock.watch(lambda: alarm.wake())
    deadline = Deadline(clock, clock.steady_ms() + 3_600_000)

    async def act() -> None:
        clock.step(3_600_000)
        await deadline.noticed.wait()

    await running([deadline], clock, alarm, act)


async def test_a_frozen_clock_lets_it_sleep() -> None:
    clock, alarm = Clock(), Alarm()
    clock.watch(lambda: alarm.wake())
    clock.freeze()
    deadline = Deadline(clock, clock.steady_ms() + 1)

    async def act() -> None:
        await anyio.sleep(0.02)
        assert deadline.looks <= 2
        assert not deadline.noticed_ms
        clock.step(1)
        await deadline.noticed.wait()

    await running([deadline], clock, alarm, act)


async def test_one_that_fails_does_not_end_the_others(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timers, "PAUSE_AFTER_FAILURE_S", 0)
    clock, alarm = Clock(), Alarm()
    deadline = Deadline(clock, clock.steady_ms())
    deadline.failures_left = 2
    await running([deadline], clock, alarm, deadline.noticed.wait)
    assert [record.getMessage() for record in caplog.records] == ["timers failed"] * 2
