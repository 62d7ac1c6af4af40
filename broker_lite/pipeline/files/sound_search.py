"""Searches for the next sound batch, which tells damage from a torn tail.

An append that was not finished has nothing behind it. So before bytes are taken for a torn tail,
all that is behind them is searched for a batch whose checksum holds. The same search finds where a
reader can go on behind damage, whether or not an index is there to tell it.

The value of a record may be a whole batch, so a right checksum is not enough: the offsets must be
possible at that place, too.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from broker_lite.log.files.headers import BatchHeader, header_at, read_batch
from broker_lite.pipeline.files.file_io import ReadableFile
from broker_lite.record.resync import possible_starts

OFFSETS_MAX: Final = 1 << 31
"""Per segment: its indexes have 32 bits for relative offsets (S-10)."""
BATCH_BYTES_MAX: Final = 128 << 20
"""A larger length counts as damaged, so that a wrong one cannot fill the memory."""

_CHUNK_BYTES: Final = 1 << 20
# From the length of a message, which is not 0: length, checksum, magic, attributes.
_OLD_MAGIC: Final = re.compile(
    rb"[\x00-\x08](?=(?!\x00\x00\x00).{7}[\x00\x01][\x00-\x0f])", re.DOTALL
)
_LENGTH_OFFSET: Final = 8
_OVERLAP_BYTES: Final = 64  # so that a header at the end of a chunk is seen as a whole
_ZEROS: Final = bytes(_CHUNK_BYTES + _OVERLAP_BYTES)
# Bytes that look like very many headers would make the search check the same bytes over and over.
_CHECKED_BYTES_MAX: Final = 1 << 30
_USUAL_BYTES: Final = 64 << 10


class OffsetBounds(NamedTuple):
    """The possible offsets of a batch: the lowest, and the first that is too high."""

    lowest: int
    end: int


def offset_bounds(base_offset: int, lowest: int, limit: int | None) -> OffsetBounds:
    """Return the offsets that are possible in a segment.

    Args:
        base_offset: of the segment.
        lowest: the offset after the previous batch.
        limit: base offset of the next segment, None for the last one.
    """
    end = base_offset + OFFSETS_MAX
    return OffsetBounds(lowest, end if limit is None else min(limit, end))


def find_sound(
    file: ReadableFile,
    position: int,
    end: int,
    bounds: OffsetBounds,
    *,
    with_old: bool = False,
    checked_bytes_max: int = _CHECKED_BYTES_MAX,
) -> BatchHeader | None:
    """Find the first whole batch with a right checksum and possible offsets.

    Args:
        file: a .log file.
        position: where to begin.
        end: where to stop.
        bounds: the offsets that are possible.
        with_old: search for messages of magic 0 and 1, too, which is slower.
        checked_bytes_max: after so many checked bytes, only batches of a usual size are tried.

    Raises:
        OSError: the file cannot be read.

    See: R-01, R-02, R-06.
    """
    checked_bytes = 0
    for candidate in _candidates(file, position, end, with_old):
        header = header_at(file, candidate, end, bounds.lowest)
        if header is None or not is_possible(header, bounds):
            continue
        if checked_bytes > checked_bytes_max and header.size_bytes > _USUAL_BYTES:
            continue
        checked_bytes += header.size_bytes
        if read_batch(file, header) is not None:
            return header
    return None


def is_possible(header: BatchHeader, bounds: OffsetBounds) -> bool:
    """Tell whether the length and the offsets in a header are possible."""
    return header.size_bytes <= BATCH_BYTES_MAX and (
        bounds.lowest <= header.base_offset <= header.last_offset < bounds.end
    )


def are_zeros(file: ReadableFile, position: int, end: int) -> bool:
    """Tell whether a part of a file has only zeros, as in a file that was extended ahead.

    Raises:
        OSError: the file cannot be read.
    """
    while (position := file.next_data(position)) < end:
        chunk = file.read_at(position, min(_CHUNK_BYTES, end - position))
        if chunk != _ZEROS[: len(chunk)]:
            return False
        position += max(len(chunk), 1)
    return True


def _candidates(file: ReadableFile, position: int, end: int, with_old: bool) -> Iterator[int]:
    """Yield the positions whose bytes look like the header of a batch."""
    begin = position
    while begin < end:
        begin = max(begin, file.next_data(begin) - _OVERLAP_BYTES)
        chunk = file.read_at(begin, min(_CHUNK_BYTES + _OVERLAP_BYTES, end - begin))
        if not chunk:
            return
        own_bytes = min(len(chunk), _CHUNK_BYTES)
        if chunk != _ZEROS[: len(chunk)]:
            found = set(possible_starts(chunk))
            if with_old:
                found.update(match.start() - _LENGTH_OFFSET for match in _OLD_MAGIC.finditer(chunk))
            yield from (begin + at for at in sorted(found) if 0 <= at < own_bytes)
        begin += own_bytes
