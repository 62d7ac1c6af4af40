"""Compares a segment's indexes with its batches, and rebuilds a wrong index.

After a clean stop the files are not read completely (S-15), so a damaged index is only found when
it is used. These checks find it:

- An entry of .index is right if a batch begins at its position, and this batch does not begin after
  the offset that is searched for.
- An entry of .timeindex is right if its batch has that timestamp.
- A missing entry does no harm, with one exception: the largest timestamp in the index must not be
  below that of the last batch.

Each check reads one header and takes 1 us. Segments that this process wrote need no checks.
"""

import logging
from itertools import pairwise
from typing import Final, Protocol

from broker_lite.errors import CorruptMessage
from broker_lite.log.files.index import IndexEntry, OffsetIndex, SegmentIndex, TimeIndex
from broker_lite.log.files.open_file import OpenFile
from broker_lite.log.files.walk import (
    FRAME_MIN,
    HEADER,
    MAGIC_V2,
    checked_size,
    walk,
)

logger = logging.getLogger("broker_lite.log")

INDEX_INTERVAL_BYTES: Final = 4096
RELATIVE_OFFSET_END: Final = 1 << 31
_LOOKED_AT_MAX: Final = 512


class IndexedFile(Protocol):
    """The part of LogSegment that the checks use; LogSegment calls them."""

    base_offset: int
    path: str
    size_bytes: int
    is_trusted: bool
    offset_index: OffsetIndex
    time_index: TimeIndex

    def file(self) -> OpenFile:
        """Open the .log file."""

    def find(self, offset: int) -> tuple[int, int] | None:
        """Find the first batch that reaches an offset: position and size."""

    def begin_timestamps(self) -> None:
        """Forget the timestamps."""

    def note_timestamp(self, position: int, max_timestamp: int, last_offset: int) -> None:
        """Note a batch's timestamp."""

    def close_time_index(self) -> None:
        """Add an entry with the largest timestamp so far."""


def find_end(segment: IndexedFile) -> int | None:
    """Find the offset after a segment's last one, from its last index entry and the batches there.

    Returns:
        The offset; None if index and batches contradict each other.

    Raises:
        OSError: a file cannot be read.

    See: S-12, S-44 (LogSegment.readNextOffset).
    """
    entry = segment.offset_index.last_entry()
    position, end_offset = 0, segment.base_offset
    if entry is not None:
        position = entry.value
        # The first batch of a segment never has an entry. So an entry of zeros is free space that a
        # broker had reserved and left behind in a crash.
        if entry.key <= 0 or not 0 < position < segment.size_bytes:
            return None
    try:
        for place in walk(segment.file(), position, segment.size_bytes):
            if place.base_offset < end_offset or place.last_offset < place.base_offset:
                return None
            position, end_offset = place.position + place.size_bytes, place.last_offset + 1
    except CorruptMessage:
        return None
    return end_offset if position == segment.size_bytes else None


def look_at(segment: IndexedFile) -> None:
    """Check a segment's indexes as a whole, and rebuild them if they are wrong.

    Raises:
        OSError: a file cannot be read or written.
    """
    if segment.is_trusted:
        return
    if not have_shape(segment):
        rebuild(segment, "they do not fit the batches")
        return
    newest = segment.time_index.last_entry()
    if newest is not None:
        true_time_entry(segment, newest.key)


def true_time_entry(segment: IndexedFile, timestamp: int) -> IndexEntry | None:
    """Find the newest entry of the time index with at most this timestamp; rebuild a wrong index.

    Raises:
        OSError: a file cannot be read or written.

    See: S-23 (TimeIndex.lookup).
    """
    entry = segment.time_index.find_at_most(timestamp)
    if entry is None or segment.is_trusted or is_true_time(segment, entry):
        return entry
    if not segment.is_trusted:  # checking the entry may already have rebuilt the indexes
        rebuild(segment, f"no batch with {entry}")
    return segment.time_index.find_at_most(timestamp)


def true_search_start(
    segment: IndexedFile, offset: int, around: tuple[int, int]
) -> tuple[int, int]:
    """Return where to search for an offset: `around` if it is right, else from a rebuilt index.

    Raises:
        OSError: a file cannot be read or written.

    See: S-21.
    """
    if leads_to_batch(segment, around[0], offset):
        return around
    rebuild(segment, f"no batch at {around[0]} for {offset}")
    return segment.offset_index.positions_around(offset - segment.base_offset)


def true_bound(segment: IndexedFile, position: int, entry: IndexEntry) -> IndexEntry | None:
    """Return the entry found at or after a position: `entry` if right, else from a rebuilt index.

    Raises:
        OSError: a file cannot be read or written.

    See: F-14.
    """
    offset = segment.base_offset + entry.key
    if leads_to_batch(segment, entry.value, offset, whole=True):
        return entry
    rebuild(segment, f"no batch at {entry.value} up to {offset}")
    return segment.offset_index.find_at_or_behind(position)


