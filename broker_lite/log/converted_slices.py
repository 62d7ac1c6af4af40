"""Converts ranges of segment files for clients that know only messages of magic 0 and 1.

The answer is as long as the range, because the request's limits have counted that size already. A
result that is longer is cut. A result that is shorter ends with the begin of a message that seems
to go on behind the answer's end; such clients ignore it. The file is converted piece by piece, so
memory holds only the answer and the entries that are being converted.

Kafka converts while it sends; this module converts the whole answer before.

A difference to Kafka: where control batches come first in the answer to a Fetch below version 4,
the records behind them come once. Kafka 3.9 sends them twice.

Rule: F-62 (LazyDownConversionRecords, LazyDownConversionRecordsSend).
See: F-60, F-61.
"""

import logging
import os
import struct
from collections.abc import Iterator
from typing import Final

from broker_lite.errors import BrokerError, KafkaStorageError
from broker_lite.log.files.open_file import FileSlice
from broker_lite.log.files.walk import HEADER, frames
from broker_lite.record.codecs.decompressed import Bounds
from broker_lite.record.framing import LOG_OVERHEAD, Entry
from broker_lite.record.legacy.down_conversion import down_convert

logger = logging.getLogger("broker_lite.log")

PIECE_BYTES: Final = 128 * 1024
_OVERFLOW: Final = struct.Struct(">qi")
_OVERFLOW_LENGTH_MIN: Final = 61


def convert_slice(
    records: FileSlice,
    magic: int,
    *,
    first_offset: int,
    bounds: Bounds,
) -> bytes:
    """Convert the records of a range to an older format; may run in a worker thread.

    Args:
        records: the range; it begins with an entry, and may end inside one.
        magic: 0 or 1, the highest that the client knows.
        first_offset: the offset that the client asked for.
        bounds: of each batch's records.

    Returns:
        As many bytes as the range has; more if the first entry needs more; fewer if no record is
        left; none if the range holds no whole entry.

    Raises:
        UnsupportedCompressionType: the first records are compressed with zstd.
        BrokerError: the first entries are damaged.
        KafkaStorageError: the file cannot be read.
        WorkStopped: the bounds' stop has ended the work.
    """
    pieces = _Pieces(records, magic, first_offset, bounds)
    try:
        first = b""
        while not first and pieces.has_more():
            first = pieces.convert(0)
    except OSError as error:
        raise KafkaStorageError from error
    if not first:
        return _overflow(LOG_OVERHEAD) if pieces.has_begun else b""
    size_bytes = max(records.size_bytes, len(first))
    converted = [first]
    left_bytes = size_bytes - len(first)
    try:
        while left_bytes > 0 and pieces.has_more():
            piece = pieces.convert(PIECE_BYTES)
            converted.append(piece[:left_bytes])
            left_bytes -= len(piece)
    except (BrokerError, OSError) as error:
        # The client gets the records before this place. It gets the error when it asks for these.
        logger.debug("conversion ends early magic=%d reason=%r", magic, error)
    if left_bytes > 0:
        converted.append(_overflow(left_bytes))
    return b"".join(converted)


def _overflow(size_bytes: int) -> bytes:
    """Make the begin of a message that is longer than the rest of the answer."""
    head = _OVERFLOW.pack(-1, max(size_bytes + 1, _OVERFLOW_LENGTH_MIN))
    return head[:size_bytes].ljust(size_bytes, b"\0")


class _Pieces:
    """Reads and converts the entries of a range, a few at a time."""

    def __init__(self, records: FileSlice, magic: int, first_offset: int, bounds: Bounds) -> None:
        self.has_begun = False
        self._fd = records.fd
        self._magic = magic
        self._first_offset = first_offset
        self._bounds = bounds
        self._entries = self._walk(records.position, records.position + records.size_bytes)
        self._next: Entry | None = None

    def has_more(self) -> bool:
        """Tell whether another whole entry lies in the range."""
        if self._next is None:
            self._next = next(self._entries, None)
        return self._next is not None

    def convert(self, size_bytes_max: int) -> bytes:
        """Convert entries of up to this size, at least one.

        Raises:
            BrokerError: an entry cannot be converted, and so the call converts none.
            OSError: the file cannot be read.
        """
        converted: list[bytes | memoryview] = []
        left_bytes = size_bytes_max
        while not converted or left_bytes > 0:
            entry = self._next if self.has_more() else None
            if entry is None or (converted and entry.size_bytes > left_bytes):
                break
            self._next = None
            self.has_begun = True
            left_bytes -= entry.size_bytes
            data = memoryview(self.read_at(entry.position, entry.size_bytes))
            converted.append(
                down_convert(
                    data,
                    Entry(0, entry.size_bytes, entry.magic),
                    self._magic,
                    first_offset=self._first_offset,
                    bounds=self._bounds,
                )
            )
        return b"".join(converted)

    def _walk(self, position: int, end: int) -> Iterator[Entry]:
        """See: R-04."""
        for chunk, at, start, size_bytes in frames(self, position, end):
            yield Entry(start, size_bytes, HEADER.unpack_from(chunk, at)[3])

    def read_at(self, position: int, size_bytes: int) -> bytes:
        """As ReadsAt."""
        return os.pread(self._fd, size_bytes, position)
