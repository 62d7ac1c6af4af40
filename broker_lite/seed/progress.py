"""Shows the progress of a seed on a terminal, else in the log."""

import logging
import sys
from typing import Final, TextIO

from broker_lite.control.clock import Clock
from broker_lite.seed.lines import Lines

QUIET_MS: Final = 1000
_TERMINAL_INTERVAL_MS: Final = 200
_LOG_INTERVAL_MS: Final = 5000
_CLEAR_LINE: Final = "\r\x1b[K"

_log = logging.getLogger("broker_lite.seed")


class Progress:
    """Shows nothing in the first second; then a changing line, or a log line every few seconds."""

    def __init__(self, lines: Lines, clock: Clock, stream: TextIO | None = None) -> None:
        """Start the clock.

        Args:
            lines: the file that is read.
            clock: of the process.
            stream: None means standard error; a terminal gets the changing line.
        """
        self._lines = lines
        self._clock = clock
        self._stream = stream or sys.stderr
        self._on_terminal = self._stream.isatty()
        self._begun_ms = clock.monotonic_ms()
        self._next_ms = self._begun_ms + QUIET_MS
        self._is_shown = False

    @property
    def elapsed_ms(self) -> int:
        """The time since the start."""
        return self._clock.monotonic_ms() - self._begun_ms

    def tell(self, record_count: int) -> None:
        """Show the progress, if the interval has passed."""
        now_ms = self._clock.monotonic_ms()
        if now_ms < self._next_ms:
            return
        percent = self._lines.bytes_read * 100 // max(self._lines.size_bytes, 1)
        rate = record_count * 1000 // max(now_ms - self._begun_ms, 1)
        if self._on_terminal:
            self._next_ms = now_ms + _TERMINAL_INTERVAL_MS
            self._is_shown = True
            line = f"{self._lines.path}: {percent} %, {record_count:,} records, {rate:,} records/s"
            self._stream.write(_CLEAR_LINE + line)
            self._stream.flush()
        else:
            self._next_ms = now_ms + _LOG_INTERVAL_MS
            _log.info("seeding percent=%d records=%d records_per_s=%d", percent, record_count, rate)

    def end(self) -> None:
        """Clear the changing line."""
        if self._is_shown:
            self._is_shown = False
            self._stream.write(_CLEAR_LINE)
            self._stream.flush()
