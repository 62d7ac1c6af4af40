"""gzip: concatenated members, read the way java.util.zip.GZIPInputStream does.

The headers are parsed here and the deflate streams by zlib, because Java is more lenient than zlib
about the bytes after a member: it ignores them unless they are another member.

Rule: R-76 (GzipCompression).
"""

import struct
import sys
import zlib
from typing import Final

from broker_lite.record.codecs.decompressed import Bounds, Decompressed, Parts, TooManyParts
from broker_lite.record.stopping import NEVER, Stop

# Java's writer writes these: no flags, no time, no extra flags, an unknown operating system.
_HEADER: Final = bytes.fromhex("1f8b08000000000000ff")
_MAGIC: Final[bytes] = b"\x1f\x8b\x08"
_FIXED_HEADER_BYTES: Final = 10
_TRAILER: Final = struct.Struct("<II")
_FLAG_HEADER_CRC, _FLAG_EXTRA, _FLAG_NAME, _FLAG_COMMENT = 0x02, 0x04, 0x08, 0x10

# Java's buffers. An error loses the output of the step in which it happens, so the sizes matter.
_INPUT_STEP_BYTES: Final = 8 * 1024
_OUTPUT_STEP_BYTES: Final = 16 * 1024
# So many bytes are compressed between two checks of `stop`.
_STEP_BYTES: Final = 128 * 1024

# Java looks for another member only when one could fit: 8 + 10 bytes.
_MEMBER_BYTES_MIN: Final = 18


def compress(
    data: bytes | memoryview, level: int, stop: Stop = NEVER, memory_bytes_max: int = sys.maxsize
) -> bytes:
    """Write one member with the header that Java writes."""
    deflate = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
    parts = [_HEADER]
    for position in range(0, len(data), _STEP_BYTES):
        stop.check()
        parts.append(deflate.compress(data[position : position + _STEP_BYTES]))
    trailer = _TRAILER.pack(zlib.crc32(data), len(data) & 0xFFFFFFFF)
    parts += (deflate.flush(), trailer)
    return b"".join(parts)


def decompress(data: memoryview, bounds: Bounds) -> Decompressed:
    """Read all members; see compression.decompress."""
    output = bytearray()
    try:
        return _read_members(data, output, bounds)
    except TooManyParts:
        return Decompressed(output, False, True)


def _read_members(data: memoryview, output: bytearray, bounds: Bounds) -> Decompressed:
    parts = Parts(bounds)
    position = _deflate_position(data, 0)
    if position is None:
        return Decompressed(b"", True, False)
    while position is not None:
        parts.take()
        member = _Member(data, position, output, bounds)
        member.read()
        if member.failed or member.limit_exceeded:
            return Decompressed(output, member.failed, member.limit_exceeded)
        rest_bytes = len(data) - member.position
        position = (
            _deflate_position(data, member.position) if rest_bytes > _MEMBER_BYTES_MIN else None
        )
    return Decompressed(output, False, False)


class _Member:
    """One deflate stream with its trailer; read() adds to the output and sets the other fields."""

    def __init__(self, data: memoryview, position: int, output: bytearray, bounds: Bounds) -> None:
        self.data = data
        self.position = position
        self.output = output
        self.bounds = bounds
        self.size_bytes = 0
        self.crc = 0
        self.failed = False
        self.limit_exceeded = False

    def read(self) -> None:
        """Inflate to the end, then check the trailer."""
        inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        while not inflate.eof:
            self.bounds.stop.check()
            step = inflate.unconsumed_tail
            if not step:
                step = bytes(self.data[self.position : self.position + _INPUT_STEP_BYTES])
                self.position += len(step)
            try:
                output = inflate.decompress(step, _OUTPUT_STEP_BYTES)
            except zlib.error:
                self.failed = True
                return
            if not step and not output and not inflate.eof:
                self.failed = True  # the stream is truncated
                return
            if not self._take(output):
                return
        self.position -= len(inflate.unused_data)
        self._check_trailer()

    def _take(self, step: bytes) -> bool:
        room_bytes = self.bounds.output_bytes_max - len(self.output)
        if len(step) > room_bytes:
            step = step[:room_bytes]
            self.limit_exceeded = True
        self.output += step
        self.size_bytes += len(step)
        self.crc = zlib.crc32(step, self.crc)
        return not self.limit_exceeded

    def _check_trailer(self) -> None:
        end = self.position + _TRAILER.size
        expected = _TRAILER.pack(self.crc, self.size_bytes & 0xFFFFFFFF)
        self.failed = self.data[self.position : end] != expected
        self.position = end


def _deflate_position(data: memoryview, position: int) -> int | None:
    """Return the position after a member's header, None if there is no complete header."""
    start = position
    if data[position : position + 3] != _MAGIC or len(data) - position < _FIXED_HEADER_BYTES:
        return None
    flags = data[position + 3]
    position += _FIXED_HEADER_BYTES
    if flags & _FLAG_EXTRA:
        position += 2 + int.from_bytes(data[position : position + 2], "little")
    for flag in (_FLAG_NAME, _FLAG_COMMENT):
        if flags & flag:
            position = _after_zero(data, position)
    if flags & _FLAG_HEADER_CRC:
        crc = zlib.crc32(data[start:position]) & 0xFFFF
        if data[position : position + 2] != crc.to_bytes(2, "little"):
            return None
        position += 2
    return position if position <= len(data) else None


def _after_zero(data: memoryview, position: int) -> int:
    """Return the position after the next zero byte, or past the data's end if there is none."""
    while position < len(data):
        piece = bytes(data[position : position + _INPUT_STEP_BYTES])
        found = piece.find(0)
        if found >= 0:
            return position + found + 1
        position += len(piece)
    return position + 1
