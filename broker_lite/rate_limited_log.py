"""Limits log lines that clients can cause: writes the first of a kind and counts the others.

Otherwise a client that is refused in a loop would fill the disk with the same line. The caller
makes a key for each kind, for instance from an error and a client's address. In each interval the
first few lines of a kind are written; at its end, one line has the number of omitted ones. The
lines of all kinds together are limited, and so is the number of kinds, because a client could
invent kinds, for instance by a new client id in each request. For use in one thread.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

Key: TypeAlias = tuple[str | int, ...]
"""Identifies a kind of line; printed with the count of omitted lines."""

LINES_MAX: Final = 5
ALL_LINES_MAX: Final = 100
INTERVAL_MS: Final = 10_000
KINDS_MAX: Final = 1_000
COUNT_LINES_MAX: Final = 10
_OTHERS: Final[Key] = ("others",)


class _Kind:
    """The counts of one kind of line within the interval."""

    __slots__ = ("left_out", "level", "logger", "written")

    def __init__(self, logger: logging.Logger, level: int) -> None:
        self.logger = logger
        self.level = level
        self.written = 0
        self.left_out = 0


class RateLimitedLog:
    """Decides for each line whether to write it; there is one for the whole node."""

    __slots__ = ("_all_written", "_end_ms", "_kinds", "_monotonic_ms")

    def __init__(self, monotonic_ms: Callable[[], int]) -> None:
        """Start without any counts.

        Args:
            monotonic_ms: the broker's clock.
        """
        self._monotonic_ms = monotonic_ms
        self._kinds: dict[Key, _Kind] = {}
        self._all_written = 0
        self._end_ms = 0

    def write(
        self,
        logger: logging.Logger,
        level: int,
        key: Key,
        message: str,
        *args: object,
        exc_info: BaseException | None = None,
        extra: Mapping[str, object] | None = None,
    ) -> None:
        """Write or count a line.

        Args:
            logger: gets the line.
            level: a line below the logger's level is neither written nor counted.
            key: the key of the line's kind; texts from clients in it must be short.
            message: a format for args, as in logging.
            args: formatted only when the line is written.
            exc_info: as in logging.
            extra: as in logging.
        """
        if self.admits(logger, level, key):
            logger.log(level, message, *args, exc_info=exc_info, extra=extra)

    def admits(self, logger: logging.Logger, level: int, key: Key) -> bool:
        """Return whether the caller may write a line now; if not, count it as omitted."""
        if not logger.isEnabledFor(level):
            return False
        self.write_counts()
        kinds = self._kinds
        if not kinds:
            self._end_ms = self._monotonic_ms() + INTERVAL_MS
        kind = kinds.get(key)
        if kind is None:
            if len(kinds) >= KINDS_MAX:
                key = _OTHERS
            kind = kinds.setdefault(key, _Kind(logger, level))
        if kind.written == LINES_MAX or self._all_written == ALL_LINES_MAX:
            kind.left_out += 1
            return False
        kind.written += 1
        self._all_written += 1
        return True

    def write_counts(self, *, now: bool = False) -> None:
        """Log the counts of omitted lines if the interval is over; call it from time to time.

        Args:
            now: do not wait for the end of the interval, because the broker stops.
        """
        if not self._kinds or not (now or self._monotonic_ms() >= self._end_ms):
            return
        kinds, self._kinds, self._all_written = self._kinds, {}, 0
        left_out = [(key, kind) for key, kind in kinds.items() if kind.left_out]
        left_out.sort(key=lambda found: found[1].left_out, reverse=True)
        for key, kind in left_out[:COUNT_LINES_MAX]:
            like = " ".join(map(str, key))
            kind.logger.log(
                kind.level, "more such lines were left out count=%d like=%s", kind.left_out, like
            )
        rest = [kind for _, kind in left_out[COUNT_LINES_MAX:]]
        if rest:
            count = sum(kind.left_out for kind in rest)
            rest[0].logger.log(
                max(kind.level for kind in rest),
                "more lines were left out count=%d kinds=%d",
                count,
                len(rest),
            )
