"""When the requests of a load are due.

In an open loop request n is due at `start + n / rate`, whatever became of the requests before it.
So a broker that stalls meets all requests that clients would have sent meanwhile, and each of them
waits from the moment at which it was due. In a closed loop a request is due as soon as there is
room for it: a stall is one slow request, and the latencies are those of a saturated system.
"""

from typing import Final

from broker_lite.load.part import WHOLE, Part

_NS_PER_S: Final = 1_000_000_000
AT_ONCE: Final = 0
"""A moment that has passed for every clock."""


class Schedule:
    """The due times of requests 0, 1, 2 ... of this process.

    The requests of several processes are due in turns, so that together they keep the rate.

    Attributes:
        per_second: requests per second of all processes together; None for a closed loop.
    """

    def __init__(self, per_second: float | None, part: Part = WHOLE) -> None:
        """Keep the rate; begin() says when the first request is due.

        Args:
            per_second: of all processes together; None for a closed loop.
            part: which of the requests are those of this process.
        """
        self.per_second = per_second
        self._part = part
        self._start_ns = 0

    def begin(self, now_ns: int) -> None:
        """Let the first request of all processes be due now."""
        self._start_ns = now_ns

    @property
    def is_open(self) -> bool:
        """Whether requests are due by the clock."""
        return self.per_second is not None

    def due_ns(self, number: int) -> int:
        """Return when a request is due; AT_ONCE in a closed loop."""
        if self.per_second is None:
            return AT_ONCE
        of_all = number * self._part.count + self._part.index
        return self._start_ns + int(of_all * _NS_PER_S / self.per_second)

    def due_count(self, now_ns: int) -> int:
        """Return how many requests are due up to a moment; 0 in a closed loop."""
        if self.per_second is None or now_ns < self._start_ns:
            return 0
        of_all = int((now_ns - self._start_ns) * self.per_second / _NS_PER_S) + 1
        return self._part.size_of(of_all)
