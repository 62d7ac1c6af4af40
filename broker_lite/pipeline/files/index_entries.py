"""All entries of an index file in their order, as they are written: nothing is believed of them.

The search for one entry is in indexes.py.
"""

import sys
from array import array
from collections.abc import Iterator
from typing import Final

from broker_lite.log.files.names import INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX
from broker_lite.log.files.txn_index import ENTRY as TRANSACTION_ENTRY
from broker_lite.log.files.txn_index import AbortedTransaction, stored_entries
from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.files.layout import Segment
from broker_lite.record.batch_walk import IndexCursor

_OFFSET_NUMBERS: Final = 2
_TIME_NUMBERS: Final = 3
PAGE_ENTRIES: Final = 8192
_BEYOND_BYTES: Final = 1 << 20


def offset_entries(io: FileIO, segment: Segment) -> IndexCursor:
    """Return the entries of .index: relative offsets and positions; both must rise.

    Raises:
        OSError: the file cannot be read.

    See: S-10, S-12 (OffsetIndex).
    """
    return IndexCursor(_numbers(io, segment, INDEX_SUFFIX, _OFFSET_NUMBERS), _OFFSET_NUMBERS, 1)


def time_entries(io: FileIO, segment: Segment) -> IndexCursor:
    """Return the entries of .timeindex: rising timestamps, and relative offsets that never fall.

    Raises:
        OSError: the file cannot be read.

    See: S-11, S-12 (TimeIndex).
    """
    return IndexCursor(_numbers(io, segment, TIME_INDEX_SUFFIX, _TIME_NUMBERS), _TIME_NUMBERS, 0)


def transaction_entries(io: FileIO, segment: Segment) -> Iterator[AbortedTransaction]:
    """Yield the entries of .txnindex.

    See: S-16 (TransactionIndex).
    """
    data = b"".join(_pages(io, segment, TRANSACTION_INDEX_SUFFIX, TRANSACTION_ENTRY.size))
    for version, entry in stored_entries(data):
        if not (version or any(entry)):
            return
        yield entry


def _numbers(io: FileIO, segment: Segment, suffix: str, width: int) -> memoryview:
    """Read the complete entries of a file as 32-bit numbers."""
    data = b"".join(_pages(io, segment, suffix, width * 4))
    numbers = array("i", data[: len(data) // (width * 4) * (width * 4)])
    if sys.byteorder == "little":
        numbers.byteswap()
    return memoryview(numbers)


def _pages(io: FileIO, segment: Segment, suffix: str, entry_bytes: int) -> Iterator[bytes]:
    """Read pages of entries up to the first page that ends with zeros.

    A sound index is smaller than its log; a larger one is read only up to about the log's size.
    """
    if suffix not in segment.suffixes:
        return
    try:
        file = io.open(segment.stem + suffix)
    except FileNotFoundError:
        return  # deleted since it was listed
    with file:
        position = 0
        while page := file.read_at(position, PAGE_ENTRIES * entry_bytes):
            yield page
            if position > segment.size_bytes + _BEYOND_BYTES:
                return
            position += len(page)
            if len(page) % entry_bytes or not any(page[-entry_bytes:]):
                return
