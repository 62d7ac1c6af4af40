"""R-76."""

import gzip
import zlib

import pytest

from broker_lite.record.codecs.compression import decompress
from broker_lite.record.codecs.gzip_stream import compress
from tests.record.support import PRODUCE, batch_of

DATA = b"some data " * 50
MEMBER = compress(DATA, -1)
HEADER, DEFLATED, TRAILER = MEMBER[:10], MEMBER[10:-8], MEMBER[-8:]


def read(stream: bytes) -> tuple[bytes, bool, bool]:
    found = decompress(1, stream, output_bytes_max=10**8)
    return bytes(found.data), found.failed, found.limit_exceeded


def test_the_writer_is_understood_elsewhere() -> None:
    assert HEADER.hex() == "1f8b08000000000000ff"
    assert gzip.decompress(MEMBER) == DATA


def test_concatenated_members() -> None:
    """A-11."""
    assert read(MEMBER * 3) == (DATA * 3, False, False)
    assert read(compress(b"", -1) * 100 + MEMBER) == (DATA, False, False)
    batch = batch_of(PRODUCE["A-11"]["hex"])
    assert len(read(bytes(batch.records_data))[0]) == 18


def test_r_76_more_members_than_may_be_are_a_limit_and_no_damage() -> None:
    found = decompress(1, MEMBER * 9, output_bytes_max=10**8, parts_max=3)
    assert (found.failed, found.limit_exceeded) == (False, True)
    assert bytes(found.data) == DATA * 3


@pytest.mark.parametrize("size_bytes", [1, 2, 10, 18, 19, 200])
def test_trailing_garbage_is_ignored(size_bytes: int) -> None:
    assert read(MEMBER + b"\xee" * size_bytes) == (DATA, False, False)


def test_start_of_a_member_that_cannot_fit_is_ignored() -> None:
    assert read(MEMBER + MEMBER[:18]) == (DATA, False, False)
    assert read(MEMBER + MEMBER[:19])[1] is True


def test_own_checksum_and_size() -> None:
    """R-82: the data before it counts."""
    for position in (-8, -1):
        wrong = bytearray(MEMBER)
        wrong[position] ^= 1
        assert read(bytes(wrong)) == (DATA, True, False)
    assert read(MEMBER[:-1]) == (DATA, True, False)


def test_n_20_truncated_deflate() -> None:
    assert read(HEADER + DEFLATED[:-3])[1]
    assert read(HEADER)[:2] == (b"", True)


def test_broken_deflate() -> None:
    assert read(HEADER + b"\xff" * 30) == (b"", True, False)


def test_all_header_fields() -> None:
    start = HEADER[:3] + b"\x1e" + HEADER[4:] + b"\x03\x00abc" + b"name\x00" + b"comment\x00"
    crc = (zlib.crc32(start) & 0xFFFF).to_bytes(2, "little")
    assert read(start + crc + DEFLATED + TRAILER) == (DATA, False, False)
    assert read(start + b"\x00\x00" + DEFLATED + TRAILER) == (b"", True, False)


@pytest.mark.parametrize(
    "header",
    [
        HEADER[:9],
        b"\x1f\x8b\x07" + HEADER[3:],
        HEADER[:3] + b"\x08" + HEADER[4:] + b"no zero byte",
        HEADER[:3] + b"\x04" + HEADER[4:] + b"\xff\xff",
    ],
    ids=["short", "method", "name", "extra"],
)
def test_no_header(header: bytes) -> None:
    assert read(header) == (b"", True, False)


def test_long_streams_in_steps() -> None:
    data = bytes(range(256)) * 4000
    stored = compress(data, 1)
    noise = zlib.compressobj(0, zlib.DEFLATED, -15)
    raw = HEADER + noise.compress(data) + noise.flush() + stored[-8:]
    assert read(raw + stored) == (data * 2, False, False)
