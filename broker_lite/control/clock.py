"""The clock of a broker: its only source of time, passed to every part that needs it.

It has three readings:

- milliseconds since the epoch, for times that are stored or sent;
- monotonic milliseconds, for durations;
- steady milliseconds, for timers whose deadlines are stored: the wall time of the start plus the
  monotonic time since then.

A test or the control API can step all of them forward.
"""

import time
from collections.abc import Callable
from typing import Final

_NS_PER_MS: Final = 1_000_000
_NS_PER_S: Final = 1_000_000_000


class Clock:
    """The machine's time, plus all steps."""

    __slots__ = ("_monotonic_ns", "_start_ns", "_stepped_ms", "_wall_ns", "_watchers")

    def __init__(
        self,
        *,
        wall_ns: Callable[[], int] = time.time_ns,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._wall_ns = wall_ns
        self._monotonic_ns = monotonic_ns
        self._stepped_ms = 0
        self._start_ns = wall_ns() - monotonic_ns()
        self._watchers: list[Callable[[], object]] = []

    @classmethod
    def standing_still(cls, now_ms: int = 1_700_000_000_000) -> "Clock":
        """Make a clock that moves only when it is stepped; its monotonic time starts at 0."""
        return cls(wall_ns=lambda: now_ms * _NS_PER_MS, monotonic_ns=lambda: 0)

    def now_ms(self) -> int:
        """Return milliseconds since the epoch; may go backwards, as the machine's clock may."""
        return self._wall_ns() // _NS_PER_MS + self._stepped_ms

    def monotonic_ms(self) -> int:
        """Return milliseconds since an arbitrary moment; never goes backwards."""
        return self._monotonic_ns() // _NS_PER_MS + self._stepped_ms

    def steady_ms(self) -> int:
        """Return milliseconds since the epoch, whatever is done to the machine's clock.

        It is the wall time of the start plus the monotonic time since then. So no member loses its
        session because somebody sets the machine's clock.
        """
        return (self._start_ns + self._monotonic_ns()) // _NS_PER_MS + self._stepped_ms

    def seconds_until(self, steady_ms: int) -> float:
        """Return the exact time until steady_ms() has this value; negative if it is in the past."""
        target_ns = (steady_ms - self._stepped_ms) * _NS_PER_MS
        return (target_ns - self._start_ns - self._monotonic_ns()) / _NS_PER_S

    def watch(self, watcher: Callable[[], object]) -> None:
        """Call a function after each step, so that a task that waits for a time checks it again."""
        self._watchers.append(watcher)

    def step(self, step_ms: int) -> None:
        """Move all readings forward.

        Args:
            step_ms: at least 0; steps add up.

        Raises:
            ValueError: step_ms is negative.
        """
        if step_ms < 0:
            raise ValueError(f"a clock cannot be stepped back, by {step_ms} ms")
        self._stepped_ms += step_ms
        for watcher in self._watchers:
            watcher()
