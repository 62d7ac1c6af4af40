"""Ranges of segment files rewritten for clients that know only messages of magic 0 and 1.

The answer is as long as the range, as its size was counted already when the request's limits were
applied: what is longer after conversion is cut, what is shorter ends with a message that seems to
go on behind the answer's end, which such clients pass over. So memory holds no more than the answer
and the entries that are being converted, a piece of the file at a time.

Kafka converts while it sends; here all of an answer is converted before.

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
    """Read a range and give its records in an older format; may run in a worker thread.

    Args:
        records: begins with an entry, and may end inside one.
        magic: 0 or 1, the highest that the client knows.
        first_offset: that the client asked for.
        bounds: of each batch's records.

    Returns:
        As many bytes as the range has, more if its first entry needs them, fewer when no record is
        left; none when the range holds no whole entry.

    Raises:
        UnsupportedCompressionType: the first records are of zstd.
        BrokerError: the first entries are damaged.
        KafkaStorageError: the file cannot be read.
        WorkStopped: by the bounds' stop.
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
        # The client gets what is in front of it, and the error when it asks for what is here.
        logger.debug("conversion ends early magic=%d reason=%r", magic, error)
    if left_bytes > 0:
        converted.append(_overflow(left_bytes))
    return b"".join(converted)


def _overflow(size_bytes: int) -> bytes:
    """The begin of a message that is longer than what is left of the answer."""
    head = _OVERFLOW.pack(-1, max(size_bytes + 1, _OVERFLOW_LENGTH_MIN))
    return head[:size_bytes].ljust(size_bytes, b"\0")


class _Pieces:
    """The entries of a range, read and converted a few at a time."""

    def __init__(self, records: FileSlice, magic: int, first_offset: int, bounds: Bounds) -> None:
        self.has_begun = False
        self._fd = records.fd
        self._magic = magic
        self._first_offset = first_offset
        self._bounds = bounds
        self._entries = self._walk(records.position, records.position + records.size_bytes)
        self._next: Entry | None = None

    def has_more(self) -> bool:
        """Whether another entry lies wholly in the range."""
        if self._next is None:
            self._next = next(self._entries, None)
        return self._next is not None

    def convert(self, size_bytes_max: int) -> bytes:
        """Convert entries of up to so many bytes, at least one.

        Raises:
            BrokerError: one of them cannot be converted, so none of them is.
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
