"""Shows the progress of a recovery of many logs: a bar on a terminal, otherwise lines in the log.

Worker threads recover the logs; each log has a PartitionWatch. The thread that waits for them calls
tell() again and again.
"""

import logging
import sys
from collections.abc import Callable
from typing import Final, TextIO

from broker_lite.log.recovery.load_watch import LoadStopped

logger = logging.getLogger("broker_lite.log")

QUIET_MS: Final = 1000
_TERMINAL_INTERVAL_MS: Final = 200
_LOG_INTERVAL_MS: Final = 5000
_BAR_LETTERS: Final = 20
_CLEAR_LINE: Final = "\r\x1b[K"
_MB: Final = 1_000_000


class PartitionWatch:
    """The progress of one log's recovery; the worker thread writes it, the waiting thread reads it.

    Attributes:
        begun_ms: when the recovery of this log began; -1 before that and after its end.
        told_ms: when the last line about this log was written; at first the same as begun_ms.
    """

    __slots__ = (
        "_progress",
        "begun_ms",
        "name",
        "read_bytes",
        "segment_count",
        "segments_done",
        "size_bytes",
        "told_ms",
    )

    def __init__(self, progress: "RecoveryProgress", name: str) -> None:
        self._progress = progress
        self.name = name
        self.begun_ms = self.told_ms = -1
        self.segment_count = self.segments_done = 0
        self.size_bytes = self.read_bytes = 0

    def begin(self) -> None:
        """Note that the recovery of this log begins now.

        Raises:
            LoadStopped: stop() was called.
        """
        self._progress.check()
        self.begun_ms = self.told_ms = self._progress.now_ms()

    def expect(self, segment_count: int, size_bytes: int) -> None:
        """See LoadWatch."""
        self.segment_count += segment_count
        self.size_bytes += size_bytes

    def read(self, size_bytes: int) -> None:
        """See LoadWatch.

        Raises:
            LoadStopped: stop() was called.
        """
        self.read_bytes += size_bytes
        self._progress.check()

    def finish_segment(self) -> None:
        """See LoadWatch."""
        self.segments_done += 1

    def log(self, event: str, now_ms: int) -> None:
        """Write a line about this log's recovery."""
        self.told_ms = now_ms
        elapsed_ms = max(now_ms - self.begun_ms, 1)
        logger.info(
            "%s partition=%s segments=%d/%d mb_per_s=%d left_mb=%d elapsed_ms=%d",
            event,
            self.name,
            self.segments_done,
            self.segment_count,
            self.read_bytes * 1000 // elapsed_ms // _MB,
            max(self.size_bytes - self.read_bytes, 0) // _MB,
            elapsed_ms,
        )


class RecoveryProgress:
    """Shows the progress of all logs.

    Short recoveries show nothing: the bar appears after a second, a line about a log after the log
    has taken a second.
    """

    def __init__(self, now_ms: Callable[[], int], stream: TextIO | None = None) -> None:
        """Begin to measure the time.

        Args:
            now_ms: a clock; only differences between its values are used.
            stream: where the bar goes if it is a terminal; None is standard error.
        """
        self.now_ms = now_ms
        self._stream = stream or sys.stderr
        self._on_terminal = self._stream.isatty()
        self._watches: list[PartitionWatch] = []
        self._done_count = 0
        self._is_stopped = False
        self._is_shown = False
        self._begun_ms = now_ms()
        self._next_ms = self._begun_ms + QUIET_MS

    def watch(self, name: str) -> PartitionWatch:
        """Return a new watch for one partition."""
        watch = PartitionWatch(self, name)
        self._watches.append(watch)
        return watch

    def stop(self) -> None:
        """Stop the recovery of each log at its next read."""
        self._is_stopped = True

    def check(self) -> None:
        """Do nothing, unless stop() was called.

        Raises:
            LoadStopped: stop() was called.
        """
        if self._is_stopped:
            raise LoadStopped

    def finish(self, watch: PartitionWatch) -> None:
        """Count a partition as done; write a line if it took long."""
        self._done_count += 1
        now_ms = self.now_ms()
        if watch.begun_ms >= 0 and now_ms - watch.begun_ms >= QUIET_MS:
            self.clear()
            watch.log("recovered", now_ms)
        # not running any more; its counts are still needed for the bar
        watch.begun_ms = -1

    def tell(self) -> None:
        """Show the progress, unless it was shown a moment ago."""
        now_ms = self.now_ms()
        if self._on_terminal:
            if now_ms >= self._next_ms:
                self._next_ms = now_ms + _TERMINAL_INTERVAL_MS
                self._is_shown = True
                self._stream.write(_CLEAR_LINE + self._bar(now_ms))
                self._stream.flush()
            return
        for watch in self._watches:
            quiet_ms = QUIET_MS if watch.told_ms == watch.begun_ms else _LOG_INTERVAL_MS
            if watch.begun_ms >= 0 and now_ms - watch.told_ms >= quiet_ms:
                watch.log("recovering", now_ms)

    def _bar(self, now_ms: int) -> str:
        count = len(self._watches)
        # The size of a log is known once its recovery begins. The logs that wait are taken to be as
        # large as the average of the others.
        size_bytes = sum(watch.size_bytes for watch in self._watches)
        read_bytes = sum(min(watch.read_bytes, watch.size_bytes) for watch in self._watches)
        begun = [watch for watch in self._watches if watch.told_ms >= 0]
        share = read_bytes / max(size_bytes, 1) * len(begun) / max(count, 1)
        filled = int(share * _BAR_LETTERS)
        running = next((watch.name for watch in begun if watch.begun_ms >= 0), "")
        rate = read_bytes * 1000 // max(now_ms - self._begun_ms, 1) // _MB
        return (
            f"recovering [{'#' * filled:.<{_BAR_LETTERS}}] {int(share * 100)} %,"
            f" {self._done_count}/{count} partitions, {rate} MB/s {running}"
        )

    def clear(self) -> None:
        """Remove the bar from the terminal."""
        if self._is_shown:
            self._is_shown = False
            self._stream.write(_CLEAR_LINE)
            self._stream.flush()