def first_timestamp(segment: IndexedFile) -> int:
    """Return the max timestamp of the first batch, -1 if no batch can be read.

    Raises:
        OSError: the file cannot be read.
    """
    try:
        first = next(walk(segment.file(), 0, segment.size_bytes), None)
    except CorruptMessage:
        return -1
    return first.max_timestamp if first is not None else -1


def have_shape(segment: IndexedFile) -> bool:
    """Whether both indexes rise, end inside the segment, and reach its largest timestamp.

    Of a large index, only a sample of the entries is read.

    Raises:
        OSError: a file cannot be read.

    See: S-10, S-11, S-14.
    """
    offsets, times = segment.offset_index, segment.time_index
    if offsets.has_fragment or times.has_fragment:
        return False
    if not (_rises(offsets, values_too=True) and _rises(times, values_too=False)):
        return False
    last = offsets.last_entry()
    if last is not None and not leads_to_batch(segment, last.value, segment.base_offset + last.key):
        return False
    newest = times.last_entry()
    return _last_timestamp(segment, last) <= (newest.key if newest is not None else -1)


def _rises(index: SegmentIndex, *, values_too: bool) -> bool:
    step = max(index.count // _LOOKED_AT_MAX, 1)
    entries = [index.entry(i) for i in range(0, index.count, step)]
    return all(
        one.key < two.key and (one.value < two.value if values_too else one.value <= two.value)
        for one, two in pairwise(entries)
    )


def _last_timestamp(segment: IndexedFile, last: IndexEntry | None) -> int:
    """Return the largest timestamp of the batches after the last index entry, up to any damage."""
    found = -1
    try:
        for place in walk(
            segment.file(), last.value if last is not None else 0, segment.size_bytes
        ):
            found = max(found, place.max_timestamp)
    except CorruptMessage:
        return found
    return found


def leads_to_batch(
    segment: IndexedFile, position: int, offset: int, *, whole: bool = False
) -> bool:
    """Whether a batch begins at a position, and its base offset is not above an offset.

    Args:
        segment: the segment with the .log file.
        position: a position from an index.
        offset: the batch's base offset must be at or below it.
        whole: the batch's last offset must be at or below `offset`, too.

    Raises:
        OSError: the file cannot be read.
    """
    if not 0 <= position < segment.size_bytes - FRAME_MIN:
        return False
    head = segment.file().read_at(position, HEADER.size).ljust(HEADER.size, b"\0")
    first, length, _, magic, _, _, delta, _, _ = HEADER.unpack(head)
    last = first + (delta if magic >= MAGIC_V2 else 0)
    try:
        size_bytes = checked_size(length, position)
    except CorruptMessage:
        return False
    return (
        0 <= magic <= MAGIC_V2
        and segment.base_offset <= first <= last
        and (last if whole else first) <= offset
        and size_bytes <= segment.size_bytes - position
    )


def is_true_time(segment: IndexedFile, entry: IndexEntry) -> bool:
    """Whether the batch with a time index entry's offset has the entry's timestamp.

    Raises:
        OSError: a file cannot be read.

    See: S-14.
    """
    offset = segment.base_offset + entry.value
    try:
        found = segment.find(offset)
        if found is None:
            return False
        place = next(walk(segment.file(), found[0], segment.size_bytes))
    except CorruptMessage:
        return False
    return place.max_timestamp == entry.key


def rebuild(segment: IndexedFile, reason: str) -> None:
    """Rebuild both indexes from the headers of the batches.

    If the batches cannot be read to the end, the .log file itself is damaged. Then the indexes
    stay, because they still lead to the batches after the damage, and are not checked again.

    Raises:
        OSError: a file cannot be read or written.

    See: S-13, S-43 (LogSegment.recover).
    """
    if not _is_whole(segment):
        logger.warning("segment is damaged path=%s found_by=%s", segment.path, reason)
        segment.is_trusted = True
        return
    logger.warning("indexes made anew path=%s reason=%s", segment.path, reason)
    was_open = segment.offset_index.is_open
    segment.offset_index.create()
    segment.time_index.create()
    segment.begin_timestamps()
    indexed_position = 0
    for place in walk(segment.file(), 0, segment.size_bytes):
        segment.note_timestamp(place.position, place.max_timestamp, place.last_offset)
        if place.position - indexed_position > INDEX_INTERVAL_BYTES:
            segment.offset_index.append(place.last_offset - segment.base_offset, place.position)
            segment.close_time_index()
            indexed_position = place.position
    segment.close_time_index()
    if not was_open:
        segment.offset_index.close()
        segment.time_index.close()


def _is_whole(segment: IndexedFile) -> bool:
    """Whether the .log file consists of complete batches in the order of their offsets."""
    end, end_offset = 0, segment.base_offset
    ceiling = segment.base_offset + RELATIVE_OFFSET_END
    try:
        for place in walk(segment.file(), 0, segment.size_bytes):
            if not end_offset <= place.base_offset <= place.last_offset < ceiling:
                return False
            end, end_offset = place.position + place.size_bytes, place.last_offset + 1
    except CorruptMessage:
        return False
    return end == segment.size_bytes
