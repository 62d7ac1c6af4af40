"""V-45, R-84: the bounds of a reader of compressed streams."""

import pytest

from broker_lite.record.codecs.compression import compress, decompress
from broker_lite.record.codecs.decompressed import Bounds, Parts, TooManyParts
from broker_lite.record.stopping import Stop, WorkStopped


def test_parts_are_counted() -> None:
    parts = Parts(Bounds(parts_max=2))
    parts.take()
    parts.take()
    for _ in range(2):
        with pytest.raises(TooManyParts):
            parts.take()


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_v45_every_codec_stops_at_the_last_part_allowed(codec: int) -> None:
    """What the parts before have given stays; the rest is not looked at."""
    data = bytes(200_000)
    stream = compress(codec, data)
    needed = next(
        parts
        for parts in range(100)
        if not decompress(codec, stream, output_bytes_max=len(data), parts_max=parts).limit_exceeded
    )
    assert needed == {1: 1, 2: 7, 3: 4, 4: 3}[codec]
    found = decompress(codec, stream, output_bytes_max=len(data), parts_max=needed - 1)
    assert found.limit_exceeded
    assert not found.failed
    assert data.startswith(bytes(found.data))


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_every_codec_sees_a_stop(codec: int) -> None:
    stop = Stop()
    stream = compress(codec, b"data", None, stop)
    stop.set()
    with pytest.raises(WorkStopped):
        compress(codec, b"data", None, stop)
    with pytest.raises(WorkStopped):
        decompress(codec, stream, output_bytes_max=100, stop=stop)


@pytest.mark.parametrize(
    ("codec", "part"),
    [
        pytest.param(1, bytes.fromhex("1f8b08000000000000ff0300" + "00" * 8), id="gzip-member"),
        pytest.param(2, bytes.fromhex("0000000100"), id="xerial-chunk"),
        pytest.param(4, bytes.fromhex("502a4d1800000000"), id="zstd-skippable-frame"),
        pytest.param(4, bytes.fromhex("28b52ffd2000010000"), id="zstd-frame"),
    ],
)
def test_v45_parts_without_content(codec: int, part: bytes) -> None:
    """They were the cheapest way to keep a thread busy: 3 to 10 s for 5 MB."""
    stream = compress(codec, b"data") + part * 1000
    found = decompress(codec, stream, output_bytes_max=100)
    assert (bytes(found.data), found.failed, found.limit_exceeded) == (b"data", False, False)
    assert decompress(codec, stream, output_bytes_max=100, parts_max=999).limit_exceeded


def test_v45_blocks_of_a_zstd_frame_are_parts() -> None:
    stream = bytes.fromhex("28b52ffd0038") + bytes(3) * 999 + b"\1\0\0"
    for parts_max, is_exceeded in ((1001, False), (1000, True)):
        found = decompress(4, stream, output_bytes_max=100, parts_max=parts_max)
        assert (bytes(found.data), found.failed) == (b"", False)
        assert found.limit_exceeded is is_exceeded
