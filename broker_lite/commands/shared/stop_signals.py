"""Delays SIGINT and SIGTERM until a command waits, so that they do not interrupt its work.

SIGINT raises KeyboardInterrupt, SIGTERM raises SystemExit. After a grace period the command ends
anyway: nobody may read a full pipe, or a broker may not respond.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, NoReturn, Self

GRACE_S: Final = 3.0
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class StopSignals:
    """Handles the signals within the context.

    A signal takes effect only within welcome(). A second signal, or the end of the grace period
    that the first one starts, takes effect anywhere.
    """

    def __init__(self, grace_s: float = GRACE_S) -> None:
        self._grace_s = grace_s
        self._before: dict[int, Any] = {}
        self._timer_before: tuple[float, float] = (0, 0)
        self._arrived: int | None = None
        self._is_welcome = False

    @contextmanager
    def welcome(self) -> Iterator[None]:
        """Let a signal take effect in this block, also one that arrived before.

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
