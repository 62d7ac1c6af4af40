"""Places in the log of a partition: its start, its end, and those of offsets and timestamps.

What the log room does for a running broker, this does from files alone. No index is believed: the
batch that an entry leads to has to be sound and of the right offsets, else the search begins where
nothing can be wrong, at the start of the segment.
"""

import logging
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from broker_lite.errors import BrokerError
from broker_lite.pipeline.files.file_io import FileIO, ReadableFile
from broker_lite.pipeline.files.headers import BatchHeader, header_at, read_batch, walk_headers
from broker_lite.pipeline.files.indexes import (
    OffsetEntry,
    TimeEntry,
    next_indexed_position,
    offset_entry_below,
    offset_entry_in_front,
    time_entry_below,
)
from broker_lite.pipeline.files.layout import PartitionLog, Segment
from broker_lite.record.batch import CURRENT_MAGIC, RecordBatch
from broker_lite.record.legacy import LegacyMessage, LegacyRecord, iterate_legacy
from broker_lite.record.records import Record, iterate_records

logger = logging.getLogger("broker_lite.pipeline")

_TORN_BATCHES_MAX: Final = 8
_TORN_BYTES: Final = 16
_ENTRIES_TRIED: Final = 16
# How far in front of a wrong index entry the next try is; then comes the start of the segment.
_STEPS_BYTES: Final = (0, 64 << 10, 1 << 20, 16 << 20)


class LogEnd(NamedTuple):
    """Where a log ends: the offset of what comes next, its position in the last segment."""

    offset: int
    position: int


class Boundary(NamedTuple):
    """An offset's place in a segment.

    Attributes:
        start_position: of the first batch that reaches the offset; where reading from it begins.
        left_end_position: behind all batches that begin below it; where reading up to it ends.
        base_offset: of the first batch that reaches the offset; the offset itself if none does.
    """

    start_position: int
    left_end_position: int
    base_offset: int


def earliest(log: PartitionLog) -> int:
    """Give the log start offset.

    Rule: S-46, S-70 (LogLoader).
    """
    if not log.segments:
        return log.checkpointed_start
    return max(log.segments[0].base_offset, log.checkpointed_start)


def log_end(io: FileIO, log: PartitionLog) -> LogEnd:
    """Find the end of the last whole batch; a torn tail is left out, damage is not.

    A crash leaves a batch cut off, or whole in size with zeros at its end. Any other batch with a
    wrong checksum counts, as do bytes in front of a batch that the index knows: their reader is
    to complain.

    Raises:
        FileNotFoundError: the last segment vanished since it was listed.

    Rule: R-04, S-05, S-43 (LogSegment.recover).
    """
    if not log.segments:
        return LogEnd(log.checkpointed_start, 0)
    segment = log.segments[-1]
    with io.open(segment.log_path) as file:
        size_bytes = file.size_bytes
        start = _sound_start(io, file, segment, size_bytes)
        known = offset_entry_in_front(io, segment, size_bytes - 1)
        found = deque(walk_headers(file, start, size_bytes, segment.base_offset), _TORN_BATCHES_MAX)
        walked = found[-1].end_position if found else start
        if known is not None and known.position > walked:
            return LogEnd(max(known.offset + 1, segment.base_offset), size_bytes)
        while found:
            header = found.pop()
            if not _is_torn(file, header):
                return LogEnd(header.last_offset + 1, header.end_position)
            walked = header.position
    return LogEnd(segment.base_offset, walked)


def boundary(io: FileIO, segment: Segment, offset: int, limit: int | None = None) -> Boundary:
    """Find the place of an offset in a segment.

    The offset of a batch lies outside its checksum, so the batch behind it has to agree.

    Args:
        io: of the segment.
        segment: the one with the largest base offset that is not above the offset.
        offset: any.
        limit: position of the first byte that does not count, None for the file's end.

    Raises:
        FileNotFoundError: the segment vanished since it was listed.

    Rule: S-20, S-22 (FileRecords.searchForOffsetFromPosition).
    """
    if offset <= segment.base_offset:
        return Boundary(0, 0, offset)
    found: BatchHeader | None = None
    next_offset = segment.base_offset
    with io.open(segment.log_path) as file:
        end = file.size_bytes if limit is None else limit
        entry = offset_entry_below(io, segment, offset - 1)
        position = _sound_position(file, segment, entry, end)
        for header in walk_headers(file, position, end, segment.base_offset):
            if found is not None and header.base_offset > found.last_offset:
                break
            found = header if header.last_offset >= offset else None
            if found is None:
                position, next_offset = header.end_position, header.last_offset + 1
    if found is None:
        return Boundary(position, position if next_offset >= offset else end, offset)
    is_inside = found.base_offset < offset
    left_end = found.end_position if is_inside else found.position
    return Boundary(found.position, left_end, found.base_offset)


def batch_starts(
    io: FileIO, segment: Segment, entries: Iterable[OffsetEntry], limit: int
) -> list[tuple[int, int]]:
    """Give position and base offset of the v2 batches that index entries rightly lead to.

    No checksum covers the base offset. So the entry or the batch behind it has to confirm it.

    Raises:
        FileNotFoundError: the segment vanished since it was listed.
    """
    found = []
    with io.open(segment.log_path) as file:
        for entry in entries:
            header = _header_of(file, segment, entry, limit)
            if header is None or header.magic != CURRENT_MAGIC:
                continue
            if header.last_offset == entry.offset or _is_followed(file, header, limit):
                found.append((header.position, header.base_offset))
    return found


