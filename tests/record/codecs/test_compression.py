"""R-75, R-82, R-84 for all codecs; each framing has a test module of its own."""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.errors import UnknownServerError
from broker_lite.record.codecs.compression import LEVELS, Codec, compress, decompress
from tests.record.support import BATCHES, batch_of

CODECS = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
BY_NAME = [pytest.param(codec, id=codec.name.lower()) for codec in CODECS]
NO_LIMIT = 10**9
PLAIN = [b"", b"a", b"abcd" * 40_000, bytes(range(256)) * 1000, bytes(300_000)]
STREAMS = {codec: compress(codec, b"key and value " * 200) for codec in CODECS}


@pytest.mark.parametrize("codec", BY_NAME)
@pytest.mark.parametrize("data", PLAIN, ids=len)
def test_r_75_round_trip(codec: Codec, data: bytes) -> None:
    found = decompress(codec, compress(codec, data), output_bytes_max=NO_LIMIT)
    assert bytes(found.data) == data
    assert not found.limit_exceeded
    assert not found.failed


def test_r_75_none() -> None:
    assert compress(0, memoryview(b"abc")) == b"abc"
    assert decompress(0, b"abc", output_bytes_max=3) == (b"abc", False, False)
    assert decompress(0, b"abc", output_bytes_max=2) == (b"ab", False, True)


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_r_12_no_such_codec(codec: int) -> None:
    for call in (
        lambda: compress(codec, b""),
        lambda: decompress(codec, b"", output_bytes_max=1),
    ):
        with pytest.raises(UnknownServerError, match=f"Unknown compression type id: {codec}"):
            call()


@pytest.mark.parametrize(
    ("codec", "expected"),
    [(Codec.GZIP, (-1, 9, -1)), (Codec.LZ4, (1, 17, 9)), (Codec.ZSTD, (-131072, 22, 3))],
)
def test_r_75_levels(codec: Codec, expected: tuple[int, int, int]) -> None:
    levels = LEVELS[codec]
    assert levels == expected
    data = b"some bytes " * 100
    for level in (None, max(levels.min, -20), levels.default, levels.max):
        found = decompress(codec, compress(codec, data, level), output_bytes_max=NO_LIMIT)
        assert bytes(found.data) == data
    outside = [levels.min - 1, levels.max + 1, *([0] if codec is Codec.GZIP else [])]
    for level in outside:
        with pytest.raises(UnknownServerError, match=f"no compression level {level}"):
            compress(codec, data, level)


@pytest.mark.parametrize("name", ["TV-11", "TV-12", "TV-13", "TV-23"])
def test_same_bytes_as_java(name: str) -> None:
    batch = batch_of(BATCHES[name]["hex"])
    plain = decompress(batch.codec, batch.records_data, output_bytes_max=NO_LIMIT)
    assert compress(batch.codec, plain.data) == bytes(batch.records_data)


@pytest.mark.parametrize("codec", BY_NAME)
def test_r_82_empty_and_garbage(codec: Codec) -> None:
    for data in (b"\xff", b"garbage that is no stream at all"):
        assert decompress(codec, data, output_bytes_max=NO_LIMIT) == (b"", True, False)
    # Probed on the classes of Kafka 4.3.1: its zstd reader takes no bytes for an empty stream.
    expected = (b"", codec is not Codec.ZSTD, False)
    assert decompress(codec, b"", output_bytes_max=NO_LIMIT) == expected


@pytest.mark.parametrize("codec", BY_NAME)
def test_r_82_truncated(codec: Codec) -> None:
    whole = STREAMS[codec]
    for size_bytes in range(len(whole)):
        found = decompress(codec, whole[:size_bytes], output_bytes_max=NO_LIMIT)
        # these are streams without a block, and without a frame
        sound = codec is Codec.SNAPPY and 16 <= size_bytes < 20
        sound = sound or (codec is Codec.ZSTD and size_bytes == 0)
        assert found.failed == (not sound)
        assert (b"key and value " * 200).startswith(found.data)


@pytest.mark.parametrize("codec", BY_NAME)
def test_r_84_a_bomb_stops_at_the_bound(codec: Codec) -> None:
    bomb = compress(codec, bytes(20_000_000))
    for output_bytes_max in (0, 1, 70_000):
        found = decompress(codec, bomb, output_bytes_max=output_bytes_max)
        assert found.limit_exceeded
        assert not found.failed
        assert len(found.data) <= output_bytes_max
    assert len(decompress(codec, bomb, output_bytes_max=20_000_000).data) == 20_000_000


@pytest.mark.parametrize("codec", BY_NAME)
@settings(max_examples=250, deadline=None)
@given(
    data=st.data(),
    output_bytes_max=st.sampled_from([0, 100, NO_LIMIT]),
)
def test_fuzz(codec: Codec, data: st.DataObject, output_bytes_max: int) -> None:
    stream = bytearray(STREAMS[codec])
    for position in data.draw(st.lists(st.integers(0, len(stream) - 1), max_size=3)):
        stream[position] = data.draw(st.integers(0, 255))
    tail = data.draw(st.binary(max_size=30))
    found = decompress(codec, bytes(stream) + tail, output_bytes_max=output_bytes_max)
    assert len(found.data) <= output_bytes_max
    assert not (found.failed and found.limit_exceeded)


@pytest.mark.parametrize("codec", BY_NAME)
@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=100))
def test_fuzz_raw(codec: Codec, data: bytes) -> None:
    head = STREAMS[codec][:16]
    for stream in (data, head + data):
        assert len(decompress(codec, stream, output_bytes_max=10**6).data) <= 10**6


def test_libraries_are_imported_late() -> None:
    program = (
        "import sys, broker_lite.record.builder, broker_lite.record.records\n"
        "assert not {'lz4', 'snappy', 'zstandard', 'cramjam'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
