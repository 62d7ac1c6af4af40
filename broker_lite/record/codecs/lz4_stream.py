"""lz4 frames, read by the rules of Kafka's own reader, which are not those of the lz4 library.

The frame is parsed here, the library decodes the blocks. Kafka's reader requires independent
blocks, checks header and block checksums, ignores content size and content checksum, and stops at
the first end mark. The library has no function for its checksum (xxh32), so it has to check the
checksums itself: a header is passed to get_frame_info, and a block with a checksum is put into a
frame of one block.

Rule: R-78, R-79, R-80 (Lz4BlockInputStream, Lz4BlockOutputStream).
"""

import struct
import sys
from collections.abc import Iterator
from typing import Final, NamedTuple

import lz4.block
import lz4.frame

from broker_lite.record.codecs.decompressed import Bounds, Decompressed, Parts, TooManyParts
from broker_lite.record.stopping import NEVER, Stop

_MAGIC: Final = bytes.fromhex("04224d18")
_KAFKA_HEADER: Final = bytes.fromhex("04224d18604082")
_HISTORIC_HEADER: Final = bytes.fromhex("04224d1860401a")
_END_MARK: Final = bytes(4)
_UINT32: Final = struct.Struct("<I")
_STORED_FLAG: Final = 0x80000000
_BLOCK_INPUT_BYTES: Final = 64 * 1024

# FLG
_VERSION_MASK, _VERSION = 0xC0, 0x40
_INDEPENDENT, _BLOCK_CHECKSUM, _CONTENT_SIZE, _CONTENT_CHECKSUM = 0x20, 0x10, 0x08, 0x04
_RESERVED = 0x03

# One-block frames for checking: FLG 0x70, the BD of the key, the header checksum of these two.
_CHECKED_HEADERS: Final = {
    block_bytes_max: _MAGIC + bytes((0x70, descriptor, checksum))
    for block_bytes_max, descriptor, checksum in (
        (1 << 16, 0x40, 0xAD),
        (1 << 18, 0x50, 0x84),
        (1 << 20, 0x60, 0x33),
        (1 << 22, 0x70, 0x72),
    )
}

# One byte of a compressed block becomes at most so many; so a tiny block allocates little.
_RATIO_MAX: Final = 255

_LEVEL_FAST: Final = 9
_LEVEL_LIBRARY_MAX: Final = 12


class _Header(NamedTuple):
    """The fields of a frame descriptor that matter."""

    size_bytes: int
    block_bytes_max: int
    block_checksum: bool
    content_checksum: bool


class _FrameError(Exception):
    """The frame breaks a rule."""


def compress(
    data: bytes | memoryview, level: int, stop: Stop = NEVER, memory_bytes_max: int = sys.maxsize
) -> bytes:
    """Write one frame of independent 64 KiB blocks; level 9 is the fast compressor."""
    parts = [_KAFKA_HEADER]
    for position in range(0, len(data), _BLOCK_INPUT_BYTES):
        stop.check()
        block = data[position : position + _BLOCK_INPUT_BYTES]
        if level == _LEVEL_FAST:
            packed = lz4.block.compress(block, store_size=False)
        else:
            packed = lz4.block.compress(
                block,
                mode="high_compression",
                compression=min(level, _LEVEL_LIBRARY_MAX),
                store_size=False,
            )
        if len(packed) < len(block):
            parts += (_UINT32.pack(len(packed)), packed)
        else:
            parts += (_UINT32.pack(len(block) | _STORED_FLAG), bytes(block))
    parts.append(_END_MARK)
    return b"".join(parts)


def compress_historic(data: bytes | memoryview) -> bytes:
    """Write a frame for messages of magic 0; its header checksum covers other bytes.

    Rule: R-79 (Lz4BlockOutputStream.useBrokenFlagDescriptorChecksum).
    """
    frame = compress(data, _LEVEL_FAST)
    return _HISTORIC_HEADER + frame[len(_KAFKA_HEADER) :]


