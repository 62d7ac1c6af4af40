"""R-78, R-79, R-80; TV-95."""

import struct
from typing import Any

import lz4.block
import lz4.frame
import pytest

from broker_lite.record.codecs.compression import decompress
from broker_lite.record.codecs.lz4_stream import compress
from tests.record.support import check_values

MAGIC = bytes.fromhex("04224d18")
DATA = b"some data " * 50
END = bytes(4)


def block(data: bytes = DATA) -> bytes:
    packed = lz4.block.compress(data, store_size=False)
    return struct.pack("<I", len(packed)) + packed


def stored(data: bytes = DATA) -> bytes:
    return struct.pack("<I", len(data) | 0x80000000) + data


HEADER = bytes.fromhex("04224d18604082")


def read(stream: bytes) -> tuple[bytes, bool, bool]:
    found = decompress(3, stream, output_bytes_max=10**8)
    return bytes(found.data), found.failed, found.limit_exceeded


@pytest.mark.parametrize("level", [1, 9, 17])
def test_the_writer_is_understood_elsewhere(level: int) -> None:
    data = DATA * 1000
    stream = compress(data, level)
    assert stream[:7] == HEADER
    assert lz4.frame.decompress(stream) == data


def test_the_writer_stores_what_does_not_shrink() -> None:
    assert compress(b"abc", 9) == HEADER + stored(b"abc") + END
    assert compress(b"", 9) == HEADER + END


@pytest.mark.parametrize("row", check_values("TV-95"), ids=lambda row: row["descriptor"])
def test_tv_95(row: dict[str, Any]) -> None:
    descriptor = bytes.fromhex(row["descriptor"])
    checksum = bytes.fromhex(row["hc"])
    if descriptor[:4] == MAGIC:
        # the historic checksum is wrong outside magic 0
        assert read(descriptor + checksum + END) == (b"", True, False)
        return
    expected = bool(descriptor[0] & 0x04)  # a content checksum has to follow
    assert read(MAGIC + descriptor + checksum + END) == (b"", expected, False)
    assert read(MAGIC + descriptor + checksum + END + bytes(4)) == (b"", False, False)
    wrong = bytes((checksum[0] ^ 1,))
    assert read(MAGIC + descriptor + wrong + END + bytes(4)) == (b"", True, False)


def test_blocks() -> None:
    assert read(HEADER + block() + stored() + block() + END) == (DATA * 3, False, False)


def test_r_80_everything_after_the_end_mark_is_ignored() -> None:
    frame = HEADER + block() + END
    assert read(frame + frame) == (DATA, False, False)
    assert read(frame + b"garbage") == (DATA, False, False)
    # a stored block of no bytes is an end mark too
    assert read(HEADER + block() + stored(b"") + block()) == (DATA, False, False)


def test_r_80_no_end_mark() -> None:
    assert read(HEADER + block()) == (DATA, True, False)
    assert read(HEADER + block() + bytes(3)) == (DATA, True, False)
    assert read(HEADER + block() + block()[:-1]) == (DATA, True, False)


@pytest.mark.parametrize("block_size", [4, 5, 6, 7])
@pytest.mark.parametrize("checksum", [False, True])
def test_frames_of_the_library(block_size: int, checksum: bool) -> None:
    """Block checksum, content checksum, content size, all block sizes."""
    data = bytes(range(256)) * 20_000 + DATA
    frame = lz4.frame.compress(
        data,
        block_size=block_size,
        block_linked=False,
        content_checksum=checksum,
        block_checksum=checksum,
        store_size=checksum,
    )
    assert read(frame) == (data, False, False)
    assert read(frame[:-1])[1] is True


def checked_frame() -> bytearray:
    return bytearray(
        lz4.frame.compress(
            DATA,
            block_size=4,
            block_linked=False,
            content_checksum=True,
            block_checksum=True,
            store_size=False,
        )
    )


def test_block_checksum_is_verified_and_content_checksum_is_not() -> None:
    frame = checked_frame()
    frame[-1] ^= 1
    assert read(bytes(frame)) == (DATA, False, False)
    frame[-9] ^= 1  # the last byte before end mark and content checksum
    assert read(bytes(frame)) == (b"", True, False)


def test_block_checksum_of_a_stored_block() -> None:
    noise = bytes((index * 7919 >> 3) & 0xFF for index in range(300))
    frame = lz4.frame.compress(
        noise[:20], block_size=4, block_linked=False, block_checksum=True, store_size=False
    )
    assert read(frame) == (noise[:20], False, False)


def test_content_size_is_not_checked() -> None:
    header = bytes.fromhex("04224d18" "68400000000000000012" "d0")  # fmt: skip
    assert read(header + block() + END) == (DATA, False, False)


@pytest.mark.parametrize(
    ("flags", "descriptor"),
    [
        (0x40, 0x40),
        (0x20, 0x40),
        (0xA0, 0x40),
        (0x61, 0x40),
        (0x62, 0x40),
        (0x60, 0x30),
        (0x60, 0x41),
        (0x60, 0xC0),
        (0x60, 0x00),
    ],
)
def test_header_rules(flags: int, descriptor: int) -> None:
    """Linked blocks, version, reserved bits, block size; whatever the header checksum."""
    for checksum in range(256):
        stream = MAGIC + bytes((flags, descriptor, checksum)) + END
        assert read(stream) == (b"", True, False)


def test_block_larger_than_declared() -> None:
    assert read(HEADER + stored(bytes(65537)) + END) == (b"", True, False)
    assert read(HEADER + block(bytes(65537)) + END) == (b"", True, False)
    assert read(HEADER + stored(bytes(65536)) + END) == (bytes(65536), False, False)


def test_a_block_of_no_output_is_the_end() -> None:
    """Probed on the classes of Kafka 4.3.1."""
    empty = struct.pack("<I", 1) + b"\x00"
    assert read(HEADER + block() + empty + b"garbage") == (DATA, False, False)


def test_bad_block() -> None:
    assert read(HEADER + block() + struct.pack("<I", 3) + b"\xff\xff\xff" + END) == (
        DATA,
        True,
        False,
    )
