"""The CRC-32C of two buffers in a row, from that of each.

A batch that is sent again and again changes only in its header. So the checksum of its records is
computed once, and each request needs that of some 40 bytes, and four look-ups. Without this, the
records would be read a second time for each request, mostly from slow memory.

The way is that of zlib's crc32_combine: appending zeros is linear over the bits of a checksum.
"""

from functools import cache
from typing import Final

_POLYNOMIAL: Final = 0x82F63B78  # of CRC-32C, the lowest bit first
_BITS: Final = 32
_Matrix = list[int]  # a column for each bit


class CrcAppend:
    """Appends buffers of one size to a checksum."""

    __slots__ = ("_tables",)

    def __init__(self, size_bytes: int) -> None:
        """Prepare the look-ups, which takes a millisecond.

        Args:
            size_bytes: of each buffer that is appended.
        """
        columns = _zeros(size_bytes)
        self._tables = tuple(
            [_times(columns, byte << shift) for byte in range(256)] for shift in (0, 8, 16, 24)
        )

    def crc(self, before: int, appended: int) -> int:
        """Return the checksum of both.

        Args:
            before: the checksum of what comes first.
            appended: the checksum of the buffer.
        """
        lowest, low, high, highest = self._tables
        return (
            lowest[before & 0xFF]
            ^ low[before >> 8 & 0xFF]
            ^ high[before >> 16 & 0xFF]
            ^ highest[before >> 24]
            ^ appended
        )


@cache
def append_of(size_bytes: int) -> CrcAppend:
    """Return the one for a size; batches of a run have few different ones."""
    return CrcAppend(size_bytes)


def _zeros(size_bytes: int) -> _Matrix:
    """Return what so many zero bytes do to a checksum."""
    step = [_POLYNOMIAL, *(1 << bit for bit in range(_BITS - 1))]  # one zero bit
    for _ in range(3):
        step = [_times(step, column) for column in step]  # one zero byte
    found = [1 << bit for bit in range(_BITS)]
    while size_bytes:
        if size_bytes & 1:
            found = [_times(step, column) for column in found]
        step = [_times(step, column) for column in step]
        size_bytes >>= 1
    return found


def _times(matrix: _Matrix, bits: int) -> int:
    product = 0
    for column in matrix:
        if bits & 1:
            product ^= column
        bits >>= 1
    return product
