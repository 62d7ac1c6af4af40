"""Limits the speed of a cleaning, and lets the event loop stop it."""

import math
from collections.abc import Callable
from threading import Event
from typing import Final

# No single wait is longer than this, however low the limit is.
_WAIT_MS_MAX: Final = 3_600_000


class CleaningStopped(Exception):
    """A cleaning was stopped: the broker stops, or the log should not be cleaned any more."""


class Pace:
    """Slows a worker thread down, so that it reads and writes at most `bytes_per_second`.

    Args:
        bytes_per_second: the limit; infinite for no limit.
        monotonic_ms: a clock that never jumps.
    """

    __slots__ = ("_begun_ms", "_bytes", "_monotonic_ms", "_stop", "bytes_per_second")

    def __init__(self, bytes_per_second: float, monotonic_ms: Callable[[], int]) -> None:
        self.bytes_per_second = bytes_per_second
        self._monotonic_ms = monotonic_ms
        self._stop = Event()
        self._begun_ms = monotonic_ms()
        self._bytes = 0

    def stop(self) -> None:
        """Stop the thread at its next call of spend(), or at once if it waits there."""
        self._stop.set()

    def spend(self, size_bytes: int) -> None:
        """Count bytes that were read or written, and wait until the limit allows them.

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
