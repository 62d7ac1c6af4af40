"""A deadline by the monotonic clock."""

import time


class Deadline:
    """A moment some seconds from its creation."""

    __slots__ = ("_end_s", "timeout_s")

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._end_s = time.monotonic() + timeout_s

    @property
    def remaining_s(self) -> float:
        """The remaining time; 0 after the deadline."""
        return max(0.0, self._end_s - time.monotonic())

    def pause(self, wait_s: float) -> bool:
        """Sleep before a retry, at most until the deadline; False at once if it has passed."""
        remaining_s = self.remaining_s
        if remaining_s <= 0:
            return False
        time.sleep(min(wait_s, remaining_s))
        return True
