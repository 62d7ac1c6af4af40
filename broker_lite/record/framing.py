"""The framing that all entries of a log have, whatever their magic, and the walk over it.

An entry is a v2 batch, or a message or wrapper of magic 0 or 1. It begins with an int64 offset and
an int32 length of the bytes that follow; byte 16 is the magic, which decides the layout of the
rest.

Rule: R-01, R-02.
"""

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from broker_lite.errors import CorruptMessage, UnknownServerError

LOG_OVERHEAD: Final = 12
MAGIC_OFFSET: Final = 16
HEADER_SIZE_UP_TO_MAGIC: Final = 17
RECORD_OVERHEAD_V0: Final = 14
CURRENT_MAGIC: Final = 2

_INT32_MAX: Final = 2**31 - 1
_INT32: Final = struct.Struct(">i")
_PREFIX: Final = struct.Struct(">qiib")


class Entry(NamedTuple):
    """Where one complete entry of any magic lies in its buffer or file."""

    position: int
    size_bytes: int
    magic: int


def walk(buffer: bytes | bytearray | memoryview, position: int = 0) -> Iterator[Entry]:
    """Yield the complete entries of a buffer; a partial one at the end is ignored.

    Raises:
        CorruptMessage: a length is below 14, or a magic does not exist; this is checked even if the
            entry is not complete.
        UnknownServerError: a length so near to 2**31 that Java's sum with 12 overflows.

    Rule: R-03 (ByteBufferLogInputStream.nextBatch).
    """
    end = len(buffer)
    while end - position >= HEADER_SIZE_UP_TO_MAGIC:
        _, length, _, magic = _PREFIX.unpack_from(buffer, position)
        if length < RECORD_OVERHEAD_V0:
            raise _below_minimum(length)
        if not 0 <= magic <= CURRENT_MAGIC:
            raise CorruptMessage(f"Invalid magic found in record: {magic}")
        size_bytes = LOG_OVERHEAD + length
        if size_bytes > _INT32_MAX:
            raise UnknownServerError("newLimit < 0")
        if size_bytes > end - position:
            return
        yield Entry(position, size_bytes, magic)
        position += size_bytes
    if end - position >= LOG_OVERHEAD:
        # The length is checked even if the magic is not there yet.
        length = _INT32.unpack_from(buffer, position + 8)[0]
        if length < RECORD_OVERHEAD_V0:
            raise _below_minimum(length)


def valid_bytes(buffer: bytes | bytearray | memoryview) -> int:
    """Return the sum of the sizes of the complete entries.

    Raises:
        CorruptMessage: see walk().

    Rule: R-05 (MemoryRecords.validBytes).
    """
    return sum(entry.size_bytes for entry in walk(buffer))


def _below_minimum(length: int) -> CorruptMessage:
    return CorruptMessage(
        f"Record size {length} is less than the minimum record overhead ({RECORD_OVERHEAD_V0})"
    )
