"""Small batches that would decompress to very much, one for each codec."""

import struct
import zlib
from typing import Final

import lz4.frame
import snappy

from broker_lite.record.codecs.compression import Codec
from tests.log.batches import batch

_MEBIBYTE: Final = 1 << 20
_ZSTD_BLOCK_BYTES: Final = 128 * 1024


def bombs() -> dict[Codec, bytes]:
    """A batch of each codec that decompresses to more than 300 MB, under a right checksum."""
    contents = {
        Codec.GZIP: _gzip(1000),
        Codec.SNAPPY: _snappy(340),
        Codec.LZ4: _lz4(1000),
        Codec.ZSTD: _zstd(2000),
    }
    return {codec: batch(data, attributes=codec) for codec, data in contents.items()}


def _gzip(mebibytes: int) -> bytes:
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    # after a full flush nothing refers to what was before, so the piece may be repeated
    piece = deflate.compress(bytes(_MEBIBYTE)) + deflate.flush(zlib.Z_FULL_FLUSH)
    return bytes.fromhex("1f8b0800000000000003") + piece * mebibytes + bytes(10)


def _snappy(mebibytes: int) -> bytes:
    block = snappy.compress(bytes(_MEBIBYTE))
    head = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    return bytes(head + (struct.pack(">i", len(block)) + block) * mebibytes)


def _lz4(mebibytes: int) -> bytes:
    frame: bytes = lz4.frame.compress(
        bytes(4 * _MEBIBYTE),
        block_size=lz4.frame.BLOCKSIZE_MAX4MB,
        block_linked=False,
        store_size=False,
    )
    return frame[:7] + frame[7:-4] * (mebibytes // 4) + bytes(4)


def _zstd(mebibytes: int) -> bytes:
    """Blocks of one repeated byte: four bytes each (RFC 8878, 3.1.1.2)."""
    rle = struct.pack("<I", 1 << 1 | _ZSTD_BLOCK_BYTES << 3)[:3] + b"\0"
    window_of_128_kib = b"\x38"
    return b"\x28\xb5\x2f\xfd\x00" + window_of_128_kib + rle * (mebibytes * 8)
