"""snappy in the xerial framing of snappy-java, and as one raw block.

A stream is a 16-byte header, then blocks: int32 size, raw snappy block. Data that does not start
with the magic is taken for one raw block, because very old producers sent it so.

Rule: R-77 (SnappyCompression, org.xerial.snappy.SnappyInputStream).
"""

import struct
import sys
from typing import Final, NamedTuple

import cramjam
import snappy

from broker_lite.record.codecs.decompressed import Bounds, Decompressed, Parts, TooManyParts
from broker_lite.record.stopping import NEVER, Stop

_MAGIC: Final[bytes] = b"\x82SNAPPY\x00"
_HEADER: Final = _MAGIC + bytes.fromhex("0000000100000001")
_INT32: Final = struct.Struct(">i")
_BLOCK_INPUT_BYTES: Final = 32 * 1024
_STEP_BYTES: Final = 2 * 1024

# The best ratio of a raw block: 64 bytes from a copy of 3.
_RATIO_MAX: Final = 22


class _Block(NamedTuple):
    """A raw block: its output, or the reason why there is none."""

    data: bytes | memoryview
    failed: bool
    limit_exceeded: bool


def compress(
    data: bytes | memoryview, level: int, stop: Stop = NEVER, memory_bytes_max: int = sys.maxsize
) -> bytes:
    """Write a stream with a block for each 32 KiB; there are no levels."""
    parts = [_HEADER]
    for position in range(0, len(data), _BLOCK_INPUT_BYTES):
        stop.check()
        block = snappy.compress(data[position : position + _BLOCK_INPUT_BYTES])
        parts += (_INT32.pack(len(block)), block)
    return b"".join(parts)


def decompress(data: memoryview, bounds: Bounds) -> Decompressed:
    """Read a stream or a raw block; see compression.decompress.

    A block is read whole or not at all: if the limit is exceeded, the data ends before that block.
    """
    if len(data) < len(_HEADER) or data[: len(_MAGIC)] != _MAGIC:
        return Decompressed(*_raw_block(data, bounds.output_bytes_max))
    output = bytearray()
    try:
        return _read_blocks(data, output, bounds)
    except TooManyParts:
        return Decompressed(output, False, True)


def _read_blocks(data: memoryview, output: bytearray, bounds: Bounds) -> Decompressed:
    parts = Parts(bounds)
    output_bytes_max = bounds.output_bytes_max
    position = len(_HEADER)
    after_block = False
    while len(data) - position >= _INT32.size:
        parts.take()
        header = data[position : position + len(_HEADER)]
        if header[:4] == _MAGIC[:4]:
            if len(header) < len(_HEADER) or (header[:8] == _MAGIC and _version(header) < 1):
                return _failed(output)
            # Another magic ends one read of Java's stream; the next read goes on, if there is one.
            if header[:8] != _MAGIC and not after_block:
                break
            position += len(_HEADER)
            after_block = header[:8] == _MAGIC and after_block
            continue
        size_bytes = _INT32.unpack_from(data, position)[0]
        position += _INT32.size
        if not 0 < size_bytes <= len(data) - position:
            return _failed(output)
        block = _raw_block(data[position : position + size_bytes], output_bytes_max)
        if block.limit_exceeded:
            return Decompressed(output, False, True)
        if block.failed:
            return _failed(output)
        output += block.data
        output_bytes_max -= len(block.data)
        position += size_bytes
        after_block = True
    return Decompressed(output, False, False)


def _failed(output: bytearray) -> Decompressed:
    # Java's stream is read in steps. An error loses the output of the step in which it happens.
    del output[len(output) - len(output) % _STEP_BYTES :]
    return Decompressed(output, True, False)


def _version(header: memoryview) -> int:
    version: int = _INT32.unpack_from(header, 8)[0]
    return version


def _raw_block(data: memoryview, room_bytes: int) -> _Block:
    declared_bytes = _declared_bytes(data)
    # The decoder allocates as many bytes as the block declares, so that is bounded first.
    if declared_bytes is None or declared_bytes > _RATIO_MAX * len(data):
        return _Block(b"", True, False)
    if declared_bytes > room_bytes:
        return _Block(b"", False, True)
    try:
        # cramjam returns a view; python-snappy copies, which holds the interpreter lock for 40 ms
        # with 60 MB
        return _Block(memoryview(cramjam.snappy.decompress_raw(data)), False, False)
    except cramjam.DecompressionError:
        return _Block(b"", True, False)


def _declared_bytes(data: memoryview) -> int | None:
    """Return the length that a raw block starts with, None if it is not readable."""
    value = 0
    for index, byte in enumerate(data[:5]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value
    return None
