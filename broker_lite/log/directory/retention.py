"""Retention: finds the oldest segments that are due, and removes them from all logs.

As in Kafka, segments are due for three reasons, in this order: they lie below the log start offset,
the log is too large, they are too old. Retention always begins at the oldest segment and stops at
the first one that stays. So a log never becomes smaller than retention.bytes, and a segment with a
timestamp in the future keeps itself and all segments after it.

A log that is not loaded is not loaded for this check either. A worker thread reads what retention
needs to know about its oldest segment. Once is enough, because nothing writes to such a log. It is
loaded only when that segment is due.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

from broker_lite.errors import BrokerError, cause_of
from broker_lite.log.directory.idle import IdleLog, IdleSegments, read_idle_segments
from broker_lite.log.directory.partitions import Partition
from broker_lite.log.files.segment import LogSegment
from broker_lite.log.log import Log
from broker_lite.log.removal import REMOVED_AT_A_TIME, SegmentRemoval

logger = logging.getLogger("broker_lite.log")

# To check a log takes about 3 us, so this holds the event loop for less than half a millisecond.
_LOGS_AT_A_TIME: Final = 128
_READ_AT_A_TIME: Final = 256


Ageing: TypeAlias = Log | IdleLog


class Due(NamedTuple):
    """How many of the oldest segments are due, and the reason for the first one."""

    segment_count: int
    reason: str


def due_segments(log: Ageing, now_ms: int) -> Due:
    """Return how many of the oldest segments are due; an empty active segment never is.

    Raises:
        OSError: a file cannot be read.

    Rule: S-50, S-51, S-90 (UnifiedLog.deleteOldSegments).
    """
    segments, config = _segments_of(log), log.config
    below = 0
    while below < len(segments) - 1 and segments[below + 1].base_offset <= log.log_start_offset:
        below += 1
    if not config.cleanup_delete:
        return Due(below, "log start")
    end = _deletable_count(log)
    surplus = below
    if config.retention_bytes >= 0:
        over_bytes = sum(each.size_bytes for each in segments[below:]) - config.retention_bytes
        while surplus < end and over_bytes >= segments[surplus].size_bytes:
            over_bytes -= segments[surplus].size_bytes
            surplus += 1
    old = surplus
    if config.retention_ms >= 0:
        while old < end and now_ms - segments[old].largest_timestamp() > config.retention_ms:
            old += 1
    return Due(old, "log start" if below else "size" if surplus else "time")


def _deletable_count(log: Ageing) -> int:
    """Return how many segments may be removed at most.

    The limit is the high watermark, because the log start offset must not pass it.

    Rule: S-50 (UnifiedLog.deletableSegments).
    """
    segments, high_watermark = _segments_of(log), log.high_watermark
    count = len(segments)
    if not segments[-1].size_bytes or log.log_end_offset > high_watermark:
        count -= 1
    while 0 < count < len(segments) and segments[count].base_offset > high_watermark:
        count -= 1
    return count


def _segments_of(log: Ageing) -> Sequence[LogSegment] | IdleSegments:
    return log.segments if isinstance(log, IdleLog) else log.segments.all


class Retention:
    """Checks all logs of a data directory except the metadata log."""

    __slots__ = ("_directory", "_load", "_now_ms", "_partitions", "_removal")

    def __init__(
        self,
        partitions: Mapping[tuple[str, int], Partition],
        removal: SegmentRemoval,
        load: Callable[[str, int], Log],
        directory: Callable[[str, int], str],
        now_ms: Callable[[], int],
    ) -> None:
        """Store the arguments.

        Args:
            partitions: those of the data directory; a live view that its owner changes.
            removal: removes segments from logs.
            load: returns the log of a partition, and loads it if needed.
            directory: returns a partition's directory.
            now_ms: the clock.
        """
        self._partitions = partitions
        self._removal = removal
        self._load = load
        self._directory = directory
        self._now_ms = now_ms

    def unread(self) -> Iterator[list[tuple[str, int]]]:
        """Yield the partitions that read() has to read: not loaded, and not read yet.

        They come in small groups, because a stop of the broker waits for a call of read() to end.
        """
        keys = (key for key, entry in list(self._partitions.items()) if _is_unread(entry))
        while chunk := list(islice(keys, _READ_AT_A_TIME)):
            yield chunk

    def read(self, keys: Iterable[tuple[str, int]]) -> None:
        """Read sizes and timestamps of logs that are not loaded; may run in a worker thread.

        The next check tries a directory again that could not be read.
        """
        for topic, partition in keys:
            entry = self._partitions.get((topic, partition))
            if entry is None or not _is_unread(entry):
                continue
            try:
                entry.idle = read_idle_segments(self._directory(topic, partition))
            except OSError as error:
                told = "retention did not check topic=%s-%d reason=%s"
                logger.warning(told, topic, partition, error)

    def steps(self) -> Iterator[None]:
        """Check all logs in short steps; between two steps, the event loop has a turn.

        An error is logged, and the check goes on with the next log.

        Rule: S-50 (LogManager.cleanupLogs).
        """
        now_ms = self._now_ms()
        for number, (key, entry) in enumerate(list(self._partitions.items()), 1):
            if number % _LOGS_AT_A_TIME == 0:
                yield
            topic, partition = key
            try:
                # since the last step, the topic may have been deleted and created again
                if self._partitions.get(key) is entry and self._may_be_due(entry, now_ms):
                    yield from self._remove_due(self._load(topic, partition), now_ms)
            except (BrokerError, OSError) as error:
                reason = cause_of(error)
                logger.error("retention failed topic=%s-%d reason=%s", topic, partition, reason)

    def _may_be_due(self, entry: Partition, now_ms: int) -> bool:
        if entry.log is not None:
            return True
        if not (entry.idle and entry.is_clean):
            return False
        idle = IdleLog(entry.idle, entry.config, entry.log_start_offset or 0)
        return due_segments(idle, now_ms).segment_count > 0

    def _remove_due(self, log: Log, now_ms: int) -> Iterator[None]:
        while not _is_out_of_use(log):
            due = due_segments(log, now_ms)
            if not due.segment_count:
                return
            segment_count = min(due.segment_count, REMOVED_AT_A_TIME)
            self._removal.remove_oldest(log, segment_count)
            logger.info(
                "segments deleted topic=%s-%d count=%d reason=%s log_start_offset=%d",
                log.topic,
                log.partition,
                segment_count,
                due.reason,
                log.log_start_offset,
            )
            yield


def _is_unread(entry: Partition) -> bool:
    return entry.idle is None and entry.log is None and entry.is_clean and not entry.is_new


def _is_out_of_use(log: Log) -> bool:
    is_offline = log.flusher.offline_reason is not None
    return is_offline or log.is_deleted or log.segments.is_being_cleaned
