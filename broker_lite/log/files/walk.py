"""Walks over the batches of a segment file by their headers; checks only their lengths.

See: R-04 (FileLogInputStream).
"""

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from broker_lite.errors import CorruptMessage
from broker_lite.log.files.open_file import OpenFile, ReadsAt

# base offset, length, leader epoch, magic, crc, attributes, last offset delta, base timestamp,
# max timestamp
HEADER: Final = struct.Struct(">qiibIhiqq")
# base offset, length, magic, last offset delta
_OFFSETS: Final = struct.Struct(">qi4xb6xi")
_LENGTH: Final = struct.Struct(">8xi")
_LEGACY_TIMESTAMP: Final = struct.Struct(">18xq")
_SIZE_MIN_V1: Final = 34
LOG_OVERHEAD: Final = 12
RECORD_OVERHEAD_MIN: Final = 14
FRAME_MIN: Final = 17
MAGIC_V2: Final = 2
# One read covers index.interval.bytes (4096) and the header of the batch that follows.
CHUNK_BYTES: Final = 4096 + 512


class BatchPosition(NamedTuple):
    """The position of a batch in its file, and fields of its header."""

    position: int
    size_bytes: int
    base_offset: int
    last_offset: int
    max_timestamp: int
    leader_epoch: int


def frames(
    file: ReadsAt, position: int, end: int, chunk_bytes: int = CHUNK_BYTES
) -> Iterator[tuple[bytes, int, int, int]]:
    """Go through the complete batches of any magic; end at an incomplete one.

    Args:
        file: a .log file.
        position: where a batch starts.
        end: where reading ends: the size of the file, or less.
        chunk_bytes: how many bytes one read asks for.

    Yields:
        A piece of the file, the place of the batch's header in it, the batch's position in the
        file, and its size. The piece always has a complete header of magic 2; if the file ends
        inside the header, zeros follow.

    Raises:
        CorruptMessage: a batch's length is below 14.
        OSError: the file cannot be read.
    """
    chunk, chunk_position = b"", position
    while position < end - FRAME_MIN:
        at = position - chunk_position
        if at + HEADER.size > len(chunk):
            # Near the end of the file a legacy message can be shorter than a v2 header.
            chunk = file.read_at(position, min(chunk_bytes, end - position))
            chunk, chunk_position, at = chunk.ljust(HEADER.size, b"\0"), position, 0
        size_bytes = checked_size(_LENGTH.unpack_from(chunk, at)[0], position)
        if size_bytes > end - position:
            return
        yield chunk, at, position, size_bytes
        position += size_bytes


def walk(file: ReadsAt, position: int, end: int) -> Iterator[BatchPosition]:
    """Yield the complete batches from a position on; leave out an incomplete one at the end.

    Args:
        file: the .log file.
        position: where a batch starts.
        end: where reading ends: the size of the file, or less.

    Raises:
        CorruptMessage: a batch's length is below 14.
        OSError: the file cannot be read.
    """
    for chunk, at, start, size_bytes in frames(file, position, end):
        base_offset, _, epoch, magic, _, _, delta, _, max_timestamp = HEADER.unpack_from(chunk, at)
        if magic < MAGIC_V2:  # the stored offset is that of the last message
            timestamp = _legacy_timestamp(chunk, at, magic, size_bytes)
            yield BatchPosition(start, size_bytes, base_offset, base_offset, timestamp, -1)
        else:
            yield BatchPosition(
                start, size_bytes, base_offset, base_offset + delta, max_timestamp, epoch
            )


def _legacy_timestamp(chunk: bytes, position: int, magic: int, size_bytes: int) -> int:
    """Return the largest timestamp of a message or wrapper, -1 if it has none.

    See: R-60, R-65 (AbstractLegacyRecordBatch.maxTimestamp).
    """
    if magic != 1 or size_bytes < _SIZE_MIN_V1:
        return -1
    timestamp: int = _LEGACY_TIMESTAMP.unpack_from(chunk, position)[0]
    return timestamp


def find_batch(file: OpenFile, position: int, end: int, offset: int) -> tuple[int, int] | None:
    """Find the first batch, from a position on, whose last offset is at or above an offset.

    Returns:
        The batch's position and size; None if there is no such complete batch.

    Raises:
        CorruptMessage: a batch's length is below 14.
        OSError: the file cannot be read.

    See: S-20 (FileRecords.searchForOffsetFromPosition).
    """
    unpack, header_bytes = HEADER.unpack_from, HEADER.size
    chunk, chunk_position, chunk_end = b"", position, position
    while position < end - FRAME_MIN:
        if position + header_bytes > chunk_end:
            chunk, chunk_position = _chunk(file, position), position
            chunk_end = position + len(chunk)
        base_offset, length, _, magic, _, _, delta, _, _ = unpack(chunk, position - chunk_position)
        size_bytes = checked_size(length, position)
        if size_bytes > end - position:
            return None
        if base_offset + (delta if magic >= MAGIC_V2 else 0) >= offset:
            return position, size_bytes
        position += size_bytes
    return None


def batch_at(file: OpenFile, position: int, end: int, offset: int) -> tuple[int, int] | None:
    """Check whether the batch at a position contains an offset.

    Returns:
        The batch's position and size; None if it does not contain the offset, is incomplete, or is
        of magic 0 or 1.

    Raises:
        CorruptMessage: the batch's length is below 14.
        OSError: the file cannot be read.
    """
    head = file.read_at(position, HEADER.size)
    if len(head) < HEADER.size:
        return None
    base_offset, length, magic, delta = _OFFSETS.unpack_from(head)
    if magic < MAGIC_V2 or not base_offset <= offset <= base_offset + delta:
        return None
    size_bytes = checked_size(length, position)
    return (position, size_bytes) if size_bytes <= end - position else None


def first_batch_size(file: OpenFile, position: int) -> int:
    """Read the size of the batch that starts at a position.

    Raises:
        CorruptMessage: the batch's length is below 14.
        OSError: the file cannot be read.
    """
    head = file.read_at(position, LOG_OVERHEAD)
    return checked_size(int.from_bytes(head[8:], "big", signed=True), position)


def checked_size(length: int, position: int) -> int:
    """Return the size of a batch, from its length field.

    Raises:
        CorruptMessage: the length is below 14.
    """
    if length < RECORD_OVERHEAD_MIN:
        raise CorruptMessage(
            f"Found record size {length} smaller than minimum record overhead"
            f" ({RECORD_OVERHEAD_MIN}) at position {position}."
        )
    return length + LOG_OVERHEAD


def _chunk(file: OpenFile, position: int) -> bytes:
    # Near the end of the file a legacy message can be shorter than a v2 header.
    return file.read_at(position, CHUNK_BYTES).ljust(HEADER.size, b"\0")
