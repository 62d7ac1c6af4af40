"""All entries of an index file in their order, as they are written: nothing is believed of them.

For those who look at the indexes themselves, and for those who have to find a place behind damage.
A search for one entry is in indexes.py.
"""

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from broker_lite.log.names import INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX
from broker_lite.log.txn_index import ENTRY as TRANSACTION_ENTRY
from broker_lite.log.txn_index import AbortedTransaction
from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.files.layout import Segment

_OFFSET: Final = struct.Struct(">ii")
_TIME: Final = struct.Struct(">qi")
_PAGE_ENTRIES: Final = 8192


class IndexEntry(NamedTuple):
    """A key and what it leads to; relative offsets are made absolute."""

    key: int
    value: int


def offset_entries(io: FileIO, segment: Segment) -> Iterator[IndexEntry]:
    """Yield offset and position of the entries of .index.

    Rule: S-10, S-12 (OffsetIndex).
    """
    for relative, position in _entries(io, segment, INDEX_SUFFIX, _OFFSET):
        yield IndexEntry(segment.base_offset + relative, position)


def time_entries(io: FileIO, segment: Segment) -> Iterator[IndexEntry]:
    """Yield timestamp and offset of the entries of .timeindex.

    Rule: S-11, S-12 (TimeIndex).
    """
    for timestamp, relative in _entries(io, segment, TIME_INDEX_SUFFIX, _TIME):
        yield IndexEntry(timestamp, segment.base_offset + relative)


def transaction_entries(io: FileIO, segment: Segment) -> Iterator[AbortedTransaction]:
    """Yield the entries of .txnindex.

    Rule: S-16 (TransactionIndex).
    """
    for _, *fields in _entries(io, segment, TRANSACTION_INDEX_SUFFIX, TRANSACTION_ENTRY):
        yield AbortedTransaction(*fields)


def next_indexed_position(io: FileIO, segment: Segment, position: int, end: int) -> int:
    """Find the first position behind the given one that the offset index has, else the end."""
    behind = (entry.value for entry in offset_entries(io, segment) if entry.value > position)
    return min(next(behind, end), end)


def _entries(
    io: FileIO, segment: Segment, suffix: str, entry: struct.Struct
) -> Iterator[tuple[int, ...]]:
    """Yield the fields of the entries up to the first one of zeros, behind which all are none."""
    if suffix not in segment.suffixes:
        return
    try:
        file = io.open(segment.stem + suffix)
    except FileNotFoundError:
        return  # deleted since it was listed
    with file:
        position, zeros = 0, (0,) * len(entry.unpack(bytes(entry.size)))
        while page := file.read_at(position, _PAGE_ENTRIES * entry.size):
            whole = len(page) // entry.size * entry.size
            for fields in entry.iter_unpack(memoryview(page)[:whole]):
                if fields == zeros:
                    return
                yield fields
            if not whole:
                return
            position += whole
