"""A stopwatch that can be read while it runs."""

from time import monotonic
from typing import Final

_STOPPED: Final = -1.0


class Stopwatch:
    """Adds up how long something has gone on, in seconds of a clock that never goes back."""

    __slots__ = ("_since_s", "_sum_s")

    def __init__(self) -> None:
        """Begin with nothing, stopped."""
        self._sum_s = 0.0
        self._since_s = _STOPPED

    @property
    def is_running(self) -> bool:
        """Whether it was started and not stopped."""
        return self._since_s != _STOPPED

    def start(self) -> None:
        """Go on from now."""
        self._since_s = monotonic()

    def stop(self) -> None:
        """Stand still from now; it must have been started."""
        self._sum_s += monotonic() - self._since_s
        self._since_s = _STOPPED

    def run(self, goes_on: bool) -> None:
        """Go on or stand still from now, whichever it did before."""
        if goes_on is not self.is_running:
            if goes_on:
                self.start()
            else:
                self.stop()

    def seconds(self) -> float:
        """Return the sum so far, with the time since it was started if it runs."""
        if self._since_s == _STOPPED:
            return self._sum_s
        return self._sum_s + monotonic() - self._since_s
