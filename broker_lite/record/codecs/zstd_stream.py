"""zstd: frames in a row, skippable ones among them, until the end of the data.

The library decodes, but it does not say whether a frame was complete. So before each frame is
decoded, it is walked here from block header to block header. Then damage after a frame cannot take
away the frame's output.

Rule: R-81 (ZstdCompression, com.github.luben.zstd.ZstdInputStream).
"""

import sys
from functools import cache
from typing import Final

import zstandard

from broker_lite.record.codecs.decompressed import Bounds, Decompressed, Parts, TooManyParts
from broker_lite.record.codecs.zstd_contexts import CONTEXT_BYTES_MAX, CONTEXTS
from broker_lite.record.stopping import NEVER, Stop

_MAGIC: Final = 0xFD2FB528
_SKIPPABLE_MAGIC: Final = 0x184D2A50
_SKIPPABLE_MASK: Final = 0xFFFFFFF0

# Java's buffer. An error loses the output of the step in which it happens, so the size matters.
_STEP_BYTES: Final = 16 * 1024

# At the highest level so many bytes take 0.1 s; after each, `stop` is checked.
_COMPRESSED_AT_A_TIME: Final = 128 * 1024

# The recommended input size, ZSTD_DStreamInSize: one block and its header.
_INPUT_BYTES: Final = 128 * 1024 + 3

# Sizes by the bits of the frame header descriptor (RFC 8878, 3.1.1.1.1).
_DICTIONARY_ID_BYTES: Final = (0, 1, 2, 4)
_CONTENT_SIZE_BYTES: Final = (0, 2, 4, 8)
_BLOCK_RLE: Final = 1


def compress(
    data: bytes | memoryview, level: int, stop: Stop = NEVER, memory_bytes_max: int = sys.maxsize
) -> bytes:
    """Write one frame as a stream: without content size and checksum."""
    compressor = CONTEXTS.compressors.pop(level, None)
    if compressor is None:
        parameters = _parameters(level, len(data), memory_bytes_max)
        compressor = zstandard.ZstdCompressor(compression_params=parameters)
    stream = compressor.compressobj()
    parts = []
    for position in range(0, len(data), _COMPRESSED_AT_A_TIME):
        stop.check()
        parts.append(stream.compress(data[position : position + _COMPRESSED_AT_A_TIME]))
    parts.append(stream.flush())
    frame = b"".join(parts)
    if _is_for_any_size(level):
        CONTEXTS.compressors = {level: compressor}
    return frame


def _parameters(
    level: int, size_bytes: int, memory_bytes_max: int
) -> zstandard.ZstdCompressionParameters:
    """Return the parameters of a level for some data.

    A level that needs little memory is used unchanged. The other levels would take as much for a
    few bytes as for a gigabyte: 834 MB at level 22, which a container of 256 MB does not have, and
    which takes 0.3 s to prepare. So their window and tables are chosen for the size of the data, or
    for a smaller size if they would exceed the bound. Kafka uses the level unchanged, outside of
    its heap. The format of the frame is the same.
    """
    if _is_for_any_size(level):
        return _of_level(level, 0)
    while True:
        parameters = _of_level(level, max(size_bytes, 1))  # 0 is any size
        needed_bytes = _memory_bytes(parameters)
        if needed_bytes <= max(memory_bytes_max, CONTEXT_BYTES_MAX):
            return parameters
        size_bytes = min(size_bytes, 1 << parameters.window_log) // 2


@cache
def _is_for_any_size(level: int) -> bool:
    return _memory_bytes(_of_level(level, 0)) <= CONTEXT_BYTES_MAX


def _of_level(level: int, size_bytes: int) -> zstandard.ZstdCompressionParameters:
    """Return a level's parameters for data of a size; 0 is any size."""
    return zstandard.ZstdCompressionParameters.from_level(
        level, source_size=size_bytes, write_content_size=False
    )


