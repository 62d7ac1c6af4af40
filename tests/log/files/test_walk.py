"""R-04, S-20: walking a file by batch headers."""

from pathlib import Path

import pytest

from broker_lite.errors import CorruptMessage
from broker_lite.log.files.open_file import OpenFile
from broker_lite.log.files.walk import batch_at, find_batch, first_batch_size, walk
from tests.log.logs import T0, batch_bytes
from tests.pipeline.support import legacy_message

SIZE = len(batch_bytes())
LEGACY = (7).to_bytes(8, "big") + (14).to_bytes(4, "big") + bytes(4) + b"\x01" + bytes(9)


def stored(path: Path, data: bytes) -> OpenFile:
    path.write_bytes(data)
    return OpenFile(str(path))


@pytest.mark.parametrize("tail", range(0, SIZE, 3))
def test_r04_a_partial_batch_ends_the_walk(tmp_path: Path, tail: int) -> None:
    data = batch_bytes() + batch_bytes()[:tail]
    file = stored(tmp_path / "log", data)
    assert list(walk(file, 0, len(data))) == [(0, SIZE, 0, 0, T0, -1)]
    assert find_batch(file, 0, len(data), 0) == (0, SIZE)
    assert find_batch(file, 0, len(data), 1) is None


def test_r04_a_length_below_the_minimum(tmp_path: Path) -> None:
    data = batch_bytes() + bytes(8) + (13).to_bytes(4, "big") + bytes(60)
    file = stored(tmp_path / "log", data)
    with pytest.raises(CorruptMessage, match=f"record size 13 .* at position {SIZE}"):
        list(walk(file, 0, len(data)))
    with pytest.raises(CorruptMessage):
        find_batch(file, 0, len(data), 1)
    with pytest.raises(CorruptMessage):
        first_batch_size(file, SIZE)
    assert first_batch_size(file, 0) == SIZE


@pytest.mark.parametrize("tail", [16, 17])
def test_r04_the_end_is_seen_17_bytes_early(tmp_path: Path, tail: int) -> None:
    """A length that is too small is no damage there."""
    data = batch_bytes() + bytes(tail)
    file = stored(tmp_path / "log", data)
    assert len(list(walk(file, 0, len(data)))) == 1
    assert find_batch(file, 0, len(data), 1) is None


def test_r02_messages_of_old_formats_are_walked_over(tmp_path: Path) -> None:
    """Their offset is that of the last message, also at the end of the file."""
    data = LEGACY + batch_bytes() + LEGACY
    file = stored(tmp_path / "log", data)
    places = list(walk(file, 0, len(data)))
    assert places[0] == places[2]._replace(position=0) == (0, 26, 7, 7, -1, -1)
    assert find_batch(file, 0, len(data), 7) == (0, 26)


@pytest.mark.parametrize(("magic", "expected"), [(0, -1), (1, T0)])
def test_r60_only_messages_of_magic_1_have_a_timestamp(
    tmp_path: Path, magic: int, expected: int
) -> None:
    data = legacy_message(7, b"k", b"v" * 9, magic=magic, timestamp_ms=T0)
    file = stored(tmp_path / "log", data)
    assert list(walk(file, 0, len(data))) == [(0, len(data), 7, 7, expected, -1)]


def test_walking_reads_on_behind_the_buffer(tmp_path: Path) -> None:
    batches = [batch_bytes(T0, value=b"x" * size) for size in (4000, 9, 600, 10000, 9, 9)]
    data = b"".join(batches)
    file = stored(tmp_path / "log", data)
    assert [place.size_bytes for place in walk(file, 0, len(data))] == [len(b) for b in batches]
    assert find_batch(file, 0, len(data), 1) is None


def test_s20_a_batch_is_recognized_by_its_range(tmp_path: Path) -> None:
    data = batch_bytes() + LEGACY + batch_bytes() + bytes(8) + (13).to_bytes(4, "big")
    data += b"\0\0\0\0\2" + bytes(50)
    file = stored(tmp_path / "log", data)
    second = SIZE + len(LEGACY)
    end = second + SIZE
    assert batch_at(file, 0, end, 0) == (0, SIZE)
    assert batch_at(file, second, end, 0) == (second, SIZE)
    assert batch_at(file, second, end - 1, 0) is None
    assert batch_at(file, second, end, 1) is None
    assert batch_at(file, SIZE, end, 7) is None
    assert batch_at(file, len(data) - 20, len(data), 0) is None
    with pytest.raises(CorruptMessage):
        batch_at(file, end, len(data), 0)
