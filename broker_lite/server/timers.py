"""The one task that sleeps until something of groups or transactions is due."""

import logging
from collections.abc import Sequence
from typing import Final, Protocol

import anyio
from anyio.lowlevel import checkpoint

from broker_lite.control.clock import Clock
from broker_lite.control.coordinators.alarm import Alarm

logger = logging.getLogger("broker_lite.server")

# However wrong a deadline is, nobody sleeps longer.
_SLEEP_S_MAX: Final = 3_600.0
# What failed is tried again after this.
PAUSE_AFTER_FAILURE_S: Final = 1.0


class Timed(Protocol):
    """Something that has deadlines, in the clock's steady milliseconds."""

    def next_deadline_ms(self) -> int | None:
        """When on_time() has to be called next; None as long as nothing is waited for."""

    def on_time(self) -> None:
        """Do what is due; when it stops before the end, the next deadline is in the past."""


async def run_timers(timed: Sequence[Timed], clock: Clock, alarm: Alarm) -> None:
    """Run each timer when its deadline has passed, until cancelled.

    Args:
        timed: whose deadlines are watched.
        clock: may be stepped, which wakes this.
        alarm: told by whoever gets an earlier deadline.

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
