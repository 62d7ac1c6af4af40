"""The one task that sleeps until a deadline of groups or transactions."""

import logging
from collections.abc import Sequence
from typing import Final, Protocol

import anyio
from anyio.lowlevel import checkpoint

from broker_lite.control.clock import Clock
from broker_lite.control.coordinators.alarm import Alarm

logger = logging.getLogger("broker_lite.server")

# No sleep is longer, even if a deadline is wrong.
_SLEEP_S_MAX: Final = 3_600.0
# After a failure, timers are run again after so long.
PAUSE_AFTER_FAILURE_S: Final = 1.0


class Timed(Protocol):
    """Something that has deadlines, in the clock's steady milliseconds."""

    def next_deadline_ms(self) -> int | None:
        """When on_time() has to be called next; None if there is no deadline."""

    def on_time(self) -> None:
        """Run what is due; if it stops before the end, the next deadline is in the past."""


async def run_timers(timed: Sequence[Timed], clock: Clock, alarm: Alarm) -> None:
    """Run each timer when its deadline has passed, until cancelled.

    Args:
        timed: the objects whose deadlines are watched.
        clock: may be stepped, which wakes this task.
        alarm: is told of earlier deadlines, and wakes this task.

    Rule: G-120: never early, since the clock is asked again after each sleep.
    """
    while True:
        woken = anyio.Event()
        alarm.wake = woken.set
        deadlines_ms = [each for one in timed if (each := one.next_deadline_ms()) is not None]
        deadline_ms = min(deadlines_ms, default=None)
        alarm.sleep_until(deadline_ms)
        if deadline_ms is None or deadline_ms > clock.steady_ms():
            await _sleep(woken, deadline_ms, clock)
            continue
        try:
            for one in timed:
                one.on_time()
            await checkpoint()
        except Exception:  # a timer that fails must not end the others
            logger.exception("timers failed")
            await anyio.sleep(PAUSE_AFTER_FAILURE_S)


async def _sleep(woken: anyio.Event, deadline_ms: int | None, clock: Clock) -> None:
    sleep_s = _SLEEP_S_MAX
    if deadline_ms is not None:
        sleep_s = min(sleep_s, clock.seconds_until(deadline_ms))
    with anyio.move_on_after(sleep_s):
        await woken.wait()
