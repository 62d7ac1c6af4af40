"""Finds offsets and timestamps in the files of a partition's log.

The log room does this for a running broker, this module for files alone. Indexes are not trusted:
the batch that an entry leads to must be sound and have the right offsets, else the search begins at
the start of the segment.
"""

import logging
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from broker_lite.errors import BrokerError
from broker_lite.log.files.headers import BatchHeader, header_at, read_batch
from broker_lite.pipeline.files.file_io import FileIO, ReadableFile
from broker_lite.pipeline.files.indexes import (
    OffsetEntry,
    TimeEntry,
    offset_entry_below,
    time_entry_below,
)
from broker_lite.pipeline.files.layout import PartitionLog, Segment
from broker_lite.pipeline.files.log_end import header_of, log_end
from broker_lite.pipeline.files.sound_walk import walk_past_damage
from broker_lite.record.batch import CURRENT_MAGIC, RecordBatch
from broker_lite.record.legacy.messages import LegacyMessage, LegacyRecord, iterate_legacy
from broker_lite.record.records import Record, iterate_records

logger = logging.getLogger("broker_lite.pipeline")


class Boundary(NamedTuple):
    """The place of an offset in a segment.

    Attributes:
        start_position: of the first batch that reaches the offset. A read from the offset begins
            here.
        left_end_position: behind all batches that begin below the offset. A read up to it ends
            here.
        base_offset: of the first batch that reaches the offset; the offset itself if none does.
        lowest_offset: the lowest possible offset of a batch from start_position on.
    """

    start_position: int
    left_end_position: int
    base_offset: int
    lowest_offset: int


def earliest(log: PartitionLog) -> int:
    """Return the log start offset.

    See: S-46, S-70 (LogLoader).
    """
    if not log.segments:
        return log.checkpointed_start
    return max(log.segments[0].base_offset, log.checkpointed_start)


def boundary(
    io: FileIO,
    segment: Segment,
    offset: int,
    limit: int | None = None,
    limit_offset: int | None = None,
) -> Boundary:
    """Find the place of an offset in a segment.

    No checksum covers the offset of a batch, so the next batch has to confirm it.

    Args:
        io: opens the segment.
        segment: the one with the largest base offset that is not above the offset.
        offset: any.
        limit: position at which to stop, None for the file's end.
        limit_offset: first offset of what is behind that, None if nothing is known to be there.

    Raises:
        FileNotFoundError: the segment vanished since it was listed.

    See: S-20, S-22 (FileRecords.searchForOffsetFromPosition).
    """
    if offset <= segment.base_offset:
        return Boundary(0, 0, offset, segment.base_offset)
    found: BatchHeader | None = None
    next_offset, behind = segment.base_offset, limit_offset
    with io.open(segment.log_path) as file:
        end = file.size_bytes if limit is None else limit
        entry = offset_entry_below(io, segment, offset - 1)
        position = 0
        if entry is not None and header_of(file, segment, entry, end) is not None:
            position = entry.position
        for header in walk_past_damage(file, segment, position, end):
            if found is not None and header.base_offset > found.last_offset:
                behind = header.base_offset
                break
            found = header if header.last_offset >= offset else None
            # Damage right in front of the batch stays in the range: it may hide the offset.
            if found is None and header.base_offset >= next_offset:
                position, next_offset = header.end_position, header.last_offset + 1
    if found is None:
        left_end = position if next_offset >= offset else end
        return Boundary(position, left_end, offset, next_offset)
    is_inside = found.base_offset < offset
    left_end = found.end_position if is_inside else found.position
    lowest = min(next_offset, found.base_offset)
    count = found.last_offset + 1 - found.base_offset
    if behind is not None and behind - next_offset == count:
        # It fits exactly between its neighbours. If it claims lower offsets, those are damaged, and
        # a read that begins here has no other way to see it.
        lowest = next_offset
    return Boundary(min(position, found.position), left_end, found.base_offset, lowest)


