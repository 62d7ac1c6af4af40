"""Finds the end of a partition's log: behind the last sound batch, or behind damage at the tail.

A crash leaves an unfinished append: a batch that is cut off, or has its full size with zeros at the
end. That is a torn tail, and the log ends in front of it. Bytes with a sound batch behind them, or
that cannot be the beginning of a batch, are damage. The log then ends behind them, so that a reader
meets the damage and reports it.
"""

import struct
from collections import deque
from itertools import islice
from re import escape, finditer
from typing import Final, NamedTuple

from broker_lite.log.files.headers import BatchHeader, header_at, read_batch, walk_headers
from broker_lite.pipeline.files.file_io import FileIO, ReadableFile
from broker_lite.pipeline.files.indexes import OffsetEntry, offset_entry_in_front
from broker_lite.pipeline.files.layout import PartitionLog, Segment
from broker_lite.pipeline.files.sound_search import (
    BATCH_BYTES_MAX,
    OffsetBounds,
    are_zeros,
    find_sound,
    is_possible,
    offset_bounds,
)
from broker_lite.record.batch import RECORD_BATCH_OVERHEAD
from broker_lite.record.crc import crc32c
from broker_lite.record.framing import CURRENT_MAGIC, LOG_OVERHEAD, RECORD_OVERHEAD_V0

_TORN_BATCHES_MAX: Final = 8
_TORN_BYTES: Final = 16
_OFFSET_BYTES: Final = 8
_PREFIX: Final = struct.Struct(">qiibI")
_CRC_FROM: Final = 21
_OFFSET: Final = struct.Struct(">Q")
_DELTA: Final = struct.Struct(">I")
_DELTA_AT: Final = 2  # the last offset delta, counted from where the checksum begins
_FOLLOWING_MAX: Final = 8
# How far in front of a wrong index entry to try next; the last resort is the segment's start.
_STEPS_BYTES: Final = (0, 64 << 10, 1 << 20, 16 << 20)


class LogEnd(NamedTuple):
    """Where a log ends: the next offset, and its position in the last segment."""

    offset: int
    position: int


def log_end(io: FileIO, log: PartitionLog) -> LogEnd:
    """Find the end of the last whole batch; a torn tail is left out, damage is not.

    Raises:
        FileNotFoundError: the last segment vanished since it was listed.
        OSError: it cannot be read.

    See: R-04, S-05, S-43 (LogSegment.recover).
    """
    if not log.segments:
        return LogEnd(log.checkpointed_start, 0)
    segment = log.segments[-1]
    with io.open(segment.log_path) as file:
        size_bytes = file.size_bytes
        known = offset_entry_in_front(io, segment, size_bytes - 1)
        start = _sound_start(io, file, segment, size_bytes)
        end, unsound = _last_sound(file, segment, start, size_bytes)
        if end.position == size_bytes:
            return end
        walked = unsound[-1].end_position if unsound else end.position
        is_known = known is not None and known.position > walked
        bounds = offset_bounds(segment.base_offset, end.offset, None)
        if not is_known and _is_unfinished(file, end.position, size_bytes, bounds):
            return end
        claimed = _claimed_end(unsound, bounds)
        indexed = known.offset + 1 if known is not None and is_known else 0
        return LogEnd(max(claimed, min(indexed, bounds.end)), size_bytes)


def header_of(
    file: ReadableFile, segment: Segment, entry: OffsetEntry, end: int
) -> BatchHeader | None:
    """Return the header of the batch that an index entry leads to; None if the entry is wrong."""
    header = header_at(file, entry.position, end, segment.base_offset)
    if header is None or not segment.base_offset <= header.base_offset:
        return None
    is_sound = header.last_offset <= entry.offset and read_batch(file, header) is not None
    return header if is_sound else None


def _sound_start(io: FileIO, file: ReadableFile, segment: Segment, end: int) -> int:
    """Find the position of a sound indexed batch near the end; 0 if there is none."""
    position = end - 1
    for step_bytes in _STEPS_BYTES:
        position -= step_bytes
        entry = offset_entry_in_front(io, segment, position)
        if entry is None:
            break
        if header_of(file, segment, entry, end) is not None:
            return entry.position
        position = min(position, entry.position) - 1
    return 0


