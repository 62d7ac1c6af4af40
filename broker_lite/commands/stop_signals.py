"""Signals that end a command while it waits, never in the middle of what must be done as a whole.

SIGINT is KeyboardInterrupt as ever, SIGTERM is SystemExit.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Final, NoReturn, Self

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class StopSignals:
    """Takes the signals for as long as the context lasts.

    They are held back but for what is done within `welcome()`; a second one ends anything.
    """

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
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
        if self._is_welcome or is_second:
            self._is_welcome = False
            _stop(number)

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._take) for number in _SIGNALS}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)


def _stop(number: int) -> NoReturn:
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)
