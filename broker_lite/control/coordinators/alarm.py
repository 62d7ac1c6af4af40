"""The next moment at which something is due, for one task that sleeps until then."""

import math
from collections.abc import Callable


def _nobody() -> None:
    """Be the sleeper before there is one."""


class Alarm:
    """Knows until when somebody sleeps, and wakes them for anything earlier.

    The sleeper says `sleep_until` before it sleeps; whoever gets a new deadline says `due_at`, and
    whoever steps the clock calls `wake`.
    """

    __slots__ = ("_until_ms", "wake")

    def __init__(self) -> None:
        self.wake: Callable[[], object] = _nobody
        self._until_ms = -math.inf

    def sleep_until(self, deadline_ms: int | None) -> None:
        """Nothing has to be told before this time; None is for ever."""
        self._until_ms = math.inf if deadline_ms is None else deadline_ms

    def due_at(self, deadline_ms: int | None) -> None:
        """Something is due at this time; None is for nothing."""
        if deadline_ms is not None and deadline_ms < self._until_ms:
            self._until_ms = deadline_ms
            self.wake()
