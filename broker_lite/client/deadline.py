"""A moment until which something may take."""

import time


class Deadline:
    """So many seconds from now on, whatever is done meanwhile."""

    __slots__ = ("_end_s", "timeout_s")

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._end_s = time.monotonic() + timeout_s

    @property
    def remaining_s(self) -> float:
        """How long it still is; 0 when it is over."""
        return max(0.0, self._end_s - time.monotonic())

    def pause(self, wait_s: float) -> bool:
        """Sleep before another try, at most until the end; False, at once, when it is over."""
        remaining_s = self.remaining_s
        if remaining_s <= 0:
            return False
        time.sleep(min(wait_s, remaining_s))
        return True
