"""The clock of a broker: its only source of time, passed to every part that needs it.

It has three readings:

- milliseconds since the epoch, for times that are stored or sent;
- monotonic milliseconds, for durations;
- steady milliseconds, for timers whose deadlines are stored: the wall time of the start plus the
  monotonic time since then.

A test or the control API can step all of them forward, and freeze them.
"""

import math
import time
from collections.abc import Callable
from typing import Final

_NS_PER_MS: Final = 1_000_000
_NS_PER_S: Final = 1_000_000_000


class Clock:
    """The machine's time, plus all steps, without the time that it was frozen.

    Attributes:
        is_frozen: whether only steps move it now.
    """

    __slots__ = (
        "_machine",
        "_monotonic_ns",
        "_start_ns",
        "_stepped_ms",
        "_wall_ns",
        "_watchers",
        "is_frozen",
    )

    def __init__(
        self,
        *,
        wall_ns: Callable[[], int] = time.time_ns,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.is_frozen = False
        self._machine = wall_ns, monotonic_ns
        # A freeze replaces them, so that a clock that was never frozen pays nothing for it.
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
        """Return the exact time until steady_ms() has this value; negative if it is in the past.

        While the clock is frozen, a time in the future is infinitely far away.
        """
        if self.is_frozen and steady_ms > self.steady_ms():
            return math.inf
        target_ns = (steady_ms - self._stepped_ms) * _NS_PER_MS
        return (target_ns - self._start_ns - self._monotonic_ns()) / _NS_PER_S

    def unfrozen_ms(self) -> int:
        """Return monotonic milliseconds that pass also while the clock is frozen.

        They are for how long the broker's own work takes: it has to let others have their turn.
        """
        return self._machine[1]() // _NS_PER_MS + self._stepped_ms

    def watch(self, watcher: Callable[[], object]) -> None:
        """Call a function after each step and unfreeze(): tasks that wait for a time check it."""
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
        self._tell_watchers()

    def freeze(self) -> None:
        """Let only steps move all readings from now on, until unfreeze()."""
        if not self.is_frozen:
            self.is_frozen = True
            self._wall_ns = _constant(self._wall_ns())
            self._monotonic_ns = _constant(self._monotonic_ns())

    def unfreeze(self) -> None:
        """Let all readings go on from where they stand."""
        if self.is_frozen:
            self.is_frozen = False
            wall_ns, monotonic_ns = self._machine
            self._wall_ns = _going_on(wall_ns, self._wall_ns())
            self._monotonic_ns = _going_on(monotonic_ns, self._monotonic_ns())
            self._tell_watchers()

    def _tell_watchers(self) -> None:
        for watcher in self._watchers:
            watcher()


def _constant(value_ns: int) -> Callable[[], int]:
    return lambda: value_ns


def _going_on(read_ns: Callable[[], int], value_ns: int) -> Callable[[], int]:
    """Return a reading that has this value now, and goes on as the machine's does."""
    behind_ns = read_ns() - value_ns
    return lambda: read_ns() - behind_ns