def offset_for_timestamp(io: FileIO, log: PartitionLog, timestamp_ms: int) -> int | None:
    """Find the first record not older than a timestamp, in the first segment that reaches it.

    As in Kafka, records below the log's start do not count, but their segment does: if no other
    one of it fits, there is no answer. Where a segment has no record with a timestamp at all, Kafka
    takes the age of its file for one; here it has none.

    Rule: S-23 (UnifiedLog.searchOffsetInLocalLog).
    """
    start_offset = earliest(log)
    for segment in log.segments:
        reaches = False
        for header, batch in _younger_batches(io, segment, timestamp_ms):
            reaches = True
            found = _first_record(header, batch, timestamp_ms, start_offset)
            if found is not None:
                return found
        if reaches:
            return None
    return None


def _sound_start(io: FileIO, file: ReadableFile, segment: Segment, end: int) -> int:
    """Position of an indexed batch as near to the end as a sound one is found."""
    position = end - 1
    for step_bytes in _STEPS_BYTES:
        position -= step_bytes
        entry = offset_entry_in_front(io, segment, position)
        if entry is None:
            break
        if _header_of(file, segment, entry, end) is not None:
            return entry.position
        position = min(position, entry.position) - 1
    return 0


def _sound_position(
    file: ReadableFile, segment: Segment, entry: OffsetEntry | None, end: int
) -> int:
    """Position of an entry if the batch there is the right one, else the segment's start."""
    if entry is None or _header_of(file, segment, entry, end) is None:
        return 0
    return entry.position


def _header_of(
    file: ReadableFile, segment: Segment, entry: OffsetEntry, end: int
) -> BatchHeader | None:
    """Header of the batch that an entry leads to, if it is sound and no younger than it says."""
    header = header_at(file, entry.position, end, segment.base_offset)
    if header is None or not segment.base_offset <= header.base_offset:
        return None
    is_sound = header.last_offset <= entry.offset and read_batch(file, header) is not None
    return header if is_sound else None


def _is_followed(file: ReadableFile, header: BatchHeader, end: int) -> bool:
    following = header_at(file, header.end_position, end, header.last_offset + 1)
    return following is not None and following.base_offset == header.last_offset + 1


def _is_torn(file: ReadableFile, header: BatchHeader) -> bool:
    if read_batch(file, header) is not None:
        return False
    last_bytes = file.read_at(header.end_position - _TORN_BYTES, _TORN_BYTES)
    return not any(last_bytes)


def _batch_of(io: FileIO, segment: Segment, entry: TimeEntry) -> int | None:
    """Position of the batch that an entry of the time index is about; None if it is a lie."""
    if entry.offset < segment.base_offset:
        return None
    position = boundary(io, segment, entry.offset, segment.size_bytes).start_position
    with io.open(segment.log_path) as file:
        header = header_at(file, position, segment.size_bytes, segment.base_offset)
    is_true = header is not None and header.max_timestamp_ms == entry.timestamp_ms
    return position if is_true else None


def _younger_batches(
    io: FileIO, segment: Segment, timestamp_ms: int
) -> Iterator[tuple[BatchHeader, RecordBatch | LegacyMessage | None]]:
    """The batches of a segment that reach a timestamp; None is one that is damaged.

    An index that was cut is as good as a whole one: what is behind its last entry is walked. Bytes
    that are no batch are passed over, up to the next sound batch that the index knows.
    """
    entry = time_entry_below(io, segment, timestamp_ms)
    position = _batch_of(io, segment, entry) if entry is not None else None
    with io.open(segment.log_path) as file:
        position, end, next_offset = position or 0, file.size_bytes, segment.base_offset
        while position < end:
            for header in walk_headers(file, position, end, next_offset):
                if header.max_timestamp_ms >= timestamp_ms:
                    yield header, read_batch(file, header)
                position, next_offset = header.end_position, header.last_offset + 1
            position = _next_sound(io, file, segment, position, next_offset)


def _next_sound(
    io: FileIO, file: ReadableFile, segment: Segment, position: int, next_offset: int
) -> int:
    """Position of the next indexed batch that is sound; the file's end where none is near."""
    end = file.size_bytes
    for _ in range(_ENTRIES_TRIED):
        position = next_indexed_position(io, segment, position, end)
        if position == end:
            break
        header = header_at(file, position, end, next_offset)
        if header is not None and header.base_offset >= next_offset and read_batch(file, header):
            return position
    return end


def _first_record(
    header: BatchHeader,
    batch: RecordBatch | LegacyMessage | None,
    timestamp_ms: int,
    start_offset: int,
) -> int | None:
    """Offset of the first record that fits; a damaged batch fits as a whole, for its reader."""
    if header.last_offset < start_offset:
        return None
    try:
        for record in _records(batch) if batch is not None else ():
            if record.timestamp >= timestamp_ms and record.offset >= start_offset:
                return record.offset
    except BrokerError as error:
        logger.warning("records of a batch cannot be read offset=%d %s", header.base_offset, error)
        batch = None
    return max(header.base_offset, start_offset) if batch is None else None


def _records(batch: RecordBatch | LegacyMessage) -> Iterator[Record | LegacyRecord]:
    if isinstance(batch, LegacyMessage):
        return iterate_legacy(batch)
    return iter(iterate_records(batch))