def _last_sound(
    file: ReadableFile, segment: Segment, position: int, size_bytes: int
) -> tuple[LogEnd, list[BatchHeader]]:
    """Find the end of the last sound batch, also behind damage.

    Returns:
        The end, and the batches with wrong checksums behind it.
    """
    offset = segment.base_offset
    while True:
        walked = deque(walk_headers(file, position, size_bytes, offset), _TORN_BATCHES_MAX)
        stuck = walked[-1].end_position if walked else position
        unsound: deque[BatchHeader] = deque()
        while walked and not _is_sound(file, segment, walked):
            unsound.appendleft(walked.pop())
            stuck = unsound[0].position
        if walked:
            offset = walked[-1].last_offset + 1
        if stuck == size_bytes:
            return LogEnd(offset, stuck), []
        bounds = offset_bounds(segment.base_offset, offset, None)
        with_old = not walked or walked[-1].magic < CURRENT_MAGIC
        behind = find_sound(file, stuck + 1, size_bytes, bounds, with_old=with_old)
        if behind is None:
            return LogEnd(offset, stuck), list(unsound)
        position, offset = behind.position, behind.base_offset


def _is_sound(file: ReadableFile, segment: Segment, walked: deque[BatchHeader]) -> bool:
    """Whether the last batch of a walk has the right checksum, and an offset that is possible."""
    last = walked[-1]
    lowest = walked[-2].last_offset + 1 if len(walked) > 1 else segment.base_offset
    bounds = offset_bounds(segment.base_offset, lowest, None)
    return is_possible(last, bounds) and read_batch(file, last) is not None


def _claimed_end(unsound: list[BatchHeader], bounds: OffsetBounds) -> int:
    """Return the offset behind damaged batches, as far as their headers follow one another."""
    end = bounds.lowest
    for header in unsound:
        if header.base_offset != end or not is_possible(header, bounds):
            break
        end = header.last_offset + 1
    return max(end, bounds.lowest + 1)


def _is_unfinished(
    file: ReadableFile, position: int, size_bytes: int, bounds: OffsetBounds
) -> bool:
    """Tell whether the last bytes of a log are an unfinished append or zeros.

    See: S-43 (LogSegment.recover).
    """
    while not are_zeros(file, position, size_bytes):
        prefix = file.read_at(position, _PREFIX.size).ljust(_PREFIX.size, b"\0")
        base_offset, length, _, magic, crc = _PREFIX.unpack(prefix)
        has_offset = bounds.lowest <= base_offset < bounds.end
        if are_zeros(file, position + RECORD_BATCH_OVERHEAD, size_bytes):
            # Only a part of the header may have reached the disk.
            return has_offset or size_bytes - position < _OFFSET_BYTES
        end = position + LOG_OVERHEAD + length
        is_length = RECORD_OVERHEAD_V0 <= length <= BATCH_BYTES_MAX
        if not (has_offset and is_length and 0 <= magic <= CURRENT_MAGIC):
            return False
        if magic == CURRENT_MAGIC and _has_checksum(file, position, size_bytes, crc, base_offset):
            return False  # the batch is complete, only its length is damaged
        if end > size_bytes:
            return True
        if any(file.read_at(end - _TORN_BYTES, _TORN_BYTES)):
            return False
        position = end
    return True


def _has_checksum(
    file: ReadableFile, position: int, size_bytes: int, crc: int, base_offset: int
) -> bool:
    """Tell whether the bytes behind a batch header have the checksum that it names.

    That may be all bytes to the end of the file, or those in front of another batch that was begun,
    which shows by its base offset.
    """
    begin = position + _CRC_FROM
    if size_bytes - begin > BATCH_BYTES_MAX:
        return False
    data = file.read_at(begin, size_bytes - begin)
    if len(data) < RECORD_BATCH_OVERHEAD - _CRC_FROM:
        return False
    following = _OFFSET.pack(base_offset + _DELTA.unpack_from(data, _DELTA_AT)[0] + 1)
    ends = [len(data) - cut for cut in range(_OFFSET_BYTES) if data.endswith(following[:cut])]
    ends += [found.start() for found in islice(finditer(escape(following), data), _FOLLOWING_MAX)]
    return any(crc32c(data[:end]) == crc for end in ends)
