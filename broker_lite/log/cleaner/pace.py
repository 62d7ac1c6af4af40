"""How fast a cleaning may go, and whether it is to go on at all."""

import math
from collections.abc import Callable
from threading import Event
from typing import Final

# However slow it is to be, no single wait is longer.
_WAIT_MS_MAX: Final = 3_600_000


class CleaningStopped(Exception):
    """A cleaning is given up: the broker stops, or the log is not to be cleaned any more."""


class Pace:
    """Holds a worker thread back so that it reads and writes no more than so many bytes a second.

    Args:
        bytes_per_second: infinite for no limit.
        monotonic_ms: a clock that nobody steps.
    """

    __slots__ = ("_begun_ms", "_bytes", "_monotonic_ms", "_stop", "bytes_per_second")

    def __init__(self, bytes_per_second: float, monotonic_ms: Callable[[], int]) -> None:
        self.bytes_per_second = bytes_per_second
        self._monotonic_ms = monotonic_ms
        self._stop = Event()
        self._begun_ms = monotonic_ms()
        self._bytes = 0

    def stop(self) -> None:
        """Let the thread give up at its next step, also while it is held back."""
        self._stop.set()

    def spend(self, size_bytes: int) -> None:
        """Wait until so many more bytes are due.

        Raises:
            CleaningStopped: stop() was called.

        See: S-80 (Throttler.maybeThrottle).
        """
        self._bytes += size_bytes
        if math.isfinite(self.bytes_per_second):
            due_ms = self._bytes * 1000 / self.bytes_per_second
            early_ms = due_ms - (self._monotonic_ms() - self._begun_ms)
            self._stop.wait(min(max(early_ms, 0), _WAIT_MS_MAX) / 1000)
        if self._stop.is_set():
            raise CleaningStopped
