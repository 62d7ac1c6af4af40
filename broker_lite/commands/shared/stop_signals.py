"""Signals that end a command while it waits, not in the middle of what is to be done as a whole.

SIGINT is KeyboardInterrupt as ever, SIGTERM is SystemExit. What does not come to its end in time,
because a pipe is full that nobody reads or a broker does not answer, is ended all the same.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, NoReturn, Self

GRACE_S: Final = 3.0
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class StopSignals:
    """Takes the signals for as long as the context lasts.

    They are held back, but for what is done within `welcome()`; a second one, or the end of the
    grace period that the first one begins, ends anything.
    """

    def __init__(self, grace_s: float = GRACE_S) -> None:
        self._grace_s = grace_s
        self._before: dict[int, Any] = {}
        self._timer_before: tuple[float, float] = (0, 0)
        self._arrived: int | None = None
        self._is_welcome = False

    @contextmanager
    def welcome(self) -> Iterator[None]:
        """Let a signal end what is done here, also one that came before.

        Raises:
            KeyboardInterrupt: on SIGINT.
            SystemExit: on SIGTERM.
        """
        self._is_welcome = True
        try:
            if self._arrived is not None:
                _stop(self._arrived)
            yield
        finally:
            self._is_welcome = False

    def _take(self, number: int, _frame: FrameType | None) -> None:
        is_second = self._arrived is not None
        self._arrived = number
        if not is_second:
            self._before[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._end)
            self._timer_before = signal.setitimer(signal.ITIMER_REAL, self._grace_s)
        if self._is_welcome or is_second:
            self._is_welcome = False
            _stop(number)

    def _end(self, _number: int, _frame: FrameType | None) -> NoReturn:
        assert self._arrived is not None
        _stop(self._arrived)

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._take) for number in _SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        if self._arrived is not None:
            signal.setitimer(signal.ITIMER_REAL, *self._timer_before)
        for number, before in self._before.items():
            signal.signal(number, before)


def _stop(number: int) -> NoReturn:
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)
