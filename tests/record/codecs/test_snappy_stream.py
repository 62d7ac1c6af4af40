"""R-77."""

import struct

import pytest
import snappy

from broker_lite.record.codecs.compression import decompress
from broker_lite.record.codecs.snappy_stream import compress
from tests.record.support import PRODUCE, batch_of

HEADER = bytes.fromhex("82534e4150505900" "00000001" "00000001")  # fmt: skip
DATA = b"some data " * 50
BLOCK = snappy.compress(DATA)
SIZED = struct.pack(">i", len(BLOCK)) + BLOCK


def read(stream: bytes, output_bytes_max: int = 10**8) -> tuple[bytes, bool, bool]:
    found = decompress(2, stream, output_bytes_max=output_bytes_max)
    return bytes(found.data), found.failed, found.limit_exceeded


def test_r_77_more_blocks_than_may_be_are_a_limit_and_no_damage() -> None:
    found = decompress(2, HEADER + SIZED * 9, output_bytes_max=10**8, parts_max=3)
    assert (found.failed, found.limit_exceeded) == (False, True)
    assert bytes(found.data) == DATA * 3


def test_the_writer_fills_32_kib_blocks() -> None:
    stream = compress(bytes(70_000), 0)
    assert stream[:16] == HEADER
    position, sizes = 16, []
    while position < len(stream):
        size_bytes = struct.unpack_from(">i", stream, position)[0]
        sizes.append(len(snappy.uncompress(stream[position + 4 : position + 4 + size_bytes])))
        position += 4 + size_bytes
    assert sizes == [32768, 32768, 4464]


def test_blocks_in_a_row() -> None:
    assert read(HEADER + SIZED * 3) == (DATA * 3, False, False)


def test_a_10_raw_block() -> None:
    assert read(BLOCK) == (DATA, False, False)
    assert read(b"\x00") == (b"", False, False)
    assert len(read(bytes(batch_of(PRODUCE["A-10"]["hex"]).records_data))[0]) == 18


def test_a_raw_block_is_not_copied() -> None:
    """A copy of many bytes is made under the interpreter lock, which the event loop needs."""
    found = decompress(2, BLOCK, output_bytes_max=len(DATA))
    assert isinstance(found.data, memoryview)


@pytest.mark.parametrize("versions", [(0, 0), (2, 2), (99, 99), (-1, -1)])
def test_versions_of_the_first_header_are_not_checked(versions: tuple[int, int]) -> None:
    assert read(HEADER[:8] + struct.pack(">ii", *versions) + SIZED) == (DATA, False, False)


def test_further_headers_are_skipped() -> None:
    assert read(HEADER + HEADER + SIZED + HEADER + SIZED) == (DATA * 2, False, False)


def test_a_further_header_must_be_whole_and_of_a_known_version() -> None:
    assert read(HEADER + SIZED + HEADER[:15]) == (b"", True, False)
    assert read(HEADER + SIZED + HEADER[:8] + struct.pack(">ii", 0, 1)) == (b"", True, False)
    assert read(HEADER + SIZED + HEADER[:8] + struct.pack(">ii", 1, 0)) == (DATA, False, False)


def test_a_further_header_with_another_magic() -> None:
    """It ends one read of Java's stream, and the stream when that read gave nothing."""
    other = HEADER[:4] + bytes(12)
    assert read(HEADER + SIZED + other + SIZED) == (DATA * 2, False, False)
    assert read(HEADER + SIZED + other + other + SIZED) == (DATA, False, False)
    assert read(HEADER + other + SIZED) == (b"", False, False)


@pytest.mark.parametrize("size_bytes", [1, 2, 3])
def test_fewer_than_four_bytes_after_a_block_are_ignored(size_bytes: int) -> None:
    assert read(HEADER + SIZED + b"\xee" * size_bytes) == (DATA, False, False)


def test_header_only() -> None:
    assert read(HEADER) == (b"", False, False)


@pytest.mark.parametrize(
    "tail",
    [bytes(4), b"\xff\xff\xff\xff", SIZED[:-1], struct.pack(">i", 3) + b"\xff\xff\xff"],
    ids=["zero", "negative", "truncated", "bad"],
)
def test_bad_blocks(tail: bytes) -> None:
    """What Java's last step of 2 KiB gave before the error is lost."""
    assert read(HEADER + SIZED + tail) == (b"", True, False)
    assert read(HEADER + SIZED * 5 + tail) == ((DATA * 5)[:2048], True, False)


def test_a_block_that_is_declared_longer_than_the_stream_is_damage() -> None:
    """Although what is there of it is a whole block."""
    assert read(HEADER + struct.pack(">i", len(BLOCK) + 1) + BLOCK) == (b"", True, False)


def test_snappys_own_framing_is_not_supported() -> None:
    assert read(b"\xff\x06\x00\x00sNaPpY" + b"\x00" * 20) == (b"", True, False)


@pytest.mark.parametrize("declared", ["ffffffff0f", "ffffffffff0f", "ffff0f", "80"])
def test_r_84_declared_lengths_are_not_trusted(declared: str) -> None:
    assert read(bytes.fromhex(declared) + b"\x00a") == (b"", True, False)


def test_limit_stops_before_a_block() -> None:
    assert read(HEADER + SIZED * 3, 2 * len(DATA)) == (DATA * 2, False, True)
    assert read(BLOCK, len(DATA) - 1) == (b"", False, True)
