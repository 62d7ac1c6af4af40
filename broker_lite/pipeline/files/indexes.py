"""The indexes of a segment, read through a FileIO.

An index is a hint; batches decide. A missing file answers nothing. Kafka extends the files of the
active segment with zeros (S-12), so an entry of zeros is none, and counts as behind all others. An
entry that lies leads to a wrong place, never to an error: who follows it looks at the batch there.

A search reads pages of 4096 entries, by bisection: a file of 10 MB takes eight of them.
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
    """The batch at a position, or the last one of an append that starts there, ends at an offset.

    See: S-10 (OffsetIndex).
    """

    offset: int
    position: int


class TimeEntry(NamedTuple):
    """No record up to an offset is younger than a timestamp.

    See: S-11 (TimeIndex).
    """

    timestamp_ms: int
    offset: int


def offset_entry_below(io: FileIO, segment: Segment, offset: int) -> OffsetEntry | None:
    """Find the last entry whose offset is not above the given one.

    See: S-21 (AbstractIndex.largestLowerBoundSlotFor).
    """
    with _open_pairs(io, segment, INDEX_SUFFIX, OffsetIndex.ENTRY) as pairs:
        found = bisect_right(pairs.indices, offset - segment.base_offset, key=pairs.first)
        return _offset_entry(pairs, segment, found - 1) if found else None


def offset_entry_in_front(io: FileIO, segment: Segment, position: int) -> OffsetEntry | None:
    """Find the last entry whose position is not behind the given one."""
    with _open_pairs(io, segment, INDEX_SUFFIX, OffsetIndex.ENTRY) as pairs:
        found = bisect_right(pairs.indices, position, key=pairs.second)
        return _offset_entry(pairs, segment, found - 1) if found else None


def offset_entries_near(
    io: FileIO, segment: Segment, positions: Sequence[int]
) -> list[OffsetEntry]:
    """Find for each position the entry that lies nearest to it, no entry twice."""
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
    """Find the last entry whose timestamp is not above the given one.

    See: S-21, S-23 (AbstractIndex.largestLowerBoundSlotFor).
    """
    with _open_pairs(io, segment, TIME_INDEX_SUFFIX, TimeIndex.ENTRY) as pairs:
        found = bisect_right(pairs.indices, timestamp_ms, key=pairs.first)
        return _time_entry(pairs, segment, found - 1) if found else None


def indexed_offsets_from(io: FileIO, segment: Segment, suffix: str, offset: int) -> list[int]:
    """Give the offsets of the last entries of an index, those that are not below an offset.

    They come backwards, as long as each entry is below the one behind it, and no more than many.

    Args:
        io: of the segment.
        segment: any.
        suffix: of .index or .timeindex.
        offset: the lowest one of interest.
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
    """Read the index of aborted transactions; a partial entry at its end does not count.

    Here a wrong entry is an error, since its records could not be told from others: who catches it
    looks for the markers in the batches.

    Raises:
        CorruptTransactionIndex: an entry has a newer version, or cannot be one of the segment.

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
            # One that is larger than its log is full of lies, which shall not take all memory.
            return file.read_at(0, min(file.size_bytes, segment.size_bytes + _PAGE_BYTES))
    except FileNotFoundError:
        return b""  # deleted since it was listed


def _offset_entry(pairs: "_Pairs", segment: Segment, index: int) -> OffsetEntry:
    return OffsetEntry(segment.base_offset + pairs.first(index), pairs.second(index))


def _time_entry(pairs: "_Pairs", segment: Segment, index: int) -> TimeEntry:
    return TimeEntry(pairs.first(index), segment.base_offset + pairs.second(index))


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
    """The entries of a file, read by pages; zeros are behind all numbers."""

    __slots__ = ("_entry", "_file", "_pages", "indices")

    def __init__(self, file: ReadableFile | None, entry: struct.Struct) -> None:
        self._file = file
        self._entry = entry
        self._pages: dict[int, bytes] = {}
        self.indices = range(file.size_bytes // entry.size if file is not None else 0)

    def first(self, index: int) -> int:
        """What is searched for in order: a relative offset, a timestamp."""
        return self._at(index)[0]

    def second(self, index: int) -> int:
        """What it leads to: a position, a relative offset."""
        return self._at(index)[1]

    def backwards(self, step: int) -> Iterator[tuple[int, int]]:
        """Yield the entries from the last on, up to the first that is not below the one behind it.

        Args:
            step: by how much what they lead to is above that of the one in front at least.
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
        # The first entry may be one of a timestamp of 0, unless more zeros follow.
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
            return 0, 0  # cut since it was opened, as on roll
        first, second = self._entry.unpack_from(page, within * size_bytes)
        return first, second
