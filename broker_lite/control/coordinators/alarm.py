"""The next deadline of all timers, for the one task that sleeps until then."""

import math
from collections.abc import Callable


def _do_nothing() -> None:
    """The default callback: does nothing, because no task sleeps yet."""


class Alarm:
    """Knows until when the task sleeps, and wakes it for an earlier deadline.

    The task calls `sleep_until` before it sleeps. The owner of a new deadline calls `due_at`. When
    the clock is stepped, `wake` is called.
    """

    __slots__ = ("_until_ms", "wake")

    def __init__(self) -> None:
        self.wake: Callable[[], object] = _do_nothing
        self._until_ms = -math.inf

    def sleep_until(self, deadline_ms: int | None) -> None:
        """Note that the task sleeps until a deadline, so earlier ones wake it; None for ever."""
        self._until_ms = math.inf if deadline_ms is None else deadline_ms

    def due_at(self, deadline_ms: int | None) -> None:
        """Wake the task if a deadline is before the end of its sleep; None is no deadline."""
        if deadline_ms is not None and deadline_ms < self._until_ms:
            self._until_ms = deadline_ms
            self.wake()
