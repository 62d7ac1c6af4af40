"""The one clock of a broker, handed down; nothing else asks the time.

Three readings: milliseconds since the epoch for what is stored or sent, monotonic milliseconds for
how long something took or may take, and for timers whose deadlines are stored the wall time of the
start plus what has passed since. All can be stepped forward, by a test or by the control API.
"""

import time
from collections.abc import Callable
from typing import Final

_NS_PER_MS: Final = 1_000_000
_NS_PER_S: Final = 1_000_000_000


class Clock:
    """The machine's time plus what it has been stepped by."""

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
        """A clock that moves only when it is stepped; monotonic time starts at 0."""
        return cls(wall_ns=lambda: now_ms * _NS_PER_MS, monotonic_ns=lambda: 0)

    def now_ms(self) -> int:
        """Milliseconds since the epoch; follows the machine's clock, so it may go backwards."""
        return self._wall_ns() // _NS_PER_MS + self._stepped_ms

    def monotonic_ms(self) -> int:
        """Milliseconds since an arbitrary moment; never goes backwards."""
        return self._monotonic_ns() // _NS_PER_MS + self._stepped_ms

    def steady_ms(self) -> int:
        """Milliseconds since the epoch, never going backwards, nor forwards but with time.

        It is the wall time of the start plus the monotonic time since: nobody is thrown out of a
        group because the machine's clock was set.
        """
        return (self._start_ns + self._monotonic_ns()) // _NS_PER_MS + self._stepped_ms

    def seconds_until(self, steady_ms: int) -> float:
        """How long it takes until steady_ms() gives this; exact, and negative if that is past."""
        target_ns = (steady_ms - self._stepped_ms) * _NS_PER_MS
        return (target_ns - self._start_ns - self._monotonic_ns()) / _NS_PER_S

    def watch(self, watcher: Callable[[], object]) -> None:
        """Have a function called after each step, so that whoever waits for a time looks again."""
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
