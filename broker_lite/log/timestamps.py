"""Finds offsets by timestamp, for ListOffsets; this reads and decompresses batches."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from broker_lite.errors import KafkaStorageError
from broker_lite.log.files.index_checks import true_time_entry
from broker_lite.log.files.open_file import OpenFile
from broker_lite.log.files.segment import LogSegment
from broker_lite.log.files.walk import BatchPosition, walk
from broker_lite.log.log import Log
from broker_lite.log.validate.produced_batch import AT_ONCE_BYTES_MAX, AT_ONCE_PARTS_MAX
from broker_lite.log.validate.validated import TakesLong
from broker_lite.record.batch import CURRENT_MAGIC, MAGIC_OFFSET, RecordBatch
from broker_lite.record.codecs.decompressed import UNBOUNDED, Bounds
from broker_lite.record.legacy.messages import LegacyMessage, LegacyRecord, iterate_legacy
from broker_lite.record.loops.first_record import FirstRecord
from broker_lite.record.loops.scan_status import scan_error
from broker_lite.record.records import read_content

AT_ONCE_FILE_BYTES_MAX: Final = 512 * 1024
"""The event loop does not read larger batches."""
AT_ONCE_BATCHES_MAX: Final = 1000
LATEST: Final = -1
EARLIEST: Final = -2


class TimestampOffset(NamedTuple):
    """A record that was found by its timestamp; leader_epoch is -1 if its batch has none."""

    timestamp: int
    offset: int
    leader_epoch: int


class HeavyBatch(Exception):
    """A batch takes too long for the event loop, or too many came before it.

    Args:
        candidate: searches the batch; for a thread.
        next_offset: where to go on if the batch does not hold the record.
    """

    def __init__(self, candidate: "Candidate", next_offset: int) -> None:
        super().__init__(next_offset)
        self.candidate = candidate
        self.next_offset = next_offset


def offset_for_timestamp(
    log: Log, timestamp: int, *, from_offset: int = 0, at_once: bool = False
) -> TimestampOffset | None:
    """Find the first record not older than a timestamp, in the first segment that reaches it.

    Args:
        log: to search.
        timestamp: of any long; below 0 also records without a timestamp are found.
        from_offset: records below it were searched before.
        at_once: the caller has little time, as the event loop.

    Raises:
        HeavyBatch: with at_once, a batch takes long.
        KafkaStorageError: a file cannot be read.

    Rule: S-23 (UnifiedLog.searchOffsetInLocalLog).
    """
    try:
        for segment in log.segments.all:
            if segment is log.segments.active and not segment.size_bytes:
                return None  # it may have no file yet
            if segment.largest_timestamp() >= timestamp:
                start_offset = max(log.log_start_offset, from_offset)
                return _search(segment, timestamp, start_offset, at_once)
    except OSError as error:
        raise KafkaStorageError from error
    return None


def _search(
    segment: LogSegment, timestamp: int, start_offset: int, at_once: bool
) -> TimestampOffset | None:
    """Rule: S-23 (LogSegment.findOffsetByTimestamp, FileRecords.searchForTimestamp)."""
    entry = true_time_entry(segment, timestamp)
    offset = segment.base_offset + (entry.value if entry is not None else 0)
    begin = max(offset, start_offset)
    for place, file, is_enough in _batches_from(segment, begin, start_offset, at_once):
        candidate = Candidate(file, place, timestamp, offset_min=start_offset)
        if is_enough:
            raise HeavyBatch(candidate, place.last_offset + 1)
        if place.max_timestamp < timestamp:
            continue
        found = candidate.search(at_once=at_once)
        if found is not None:
            return found
    return None


def max_timestamp_offset(
    log: Log, *, from_offset: int = 0, at_once: bool = False
) -> TimestampOffset | None:
    """Find the first record with the largest timestamp, even below the log start offset.

    Args:
        log: to search.
        from_offset: batches that end below it were searched before.
        at_once: the caller has little time, as the event loop.

    Raises:
        HeavyBatch: with at_once, a batch takes long.
        KafkaStorageError: a file cannot be read.

    Rule: S-24 (UnifiedLog.fetchOffsetByTimestamp, LogSegment).
    """
    try:
        segment = max(log.segments.all, key=lambda each: each.max_timestamp_entry()[0])
        if not segment.size_bytes:
            return None
        timestamp, offset = segment.max_timestamp_entry()
        begin = max(offset, from_offset)
        for place, file, is_enough in _batches_from(segment, begin, from_offset, at_once):
            candidate = Candidate(file, place, timestamp, exactly=True)
            if is_enough:
                raise HeavyBatch(candidate, place.last_offset + 1)
            if place.max_timestamp != timestamp:
                continue
            found = candidate.search(at_once=at_once)
            if found is not None:
                return found
    except OSError as error:
        raise KafkaStorageError from error
    return None


def offsets_before(log: Log, timestamp: int, max_offsets: int, now_ms: int) -> list[int]:
    """List the base offsets of segments in descending order, for ListOffsets version 0.

    The first one is of the newest segment that is not younger than the timestamp. If the active
    segment has records, the log end offset counts as the base offset of a segment that begins now.

    Args:
        log: to search.
        timestamp: in milliseconds; or LATEST or EARLIEST.
        max_offsets: how many offsets to give at most.
        now_ms: the time.

    Raises:
        KafkaStorageError: a file cannot be looked at.

    Rule: F-74 (UnifiedLog.legacyFetchOffsetsBefore).
    """
    try:
        candidates = [
            (max(segment.base_offset, log.log_start_offset), segment.modified_ms())
            for segment in log.segments.all
        ]
    except OSError as error:
        raise KafkaStorageError from error
    if log.segments.active.size_bytes:
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


class Candidate:
    """A batch that may hold the record that is looked for.

    Args:
        file: of the segment; stays open as long as this object exists.
        place: of the batch.
        timestamp: the record's timestamp is not below.
        exactly: the record has this very timestamp.
        offset_min: the record's offset is not below.
    """

    __slots__ = ("_file", "_offset_min", "_place", "_timestamp", "exactly")

    def __init__(
        self,
        file: OpenFile,
        place: BatchPosition,
        timestamp: int,
        *,
        exactly: bool = False,
        offset_min: int = 0,
    ) -> None:
        self._file = file
        self._place = place
        self._timestamp = timestamp
        self._offset_min = offset_min
        self.exactly = exactly

    def search(self, *, at_once: bool) -> TimestampOffset | None:
        """Search the batch.

        Args:
            at_once: search it only if that does not take long.

        Raises:
            HeavyBatch: with at_once, the search takes long.
        """
        if at_once and self._place.size_bytes > AT_ONCE_FILE_BYTES_MAX:
            raise HeavyBatch(self, self._place.last_offset + 1)
        bounds = Bounds(AT_ONCE_BYTES_MAX, AT_ONCE_PARTS_MAX) if at_once else UNBOUNDED
        try:
            return self.search_within(bounds)
        except TakesLong:
            raise HeavyBatch(self, self._place.last_offset + 1) from None

    def search_within(self, bounds: Bounds) -> TimestampOffset | None:
        """Search the batch; may run in a worker thread.

        Raises:
            BrokerError: the records are damaged.
            TakesLong: there are more records than the bounds allow.
            OSError: the file cannot be read.
            WorkStopped: the bounds' stop has ended the work.
        """
        data = memoryview(self._file.read_at(self._place.position, self._place.size_bytes))
        epoch = self._place.leader_epoch
        if data[MAGIC_OFFSET] < CURRENT_MAGIC:
            for record in iterate_legacy(LegacyMessage(data, 0, len(data)), bounds=bounds):
                if self._is_wanted(record):
                    return TimestampOffset(record.timestamp, record.offset, epoch)
            return None
        batch = RecordBatch(data, 0, len(data))
        content = read_content(batch, bounds=bounds)
        if content.limit_exceeded:
            raise TakesLong
        found = FirstRecord(self._timestamp, self.exactly, self._offset_min)
        status = found.find(
            memoryview(content.data),
            batch.record_count,
            batch.base_offset,
            batch.base_timestamp,
            batch.is_log_append_time,
            batch.max_timestamp,
        )
        if found.offset >= 0:
            return TimestampOffset(found.timestamp, found.offset, epoch)
        error = scan_error(
            status,
            compressed=batch.is_compressed,
            codec_failed=content.failed and batch.record_count != 0,
        )
        if error is not None:
            raise error
        return None

    def _is_wanted(self, record: LegacyRecord) -> bool:
        if record.offset < self._offset_min:
            return False
        if self.exactly:
            return record.timestamp == self._timestamp
        return record.timestamp >= self._timestamp


def _batches_from(
    segment: LogSegment, begin: int, from_offset: int, at_once: bool
) -> Iterator[tuple[BatchPosition, OpenFile, bool]]:
    """Walk over the batches that reach an offset, from a place of the index on.

    With at_once the third value is true when the event loop has had enough of them: where topics
    discard their records, most batches are empty.
    """
    start, _ = segment.search_start(begin)
    file, count = segment.file(), 0
    for place in walk(file, start, segment.size_bytes):
        if place.last_offset >= from_offset:
            count += 1
            yield place, file, at_once and count > AT_ONCE_BATCHES_MAX
