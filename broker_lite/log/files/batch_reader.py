"""Reads and checks the batches of a segment in order, for recovery and producer state.

A batch is a view of a buffer that is used again, so it is valid only until the next one is
requested.
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
# Kafka reads a magic above 2 as that of a v2 batch. From 128 on the byte is negative in Java, and
# no format has it.
_MAGIC_MAX: Final = 127


class SegmentOverflow(KafkaStorageError):
    """A batch has an offset that is more than 31 bits above its segment's base offset.

    Attributes:
        segment: the segment of the batch.
        position: the batch's position in the file.
        first_offset: a base offset for a new segment that can hold the batch; it is above all
            offsets before the batch.

    See: S-42 (LogSegmentOffsetOverflowException).
    """

    def __init__(self, segment: LogSegment, position: int, first_offset: int) -> None:
        super().__init__(f"an offset from {first_offset} on does not fit {segment.path}")
        self.segment = segment
        self.position = position
        self.first_offset = first_offset


def tell_nobody(_size_bytes: int) -> None:
    """The default callback: does nothing."""


def read_valid(
    segment: LogSegment,
    position: int = 0,
    *,
    limit: int | None = None,
    tell: Callable[[int], None] = tell_nobody,
) -> Iterator[RecordBatch | LegacyMessage]:
    """Yield the complete, valid batches from a position on; stop before the first invalid one.

    A batch is valid if its checksum is right and its offsets are above those of the batch before.
    The checksum does not cover the base offset, so a damaged base offset shows only in the order of
    the offsets. Therefore, if there is a gap before a batch, the offset of the next batch is read,
    too. If that offset is not above this batch, this batch's base offset is damaged, and not valid.

    Args:
        segment: the segment to read.
        position: where a batch starts.
        limit: the base offset of the next segment; all offsets must be below it.
        tell: called with the number of bytes after each read; an exception from it ends the
            reading.

    Raises:
        SegmentOverflow: the next batch is valid, but its offsets do not fit the segment.
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
            # A message of magic 0 or 1 stores only the last offset of its set.
            first = batch.base_offset if isinstance(batch, RecordBatch) else last_offset
            if first < floor or (limit is not None and last_offset >= limit):
                return
            if first > floor:
                next_first = _offset_at(file, place + size_bytes, end)
                # next_first == first: this batch is in the file twice, so its offset is right
                if floor <= next_first <= last_offset and next_first != first:
                    return
            if last_offset > last_fitting:
                # The first offset of a set of magic 0 or 1 is unknown; it is at most 31 bits lower.
                is_old = not isinstance(batch, RecordBatch)
                base = last_offset - RELATIVE_OFFSET_MAX if is_old else first
                raise SegmentOverflow(segment, place, max(base, floor))
            yield batch
            floor = last_offset + 1
    except CorruptMessage:
        return


def _offset_at(file: OpenFile, position: int, end: int) -> int:
    """Read the offset of a batch, -1 at the end. Does not use the buffer, which holds a batch."""
    if position >= end - FRAME_MIN:
        return -1
    return int.from_bytes(file.read_at(position, 8), "big", signed=True)


def _valid_batch(
    buffer: memoryview, start: int, size_bytes: int
) -> RecordBatch | LegacyMessage | None:
    """Return a view of a batch, None if it is malformed or its checksum is wrong."""
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
