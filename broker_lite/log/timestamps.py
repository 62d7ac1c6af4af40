"""Finding offsets by timestamp: the slow paths behind ListOffsets."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from broker_lite.errors import KafkaStorageError
from broker_lite.log.files import OpenFile
from broker_lite.log.index_checks import true_time_entry
from broker_lite.log.walk import BatchPosition, walk
from broker_lite.record.batch import CURRENT_MAGIC, MAGIC_OFFSET, RecordBatch
from broker_lite.record.legacy import LegacyMessage, LegacyRecord, iterate_legacy
from broker_lite.record.records import Record, iterate_records

if TYPE_CHECKING:
    from broker_lite.log.local_log import LocalLog
    from broker_lite.log.segment import LogSegment

LATEST: Final = -1
EARLIEST: Final = -2


class TimestampOffset(NamedTuple):
    """A record found by its timestamp; leader_epoch is that of its batch, -1 without one."""

    timestamp: int
    offset: int
    leader_epoch: int


def offset_for_timestamp(log: "LocalLog", timestamp: int) -> TimestampOffset | None:
    """Find the first record not older than a timestamp, in the first segment that reaches it.

    Rule: S-23 (UnifiedLog.searchOffsetInLocalLog).
    """
    try:
        for segment in log.segments:
            if segment is log.active and not segment.size_bytes:
                return None  # it may have no file yet
            if segment.largest_timestamp() >= timestamp:
                return _search(segment, timestamp, log.log_start_offset)
    except OSError as error:
        raise KafkaStorageError from error
    return None


def _search(segment: "LogSegment", timestamp: int, start_offset: int) -> TimestampOffset | None:
    """Rule: S-23 (LogSegment.findOffsetByTimestamp, FileRecords.searchForTimestamp)."""
    entry = true_time_entry(segment, timestamp)
    offset = segment.base_offset + (entry.value if entry is not None else 0)
    for place, records in _batches_from(segment, max(offset, start_offset)):
        if place.max_timestamp < timestamp or place.last_offset < start_offset:
            continue
        for record in records():
            if record.timestamp >= timestamp and record.offset >= start_offset:
                return TimestampOffset(record.timestamp, record.offset, place.leader_epoch)
    return None


def max_timestamp_offset(log: "LocalLog") -> TimestampOffset | None:
    """Find the first record with the largest timestamp of the log.

    Rule: S-24 (UnifiedLog.fetchOffsetByTimestamp, LogSegment).
    """
    try:
        segment = max(log.segments, key=lambda each: each.max_timestamp_entry()[0])
        if not segment.size_bytes:
            return None
        timestamp, offset = segment.max_timestamp_entry()
        for place, records in _batches_from(segment, offset):
            if place.max_timestamp != timestamp:
                continue
            for record in records():
                if record.timestamp == timestamp:
                    return TimestampOffset(timestamp, record.offset, place.leader_epoch)
    except OSError as error:
        raise KafkaStorageError from error
    return None


def offsets_before(log: "LocalLog", timestamp: int, max_offsets: int, now_ms: int) -> list[int]:
    """List offsets descending from the last candidate that is not younger than a timestamp.

    Rule: F-74 (UnifiedLog.legacyFetchOffsetsBefore).
    """
    try:
        candidates = [
            (max(segment.base_offset, log.log_start_offset), segment.modified_ms())
            for segment in log.segments
        ]
    except OSError as error:
        raise KafkaStorageError from error
    if log.active.size_bytes:
        candidates.append((log.log_end_offset, now_ms))
    if timestamp == LATEST:
        last = len(candidates) - 1
    elif timestamp == EARLIEST:
        last = 0
    else:
        fitting = [i for i, (_, time_ms) in enumerate(candidates) if time_ms <= timestamp]
        last = fitting[-1] if fitting else -1
    first = max(last - max(max_offsets, 0) + 1, 0)
    return sorted((offset for offset, _ in candidates[first : last + 1]), reverse=True)


class _LazyRecords:
    """The records of a batch of a file, which is read when they are called for."""

    __slots__ = ("_file", "_place")

    def __init__(self, file: OpenFile, place: BatchPosition) -> None:
        self._file = file
        self._place = place

    def __call__(self) -> Iterator[Record | LegacyRecord]:
        data = memoryview(self._file.read(self._place.size_bytes, self._place.position))
        if data[MAGIC_OFFSET] < CURRENT_MAGIC:
            return iterate_legacy(LegacyMessage(data, 0, len(data)))
        return iterate_records(RecordBatch(data, 0, len(data)))


def _batches_from(
    segment: "LogSegment", offset: int
) -> Iterator[tuple[BatchPosition, _LazyRecords]]:
    start, _ = segment.search_start(offset)
    file = segment.file()
    for place in walk(file, start, segment.size_bytes):
        yield place, _LazyRecords(file, place)