def batch_starts(
    io: FileIO, segment: Segment, entries: Iterable[OffsetEntry], limit: int
) -> list[tuple[int, int]]:
    """Return position and base offset of the v2 batches that right index entries lead to.

    No checksum covers the base offset, so the entry or the next batch has to confirm it.

    Raises:
        FileNotFoundError: the segment vanished since it was listed.
    """
    found = []
    with io.open(segment.log_path) as file:
        for entry in entries:
            header = header_of(file, segment, entry, limit)
            if header is None or header.magic != CURRENT_MAGIC:
                continue
            if header.last_offset == entry.offset or _is_followed(file, header, limit):
                found.append((header.position, header.base_offset))
    return found


def offset_for_timestamp(
    io: FileIO, log: PartitionLog, timestamp_ms: int, *, damage_matches: bool = True
) -> int | None:
    """Return the offset of the first record that is not older than a timestamp.

    As in Kafka, only the first segment that reaches the timestamp is searched: if its only matches
    lie below the log's start, the answer is None. Kafka uses the file's age for a segment without
    timestamps; here such a segment is skipped. A damaged batch counts as a match, because it may
    have held one, unless `damage_matches` is false: then it is passed over.

    See: S-23 (UnifiedLog.searchOffsetInLocalLog).
    """
    start_offset = earliest(log)
    for segment in log.segments:
        reaches = False
        for header, batch in _younger_batches(io, log, segment, timestamp_ms):
            if batch is None and not damage_matches:
                continue
            reaches = True
            found = _first_record(header, batch, timestamp_ms, start_offset)
            if found is not None:
                return found
        if reaches:
            return None
    return None


def _is_followed(file: ReadableFile, header: BatchHeader, end: int) -> bool:
    following = header_at(file, header.end_position, end, header.last_offset + 1)
    return following is not None and following.base_offset == header.last_offset + 1


def _batch_of(io: FileIO, segment: Segment, entry: TimeEntry) -> int | None:
    """Return the position of the batch of a time index entry; None if the entry is wrong."""
    if entry.offset < segment.base_offset:
        return None
    position = boundary(io, segment, entry.offset, segment.size_bytes).start_position
    with io.open(segment.log_path) as file:
        header = header_at(file, position, segment.size_bytes, segment.base_offset)
    is_true = header is not None and header.max_timestamp_ms == entry.timestamp_ms
    return position if is_true else None


def _younger_batches(
    io: FileIO, log: PartitionLog, segment: Segment, timestamp_ms: int
) -> Iterator[tuple[BatchHeader, RecordBatch | LegacyMessage | None]]:
    """Yield the batches of a segment that reach a timestamp; a damaged one as None.

    A truncated index does no harm: the batches behind its last entry are walked.
    """
    entry = time_entry_below(io, segment, timestamp_ms)
    position = _batch_of(io, segment, entry) if entry is not None else None
    next_offset = segment.base_offset if position is None else None
    with io.open(segment.log_path) as file:
        position, end = position or 0, file.size_bytes
        for header in walk_past_damage(file, segment, position, end):
            if header.position != position and next_offset is not None:
                yield _damaged(position, next_offset, header.base_offset), None
            if header.max_timestamp_ms >= timestamp_ms:
                yield header, read_batch(file, header)
            position, next_offset = header.end_position, header.last_offset + 1
    due = log_end(io, log).offset if segment.limit is None else segment.limit
    if next_offset is None or next_offset >= due:
        return
    if position < end or next_offset >= log.cleaned_end:
        yield _damaged(position, next_offset, due), None


def _damaged(position: int, first_offset: int, next_offset: int) -> BatchHeader:
    """Make a header that stands for damaged bytes, with the offsets that they had."""
    last_offset = max(next_offset - 1, first_offset)
    return BatchHeader(position, 0, first_offset, last_offset, -1, CURRENT_MAGIC)


def _first_record(
    header: BatchHeader,
    batch: RecordBatch | LegacyMessage | None,
    timestamp_ms: int,
    start_offset: int,
) -> int | None:
    """Return the offset of the first match; a damaged batch matches as a whole."""
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
