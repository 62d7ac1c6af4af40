"""A progress bar on the terminal: share, rate and remaining time.

It counts bytes, or something else.

It is one changing line on standard error; there is none if that is not a terminal.
"""

import sys
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self, TextIO

from broker_lite.control.clock import Clock
from broker_lite.pipeline.report.text import size_text

_INTERVAL_MS: Final = 100
_QUIET_MS: Final = 300
_CELLS: Final = 24
_CLEAR_LINE: Final = "\r\x1b[K"


class ProgressBar:
    """Counts bytes; leaving the context clears the line."""

    def __init__(
        self,
        title: str,
        total_bytes: int,
        *,
        is_wanted: bool = True,
        formatted: Callable[[int], str] = size_text,
        stream: TextIO | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Start at 0; the bar appears only after a moment.

        Args:
            title: one word.
            total_bytes: the expected total.
            is_wanted: whether to show a bar at all.
            formatted: prints what is done in a second; default: bytes.
            stream: None means standard error.
            clock: None means the machine's clock.
        """
        self._title = title
        self._formatted = formatted
        self._total_bytes = total_bytes
        self._stream = stream or sys.stderr
        self._clock = clock or Clock()
        self._on_terminal = is_wanted and self._stream.isatty()
        self._begun_ms = self._clock.monotonic_ms()
        self._next_ms = self._begun_ms + _QUIET_MS
        self._done_bytes = 0
        self._is_shown = False

    def add(self, size_bytes: int, where: str = "") -> None:
        """Add to the count, and set the text behind the bar."""
        self._done_bytes += size_bytes
        self.tell(self._done_bytes, where)

    def tell(self, done_bytes: int, where: str = "") -> None:
        """Set the count and the text behind the bar."""
        self._done_bytes = done_bytes
        if not self._on_terminal:
            return
        now_ms = self._clock.monotonic_ms()
        if now_ms < self._next_ms:
            return
        self._next_ms = now_ms + _INTERVAL_MS
        self._is_shown = True
        line = self._line(max(now_ms - self._begun_ms, 1), where)
        self._stream.write(f"{_CLEAR_LINE}{line}\r")
        self._stream.flush()

    def _line(self, elapsed_ms: int, where: str) -> str:
        done, total = self._done_bytes, max(self._total_bytes, self._done_bytes, 1)
        filled = _CELLS * done // total
        rate = done * 1000 // elapsed_ms
        left_s = (total - done) // max(rate, 1)
        bar = "#" * filled + "." * (_CELLS - filled)
        left = f"{left_s // 60}:{left_s % 60:02d} left"
        percent = done * 100 // total
        return f"{self._title} [{bar}] {percent} %  {self._formatted(rate)}/s  {left}  {where}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._is_shown:
            self._is_shown = False
            self._stream.write(_CLEAR_LINE)
            self._stream.flush()
