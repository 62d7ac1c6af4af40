"""R-06: the next sound batch behind damage, whatever lies in between."""

import os
from pathlib import Path
from typing import Any

import pytest

from broker_lite.log.files.headers import header_at
from broker_lite.pipeline.files.sound_search import (
    BATCH_BYTES_MAX,
    OffsetBounds,
    are_zeros,
    find_sound,
    is_possible,
    offset_bounds,
)
from broker_lite.record.builder import BatchBuilder
from tests.pipeline.files.filled import IO
from tests.pipeline.support import legacy_message, write_segment

ANY = OffsetBounds(0, 1 << 40)


def batch(base_offset: int, value: bytes = b"value") -> bytes:
    builder = BatchBuilder()
    builder.append(0, None, value)
    data = bytearray(builder.build())
    data[:8] = base_offset.to_bytes(8, "big")
    return bytes(data)


def found(path: Path, bounds: OffsetBounds = ANY, **options: Any) -> int | None:
    with IO.open(str(path)) as file:
        header = find_sound(file, 0, file.size_bytes, bounds, **options)
    return None if header is None else header.position


@pytest.mark.parametrize("size_bytes", [0, 1, 4096, (1 << 20) - 30, (1 << 20) + 7, 3 << 20])
@pytest.mark.parametrize("fill", ["zeros", "chance", "twos"])
def test_r_06_a_batch_is_found_behind_anything(tmp_path: Path, size_bytes: int, fill: str) -> None:
    fills = {"zeros": bytes, "chance": os.urandom, "twos": lambda count: b"\2" * count}
    path = write_segment(tmp_path, fills[fill](size_bytes) + batch(7))
    assert found(path) == size_bytes


def test_r_06_a_hole_is_passed_over(tmp_path: Path) -> None:
    path = write_segment(tmp_path, b"")
    with path.open("r+b") as file:
        file.truncate(1 << 32)
        file.seek((1 << 32) - 5000)
        file.write(batch(7))
    assert found(path) == (1 << 32) - 5000


def test_r_06_offsets_have_to_be_possible(tmp_path: Path) -> None:
    """A record may hold a whole batch."""
    path = write_segment(tmp_path, b"x" + batch(7) + batch(70))
    assert found(path, OffsetBounds(8, 100)) == 1 + len(batch(7))
    assert found(path, OffsetBounds(8, 70)) is None


def test_r_06_a_wrong_checksum_is_not_sound(tmp_path: Path) -> None:
    path = write_segment(tmp_path, b"x" + batch(7)[:-1] + b"y")
    assert found(path) is None


@pytest.mark.parametrize("magic", [0, 1])
def test_r_60_old_messages_are_found_when_they_are_looked_for(tmp_path: Path, magic: int) -> None:
    path = write_segment(tmp_path, bytes(50) + legacy_message(3, b"k", b"v", magic=magic))
    assert found(path, with_old=True) == 50
    assert found(path) is None


def test_many_candidates_do_not_take_for_ever(tmp_path: Path) -> None:
    false = batch(7, bytes(100_000))[:61]
    path = write_segment(tmp_path, false * 3 + batch(9) + bytes(300_000))
    assert found(path, checked_bytes_max=100) == 3 * len(false)


def test_bounds_of_a_segment() -> None:
    assert offset_bounds(5, 7, None) == (7, 5 + (1 << 31))
    assert offset_bounds(5, 7, 100) == (7, 100)


def test_a_length_above_what_is_read_is_not_possible(tmp_path: Path) -> None:
    with IO.open(str(write_segment(tmp_path, batch(3)))) as file:
        header = header_at(file, 0, file.size_bytes, 0)
    assert header is not None
    assert is_possible(header, ANY)
    assert not is_possible(header._replace(size_bytes=BATCH_BYTES_MAX + 1), ANY)
    assert not is_possible(header._replace(last_offset=2), ANY)


def test_s_05_zeros(tmp_path: Path) -> None:
    path = write_segment(tmp_path, b"x" + bytes(3 << 20))
    with IO.open(str(path)) as file:
        assert are_zeros(file, 1, file.size_bytes)
        assert not are_zeros(file, 0, file.size_bytes)
        assert are_zeros(file, file.size_bytes, file.size_bytes)