def decompress(data: memoryview, bounds: Bounds, *, check_header: bool = True) -> Decompressed:
    """Read one frame; see compression.decompress.

    Args:
        data: the frame.
        bounds: where to stop.
        check_header: False accepts any header checksum, because inside messages of magic 0 it
            covers other bytes (R-79).
    """
    output: bytes | bytearray | memoryview = b""
    parts = Parts(bounds)
    try:
        for block in _blocks(data, _read_header(data, check_header)):
            if not block:
                break  # Kafka's reader takes a block without output for the end
            parts.take()
            room_bytes = bounds.output_bytes_max - len(output)
            if not output:
                output = block[:room_bytes]  # most frames have one block: nothing is copied
            else:
                if not isinstance(output, bytearray):
                    output = bytearray(output)
                output += block[:room_bytes]
            if len(block) > room_bytes:
                return Decompressed(output, False, True)
    except _FrameError:
        return Decompressed(output, True, False)
    except TooManyParts:
        return Decompressed(output, False, True)
    return Decompressed(output, False, False)


def _read_header(data: memoryview, check: bool) -> _Header:
    if data[: len(_KAFKA_HEADER)] == _KAFKA_HEADER:
        return _Header(len(_KAFKA_HEADER), _BLOCK_INPUT_BYTES, False, False)
    if len(data) < len(_KAFKA_HEADER) or data[:4] != _MAGIC:
        raise _FrameError("no frame")
    flags, descriptor = data[4], data[5]
    if flags & _VERSION_MASK != _VERSION or flags & _RESERVED or not flags & _INDEPENDENT:
        raise _FrameError("flags")
    if descriptor not in (0x40, 0x50, 0x60, 0x70):
        raise _FrameError("block size")
    size_bytes = 7 + (8 if flags & _CONTENT_SIZE else 0)
    if check:
        try:
            lz4.frame.get_frame_info(data[:size_bytes])
        except RuntimeError as error:
            raise _FrameError("header checksum") from error
    return _Header(
        size_bytes,
        1 << (2 * (descriptor >> 4) + 8),
        bool(flags & _BLOCK_CHECKSUM),
        bool(flags & _CONTENT_CHECKSUM),
    )


def _blocks(data: memoryview, header: _Header) -> Iterator[bytes | memoryview]:
    position = header.size_bytes
    while True:
        if len(data) - position < _UINT32.size:
            raise _FrameError("no end mark")
        word = _UINT32.unpack_from(data, position)[0]
        position += _UINT32.size
        size_bytes = word & ~_STORED_FLAG
        if size_bytes == 0:
            break
        end = position + size_bytes
        checked_end = end + (_UINT32.size if header.block_checksum else 0)
        if size_bytes > header.block_bytes_max or checked_end > len(data):
            raise _FrameError("block size")
        if header.block_checksum:
            yield _checked_block(data[position - _UINT32.size : checked_end], header)
        elif word & _STORED_FLAG:
            yield data[position:end]
        else:
            yield _block(data[position:end], header)
        position = checked_end
    if header.content_checksum and len(data) - position < _UINT32.size:
        raise _FrameError("no content checksum")


def _block(data: memoryview, header: _Header) -> bytes:
    room_bytes = min(header.block_bytes_max, _RATIO_MAX * len(data))
    try:
        block: bytes = lz4.block.decompress(data, uncompressed_size=room_bytes)
    except lz4.block.LZ4BlockError as error:
        raise _FrameError("block") from error
    return block


def _checked_block(data: memoryview, header: _Header) -> bytes:
    """Decode a block, given with its size word before it and its checksum after it."""
    frame = b"".join((_CHECKED_HEADERS[header.block_bytes_max], data, _END_MARK))
    try:
        block: bytes = lz4.frame.decompress(frame)
    except RuntimeError as error:
        raise _FrameError("block or its checksum") from error
    return block