def _memory_bytes(parameters: zstandard.ZstdCompressionParameters) -> int:
    """Return the memory of tables and stream buffers: the window, and a block on either side."""
    tables_bytes: int = parameters.estimated_compression_context_size()
    return tables_bytes + (1 << parameters.window_log) + 2 * _COMPRESSED_AT_A_TIME


def decompress(data: memoryview, bounds: Bounds) -> Decompressed:
    """Read all frames; see compression.decompress."""
    output = bytearray()
    try:
        return _read_frames(data, output, bounds)
    except TooManyParts:
        return Decompressed(output, False, True)


def _read_frames(data: memoryview, output: bytearray, bounds: Bounds) -> Decompressed:
    parts = Parts(bounds)
    position = 0
    failed = limit_exceeded = False
    while position < len(data) and not failed and not limit_exceeded:
        parts.take()
        end = _frame_end(data, position, parts)
        failed, limit_exceeded = _read_frame(data[position:end], output, bounds)
        if end > len(data) and not limit_exceeded:
            failed = failed or _truncation_is_seen(data, position)
        position = end
    return Decompressed(output, failed, limit_exceeded)


def _truncation_is_seen(data: memoryview, position: int) -> bool:
    """True if Java's reader notices that the frame at a position is not complete.

    Java resets "the last frame was complete" only when it reads from its input, which it does in
    big pieces: if a frame begins inside the last piece, it may be cut without an error. For the
    same reason an empty stream is no error.
    """
    piece, inside = divmod(position, _INPUT_BYTES)
    return inside == 0 or piece != (len(data) - 1) // _INPUT_BYTES


def _read_frame(data: memoryview, output: bytearray, bounds: Bounds) -> tuple[bool, bool]:
    """Add one frame to the output, or what there is of it; return failed and limit_exceeded."""
    decompressor = CONTEXTS.decompressor or zstandard.ZstdDecompressor()
    CONTEXTS.decompressor = None
    failed, limit_exceeded = _read_all(decompressor.stream_reader(data), output, bounds)
    if not failed and decompressor.memory_size() <= CONTEXT_BYTES_MAX:
        CONTEXTS.decompressor = decompressor
    return failed, limit_exceeded


def _read_all(
    reader: zstandard.ZstdDecompressionReader, output: bytearray, bounds: Bounds
) -> tuple[bool, bool]:
    while True:
        bounds.stop.check()
        try:
            step = reader.read(_STEP_BYTES)
        except zstandard.ZstdError:
            return True, False
        room_bytes = bounds.output_bytes_max - len(output)
        output += step[:room_bytes]
        if len(step) > room_bytes:
            return False, True
        if len(step) < _STEP_BYTES:
            return False, False


def _frame_end(data: memoryview, position: int, parts: Parts) -> int:
    """Return the position after a frame; past the data's end if it is no frame or not complete.

    Args:
        data: of the stream.
        position: of the frame.
        parts: counts the frame's blocks.
    """
    end = len(data)
    magic = _little(data, position, 4)
    if magic & _SKIPPABLE_MASK == _SKIPPABLE_MAGIC:
        return position + 8 + _little(data, position + 4, 4) if end - position >= 8 else end + 1
    if magic != _MAGIC or end - position < 6:
        return end + 1
    descriptor = data[position + 4]
    single_segment = descriptor >> 5 & 1
    content_size_bytes = _CONTENT_SIZE_BYTES[descriptor >> 6] or single_segment
    position += 5 + (1 - single_segment) + _DICTIONARY_ID_BYTES[descriptor & 3] + content_size_bytes
    last = 0
    while not last:
        if end - position < 3:
            return end + 1
        parts.take()
        block = _little(data, position, 3)
        last = block & 1
        position += 3 + (1 if block >> 1 & 3 == _BLOCK_RLE else block >> 3)
    return position + (4 if descriptor >> 2 & 1 else 0)


def _little(data: memoryview, position: int, size_bytes: int) -> int:
    return int.from_bytes(data[position : position + size_bytes], "little")
