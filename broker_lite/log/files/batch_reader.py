"""Reading the batches of a segment in order, each checked, for recovery and producer state.

A batch is a view of the buffer that the file goes through, and of use only until the next one is
asked for.
"""

from collections.abc import Callable, Iterator
from typing import Final

from broker_lite.errors import CorruptMessage, KafkaStorageError, UnknownServerError
from broker_lite.log.files.entries import Window
from broker_lite.log.files.index import RELATIVE_OFFSET_MAX
from broker_lite.log.files.open_file import OpenFile
from broker_lite.log.files.segment import LogSegment
from broker_lite.log.files.walk import FRAME_MIN, MAGIC_V2
from broker_lite.record.batch import RecordBatch
from broker_lite.record.legacy.messages import LegacyMessage

_MAGIC_POSITION: Final = 16
# Kafka takes what is above 2 for a v2 batch; from 128 on its byte is negative, and of no format.
_MAGIC_MAX: Final = 127


class SegmentOverflow(KafkaStorageError):
    """A batch has an offset that does not fit the 31 bits above its segment's base.

    Attributes:
        segment: it is in.
        position: of the batch.
        first_offset: a base above those before the batch, to which its offsets fit.

    See: S-42 (LogSegmentOffsetOverflowException).
    """

    def __init__(self, segment: LogSegment, position: int, first_offset: int) -> None:
        super().__init__(f"an offset from {first_offset} on does not fit {segment.path}")
        self.segment = segment
        self.position = position
        self.first_offset = first_offset


def tell_nobody(_size_bytes: int) -> None:
    """Be told how much was read."""


def read_valid(
    segment: LogSegment,
    position: int = 0,
    *,
    limit: int | None = None,
    tell: Callable[[int], None] = tell_nobody,
) -> Iterator[RecordBatch | LegacyMessage]:
    """Read the whole, valid batches from a position on; stop before the first that is not.

    Valid is a batch with the right checksum whose offsets are above those before it. The checksum
    does not cover the base offset: a damaged one shows in the order only, so behind a gap the next
    batch is looked at, too. If that one is below, the gap is none.

    Args:
        segment: whose .log file is read.
        position: where a batch starts.
        limit: all offsets are below, the next segment's base.
        tell: called with the number of bytes after each read; what it raises ends the reading.

    Raises:
        SegmentOverflow: the next one, though valid, does not fit the segment.
        OSError: the file cannot be read.

    See: R-04, R-06, S-42, S-43 (FileLogInputStream, LogSegment.recover).
    """
    file, end = segment.file(), segment.size_bytes
    window = Window(file, position, end, tell)
    floor = segment.base_offset
    last_fitting = segment.base_offset + RELATIVE_OFFSET_MAX
    try:
        for place, size_bytes, start in window.entries():
            batch = _valid_batch(window.buffer, start, size_bytes)
            if batch is None:
                return
            last_offset = batch.last_offset
            # A message of an old format names the last one of its set only.
            first = batch.base_offset if isinstance(batch, RecordBatch) else last_offset
            if first < floor or (limit is not None and last_offset >= limit):
                return
            if first > floor:
                next_first = _offset_at(file, place + size_bytes, end)
                # the same batch once more confirms the offset
                if floor <= next_first <= last_offset and next_first != first:
                    return
            if last_offset > last_fitting:
                # That of an old format may begin below, but not by more than 31 bits.
                is_old = not isinstance(batch, RecordBatch)
                base = last_offset - RELATIVE_OFFSET_MAX if is_old else first
                raise SegmentOverflow(segment, place, max(base, floor))
            yield batch
            floor = last_offset + 1
    except CorruptMessage:
        return


def _offset_at(file: OpenFile, position: int, end: int) -> int:
    """Read the offset of a batch, -1 at the end; not by the buffer, which is in use."""
    if position >= end - FRAME_MIN:
        return -1
    return int.from_bytes(file.read_at(position, 8), "big", signed=True)


def _valid_batch(
    buffer: memoryview, start: int, size_bytes: int
) -> RecordBatch | LegacyMessage | None:
    """View a batch, None when it cannot be one or its checksum is wrong."""
    magic = buffer[start + _MAGIC_POSITION]
    if magic > _MAGIC_MAX:
        return None
    batch: RecordBatch | LegacyMessage
    try:
        if magic >= MAGIC_V2:
            batch = RecordBatch(buffer, start, size_bytes)
        else:
            batch = LegacyMessage(buffer, start, size_bytes)
    except (CorruptMessage, UnknownServerError):
        return None
    return batch if batch.crc_is_valid() else None
