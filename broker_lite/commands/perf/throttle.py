"""Keeps a loop to a rate."""

import time
from collections.abc import Callable


class Throttle:
    """Computes the wait before each step."""

    def __init__(self, per_second: float, *, now_s: Callable[[], float] = time.monotonic) -> None:
        """Start the clock.

        Args:
            per_second: steps per second; negative for no limit.
            now_s: the clock.
        """
        self._per_second = per_second
        self._now_s = now_s
        self._start_s = now_s()

    def wait_s(self, step: int) -> float:
        """Return the time until a step, counted from 0; 0 if it is due."""
        if self._per_second < 0:
            return 0.0
        return max(0.0, self._start_s + step / self._per_second - self._now_s())
