"""Searches in the indexes of a segment, through a FileIO.

An index is only a hint: callers check the batch that an entry leads to, so a wrong entry costs time
and is no error. A missing file has no entries. Kafka extends the files of the active segment with
zeros (S-12), so an entry of zeros is none, and sorts behind all others.

A search bisects over pages of 4096 entries; in a file of 10 MB it reads eight pages.
"""

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice, takewhile
from typing import Final, NamedTuple

from broker_lite.log.files.index import OffsetIndex, TimeIndex
from broker_lite.log.files.names import INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX
from broker_lite.log.files.txn_index import ENTRY as TRANSACTION_ENTRY
from broker_lite.log.files.txn_index import (
    VERSION,
    AbortedTransaction,
    CorruptTransactionIndex,
    stored_entries,
)
from broker_lite.pipeline.files.file_io import FileIO, ReadableFile
from broker_lite.pipeline.files.layout import Segment

_PAGE_ENTRIES: Final = 4096
_PAGE_BYTES: Final = 1 << 20
_BEHIND_ALL: Final = 1 << 64
_TAIL_ENTRIES_MAX: Final = 1000


class OffsetEntry(NamedTuple):
    """An append that starts at `position` ends with `offset`.

    See: S-10 (OffsetIndex).
    """

    offset: int
    position: int


class TimeEntry(NamedTuple):
    """No record up to `offset` has a later timestamp than `timestamp_ms`.

    See: S-11 (TimeIndex).
    """

    timestamp_ms: int
    offset: int


def offset_entry_below(io: FileIO, segment: Segment, offset: int) -> OffsetEntry | None:
    """Return the last entry whose offset is at most the given one.

    See: S-21 (AbstractIndex.largestLowerBoundSlotFor).
    """
    with _open_pairs(io, segment, INDEX_SUFFIX, OffsetIndex.ENTRY) as pairs:
        found = bisect_right(pairs.indices, offset - segment.base_offset, key=pairs.first)
        return _offset_entry(pairs, segment, found - 1) if found else None


def offset_entry_in_front(io: FileIO, segment: Segment, position: int) -> OffsetEntry | None:
    """Return the last entry whose position is at most the given one."""
    with _open_pairs(io, segment, INDEX_SUFFIX, OffsetIndex.ENTRY) as pairs:
        found = bisect_right(pairs.indices, position, key=pairs.second)
        return _offset_entry(pairs, segment, found - 1) if found else None


def offset_entries_near(
    io: FileIO, segment: Segment, positions: Sequence[int]
) -> list[OffsetEntry]:
    """Return the entry nearest to each position, without duplicates."""
    found = []
    with _open_pairs(io, segment, INDEX_SUFFIX, OffsetIndex.ENTRY) as pairs:
        for position in positions:
            behind = bisect_left(pairs.indices, position, key=pairs.second)
            around = [
                _offset_entry(pairs, segment, index)
                for index in (behind - 1, behind)
                if index in pairs.indices and pairs.second(index) != _BEHIND_ALL
            ]
            if around:
                found.append(min(around, key=lambda entry: abs(entry.position - position)))
    return list(dict.fromkeys(found))


def time_entry_below(io: FileIO, segment: Segment, timestamp_ms: int) -> TimeEntry | None:
    """Return the last entry whose timestamp is at most the given one.

    See: S-21, S-23 (AbstractIndex.largestLowerBoundSlotFor).
    """
    with _open_pairs(io, segment, TIME_INDEX_SUFFIX, TimeIndex.ENTRY) as pairs:
        found = bisect_right(pairs.indices, timestamp_ms, key=pairs.first)
        if not found:
            return None
        return TimeEntry(pairs.first(found - 1), segment.base_offset + pairs.second(found - 1))


def indexed_offsets_from(io: FileIO, segment: Segment, suffix: str, offset: int) -> list[int]:
    """Return the offsets, from the end of an index backwards, that are at least a given one.

    The search stops at the first entry out of order, and after 1000 entries.

    Args:
        io: opens the segment.
        segment: any.
        suffix: that of .index or .timeindex.
        offset: the lowest offset of interest.
    """
    is_offsets = suffix == INDEX_SUFFIX
    entry = OffsetIndex.ENTRY if is_offsets else TimeIndex.ENTRY
    with _open_pairs(io, segment, suffix, entry) as pairs:
        relative = offset - segment.base_offset
        return [
            segment.base_offset + (first if is_offsets else second)
            for first, second in takewhile(
                lambda pair: pair[0 if is_offsets else 1] >= relative,
                islice(pairs.backwards(step=1 if is_offsets else 0), _TAIL_ENTRIES_MAX),
            )
        ]


