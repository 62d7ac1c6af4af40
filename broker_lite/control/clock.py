"""The one clock of a broker, handed down; nothing else asks the time.

Two readings: milliseconds since the epoch for what is stored or sent, monotonic milliseconds for
how long something took or may take. Both can be stepped forward, by a test or by the control API.
"""

import time

from typing_extensions import override

_NS_PER_MS = 1_000_000


class Clock:
    """The machine's time plus what it has been stepped by."""

    __slots__ = ("_stepped_ms",)

    def __init__(self) -> None:
        self._stepped_ms = 0

    def now_ms(self) -> int:
        """Milliseconds since the epoch; follows the machine's clock, so it may go backwards."""
        return time.time_ns() // _NS_PER_MS + self._stepped_ms

    def monotonic_ms(self) -> int:
        """Milliseconds since an arbitrary moment; never goes backwards."""
        return time.monotonic_ns() // _NS_PER_MS + self._stepped_ms

    def step(self, step_ms: int) -> None:
        """Move both readings forward.

        Args:
            step_ms: at least 0; steps add up.

        Raises:
            ValueError: step_ms is negative.
        """
        if step_ms < 0:
            raise ValueError(f"a clock cannot be stepped back, by {step_ms} ms")
        self._stepped_ms += step_ms


class ManualClock(Clock):
    """A clock that stands still until it is stepped."""

    __slots__ = ("_start_ms",)

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        super().__init__()
        self._start_ms = now_ms

    @override
    def now_ms(self) -> int:
        return self._start_ms + self._stepped_ms

    @override
    def monotonic_ms(self) -> int:
        return self._stepped_ms
