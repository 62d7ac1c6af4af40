"""Keeps a loop to a rate, and does what becomes due while it waits."""

import time
from collections.abc import Callable


class Throttle:
    """Says for how long to wait before each of many steps."""

    def __init__(self, per_second: float, *, now_s: Callable[[], float] = time.monotonic) -> None:
        """Begin now.

        Args:
            per_second: steps; negative is without any limit.
            now_s: the clock.
        """
        self._per_second = per_second
        self._now_s = now_s
        self._start_s = now_s()

    def wait_s(self, step: int) -> float:
        """How long it is until a step is due, counted from 0; 0 when it is."""
        if self._per_second < 0:
            return 0.0
        return max(0.0, self._start_s + step / self._per_second - self._now_s())