def aborted_transactions(io: FileIO, segment: Segment) -> list[AbortedTransaction]:
    """Read the index of aborted transactions; a partial entry at its end is ignored.

    A wrong entry is an error here: aborted records would pass for committed ones. The caller then
    reads the markers in the batches instead.

    Raises:
        CorruptTransactionIndex: an entry has an unknown version, or does not fit the segment.

    See: S-15, S-16 (TransactionIndex).
    """
    data = _content(io, segment, TRANSACTION_INDEX_SUFFIX)
    found: list[AbortedTransaction] = []
    lowest = segment.base_offset
    for number, (version, entry) in enumerate(stored_entries(data)):
        is_order = entry.first_offset <= entry.last_offset and entry.last_offset >= lowest
        if version != VERSION or not is_order:
            path = segment.stem + TRANSACTION_INDEX_SUFFIX
            position = number * TRANSACTION_ENTRY.size
            raise CorruptTransactionIndex(f"{path}: no entry of it at position {position} (S-16)")
        lowest = entry.last_offset + 1
        found.append(entry)
    return found


def _content(io: FileIO, segment: Segment, suffix: str) -> bytes:
    if suffix not in segment.suffixes:
        return b""
    try:
        with io.open(segment.stem + suffix) as file:
            # A larger index than its log is damaged; the bound keeps it from filling the memory.
            return file.read_at(0, min(file.size_bytes, segment.size_bytes + _PAGE_BYTES))
    except FileNotFoundError:
        return b""  # deleted since it was listed


def _offset_entry(pairs: "_Pairs", segment: Segment, index: int) -> OffsetEntry:
    return OffsetEntry(segment.base_offset + pairs.first(index), pairs.second(index))


@contextmanager
def _open_pairs(
    io: FileIO, segment: Segment, suffix: str, entry: struct.Struct
) -> Iterator["_Pairs"]:
    if suffix not in segment.suffixes:
        yield _Pairs(None, entry)
        return
    try:
        file = io.open(segment.stem + suffix)
    except FileNotFoundError:  # deleted since it was listed
        yield _Pairs(None, entry)
        return
    with file:
        yield _Pairs(file, entry)


class _Pairs:
    """The entries of a file, read by pages; entries of zeros sort behind all others."""

    __slots__ = ("_entry", "_file", "_pages", "indices")

    def __init__(self, file: ReadableFile | None, entry: struct.Struct) -> None:
        self._file = file
        self._entry = entry
        self._pages: dict[int, bytes] = {}
        self.indices = range(file.size_bytes // entry.size if file is not None else 0)

    def first(self, index: int) -> int:
        """The sorted number of an entry: a relative offset or a timestamp."""
        return self._at(index)[0]

    def second(self, index: int) -> int:
        """The number it leads to: a position or a relative offset."""
        return self._at(index)[1]

    def backwards(self, step: int) -> Iterator[tuple[int, int]]:
        """Yield the entries from the last one backwards; stop at the first that is out of order.

        Args:
            step: the least difference between the second numbers of two neighbours.
        """
        behind = _BEHIND_ALL, _BEHIND_ALL
        index = bisect_left(self.indices, _BEHIND_ALL, key=self.first) - 1
        while index >= 0:
            pair = self._at(index)
            if not (0 <= pair[0] < behind[0] and 0 <= pair[1] <= behind[1] - step):
                return
            yield pair
            behind = pair
            index -= 1

    def _at(self, index: int) -> tuple[int, int]:
        pair = self._read(index)
        if pair != (0, 0):
            return pair
        # An all-zero first entry is real (timestamp 0) unless more zeros follow.
        is_entry = index == 0 and (len(self.indices) == 1 or self._read(1) != (0, 0))
        return pair if is_entry else (_BEHIND_ALL, _BEHIND_ALL)

    def _read(self, index: int) -> tuple[int, int]:
        assert self._file is not None, "without a file there are no indices"
        number, within = divmod(index, _PAGE_ENTRIES)
        page = self._pages.get(number)
        size_bytes = self._entry.size
        if page is None:
            page_bytes = _PAGE_ENTRIES * size_bytes
            page = self._file.read_at(number * page_bytes, page_bytes)
            self._pages[number] = page
        if (within + 1) * size_bytes > len(page):
            return 0, 0  # truncated since it was opened, as a roll does
        first, second = self._entry.unpack_from(page, within * size_bytes)
        return first, second
