"""Finds which part of a log can be cleaned, and whether it is worth it. Runs in the event loop.

Rule: S-80, S-81 (LogCleanerManager.cleanableOffsets, LogCleanerManager.grabFilthiestCompactedLog).
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from broker_lite.log.config import LogConfig
from broker_lite.log.files.segment import LogSegment
from broker_lite.log.files.walk import walk
from broker_lite.log.log import Log

_NEVER_MS: Final = (1 << 63) - 1


class Cleanable(NamedTuple):
    """The part of a log that can be cleaned.

    Attributes:
        log: the log.
        first_dirty: offsets below it were cleaned already.
        end_offset: base offset of the first segment that cannot be cleaned.
        clean_bytes: size of the segments before first_dirty.
        cleanable_bytes: size of the segments from first_dirty to end_offset.
        is_overdue: a record has waited longer than max.compaction.lag.ms.
    """

    log: Log
    first_dirty: int
    end_offset: int
    clean_bytes: int
    cleanable_bytes: int
    is_overdue: bool

    @property
    def ratio(self) -> float:
        """The share of the bytes that is not cleaned yet, from 0 to 1."""
        return self.cleanable_bytes / max(self.clean_bytes + self.cleanable_bytes, 1)

    @property
    def is_due(self) -> bool:
        """Whether the log should be cleaned now: it is dirty enough, or overdue.

        Rule: S-81 (LogCleanerManager.grabFilthiestCompactedLog).
        """
        if not self.cleanable_bytes:
            return False
        return self.is_overdue or self.ratio > self.log.config.min_cleanable_dirty_ratio


def find_cleanable(log: Log, checkpoint: int | None, now_ms: int) -> Cleanable:
    """Return the part of a log that can be cleaned.

    Args:
        log: a loaded log.
        checkpoint: the offset that the last cleaning reached, None before the first one.
        now_ms: the time, for the compaction lags.

    Raises:
        CorruptMessage: a segment does not begin with a batch.
        OSError: a file cannot be read.

    Rule: S-80 (LogCleanerManager.cleanableOffsets, LogToClean).
    """
    start, segments = log.log_start_offset, log.segments.all
    first_dirty = start if checkpoint is None else checkpoint
    if not start <= first_dirty <= log.log_end_offset:
        first_dirty = start
    inactive = segments[:-1]
    dirty = _from_offset(inactive, segments[1:], first_dirty)
    end_offset = _first_uncleanable(log, dirty, now_ms)
    return Cleanable(
        log,
        first_dirty,
        end_offset,
        sum(one.size_bytes for one in inactive if one.base_offset < first_dirty),
        sum(one.size_bytes for one in dirty if first_dirty < end_offset > one.base_offset),
        _is_overdue(dirty, log.config, now_ms),
    )


def _from_offset(
    inactive: Sequence[LogSegment], following: Sequence[LogSegment], offset: int
) -> list[LogSegment]:
    """Return the segments from the one that contains the offset.

    Rule: S-80 (LogSegments.nonActiveLogSegmentsFrom).
    """
    pairs = zip(inactive, following, strict=True)
    return [one for one, after in pairs if after.base_offset > offset]


def _first_uncleanable(log: Log, dirty: Sequence[LogSegment], now_ms: int) -> int:
    """Return the base offset of the first segment that cannot be cleaned.

    Rule: S-80 (LogCleanerManager.cleanableOffsets, calculateCleanableBytes).
    """
    limit = min(log.last_stable_offset, log.segments.active.base_offset)
    lag_ms = log.config.min_compaction_lag_ms
    if lag_ms > 0:
        young = (one for one in dirty if one.largest_timestamp() > now_ms - lag_ms)
        first = next(young, None)
        if first is not None:
            limit = min(limit, first.base_offset)
    return log.segments.holding(limit).base_offset


def _is_overdue(dirty: Sequence[LogSegment], config: LogConfig, now_ms: int) -> bool:
    """Rule: S-81 (LogCleanerManager.maxCompactionDelay)."""
    if config.max_compaction_lag_ms == _NEVER_MS:
        return False
    times = (_first_timestamp(segment) for segment in dirty)
    oldest = min((time for time in times if time > 0), default=_NEVER_MS)
    return oldest < now_ms - config.max_compaction_lag_ms


def _first_timestamp(segment: LogSegment) -> int:
    """Return the largest timestamp of a segment's first batch.

    Rule: S-81 (LogSegment.getFirstBatchTimestamp).
    """
    if segment.rolling_timestamp < 0 and segment.size_bytes:
        first = next(walk(segment.file(), 0, segment.size_bytes), None)
        segment.rolling_timestamp = first.max_timestamp if first is not None else -1
    return segment.rolling_timestamp
