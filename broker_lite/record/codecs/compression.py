"""The codecs of record batches: compress and decompress, with a bound on the output.

Each codec has a module of its own for its framing. Its reader never raises for bad input: it
returns the bytes that Kafka's stream would have returned before its error, and says that it failed.
The bytes matter because an error in the structure of their records is reported before the error of
the codec.

The libraries behind snappy, lz4 and zstd are imported when they are first needed.

Rule: R-75, R-82, R-84 (CompressionType, Compression).
"""

import importlib
import sys
from collections.abc import Mapping
from enum import IntEnum
from functools import cache
from typing import Final, NamedTuple, Protocol, cast

from broker_lite.errors import UnknownServerError
from broker_lite.record.codecs.decompressed import Bounds, Decompressed
from broker_lite.record.stopping import NEVER, Stop

__all__ = [
    "LEVELS",
    "Bounds",
    "Codec",
    "Decompressed",
    "LevelRange",
    "codec_of",
    "compress",
    "decompress",
]


class Codec(IntEnum):
    """Codec ids of the attribute bits 0 to 2; their names in lower case are those of the settings.

    Rule: R-75 (CompressionType).
    """

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class LevelRange(NamedTuple):
    """The levels that a codec takes, both ends included."""

    min: int
    max: int
    default: int


LEVELS: Final[Mapping[Codec, LevelRange]] = {
    Codec.GZIP: LevelRange(-1, 9, -1),
    Codec.LZ4: LevelRange(1, 17, 9),
    Codec.ZSTD: LevelRange(-131072, 22, 3),
}
"""Level 0 is not valid for gzip, though it lies between the ends."""


class _Framing(Protocol):
    """The functions that each codec's module has."""

    def compress(
        self, data: memoryview, level: int, stop: Stop, memory_bytes_max: int
    ) -> bytes: ...

    def decompress(self, data: memoryview, bounds: Bounds) -> Decompressed: ...


def codec_of(codec: int) -> Codec:
    """Return the codec of an id.

    Raises:
        UnknownServerError: 5, 6 and 7 name no codec.
    """
    try:
        return Codec(codec)
    except ValueError:
        raise UnknownServerError(f"Unknown compression type id: {codec}") from None


def decompress(
    codec: int,
    data: bytes | bytearray | memoryview,
    *,
    output_bytes_max: int,
    parts_max: int = sys.maxsize,
    stop: Stop = NEVER,
) -> Decompressed:
    """Decompress one stream, as far as it can be read.

    Args:
        codec: an id of Codec; 0 returns the data unchanged.
        data: the whole stream; never written to.
        output_bytes_max: where to stop; the result is never longer.
        parts_max: of how many parts the stream may consist; see Bounds.
        stop: checked before each part.

    Raises:
        UnknownServerError: there is no such codec.
        WorkStopped: `stop` was set.

    Rule: R-82.
    See: R-76 to R-81.
    """
    view = memoryview(data)
    known = codec_of(codec)
    if known is Codec.NONE:
        return Decompressed(view[:output_bytes_max], False, len(view) > output_bytes_max)
    return _framing(known).decompress(view, Bounds(output_bytes_max, parts_max, stop))


def compress(
    codec: int,
    data: bytes | bytearray | memoryview,
    level: int | None = None,
    stop: Stop = NEVER,
    memory_bytes_max: int = sys.maxsize,
) -> bytes:
    """Compress into one stream in the format of Kafka's writer.

    Args:
        codec: an id of Codec; 0 copies.
        data: the bytes to compress.
        level: of LEVELS; None is the codec's default, snappy has none.
        stop: checked before each step.
        memory_bytes_max: how much memory the codec may take for itself; 4 MiB if that is more. The
            highest levels of zstd would take up to 834 MB; the others take less than 1 MB.

    Raises:
        UnknownServerError: there is no such codec, or the level is outside its range.
        WorkStopped: `stop` was set.
    """
    known = codec_of(codec)
    if known is Codec.NONE:
        return bytes(data)
    checked = _checked_level(known, level)
    return _framing(known).compress(memoryview(data), checked, stop, memory_bytes_max)


def _checked_level(codec: Codec, level: int | None) -> int:
    levels = LEVELS.get(codec)
    if levels is None:
        return 0
    if level is None:
        return levels.default
    if not levels.min <= level <= levels.max or (codec is Codec.GZIP and level == 0):
        raise UnknownServerError(f"{codec.name.lower()} has no compression level {level}")
    return level


@cache
def _framing(codec: Codec) -> _Framing:
    # Imported late: the three libraries take longer to import than the broker to start.
    return cast(
        _Framing, importlib.import_module(f"broker_lite.record.codecs.{codec.name.lower()}_stream")
    )
