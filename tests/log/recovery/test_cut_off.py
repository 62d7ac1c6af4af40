"""S-43: the sound batches behind the first bad one."""

from pathlib import Path

import pytest

from broker_lite.log.files.open_file import OpenFile
from broker_lite.log.recovery.cut_off import count_sound
from broker_lite.record.builder import BatchBuilder


def batch(base_offset: int) -> bytes:
    builder = BatchBuilder()
    builder.append(0, None, b"value")
    data = bytearray(builder.build())
    data[:8] = base_offset.to_bytes(8, "big")
    return bytes(data)


SIZE = len(batch(0))


def count(path: Path, data: bytes, lowest_offset: int = 0, **limits: int) -> int:
    path.write_bytes(data)
    return count_sound(OpenFile(str(path)), 0, len(data), lowest_offset, **limits)


@pytest.mark.parametrize(
    ("data", "found"),
    [
        pytest.param(b"", 0, id="S-43 nothing"),
        pytest.param(bytes(5000), 0, id="S-43 zeros"),
        pytest.param(batch(9)[:-1], 0, id="S-43 a torn batch"),
        pytest.param(batch(9)[:40], 0, id="S-43 a torn header"),
        pytest.param(bytes(77) + batch(9)[:40], 0, id="S-43 a torn header behind zeros"),
        pytest.param(b"x" + batch(9) + batch(10), 2, id="S-43 two"),
        pytest.param(bytes(77) + batch(9) + b"y" * 50 + batch(10), 2, id="S-43 with more damage"),
        pytest.param(b"x" + batch(9)[:-1] + b"y" + batch(10), 1, id="S-43 a wrong checksum"),
        pytest.param(b"x" + batch(3), 0, id="S-43 an offset that cannot be there"),
    ],
)
def test_s_43_sound_batches_are_counted(tmp_path: Path, data: bytes, found: int) -> None:
    assert count(tmp_path / "log", data, 9) == found


def test_s_43_only_a_part_of_the_file_is_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"".join(batch(number) for number in range(5)))
    assert count_sound(OpenFile(str(path)), SIZE, 3 * SIZE, 0) == 2


def test_s_43_a_batch_in_a_sound_one_is_none(tmp_path: Path) -> None:
    builder = BatchBuilder()
    builder.append(0, None, batch(9))
    outer = bytearray(builder.build())
    outer[:8] = (9).to_bytes(8, "big")
    assert count(tmp_path / "log", b"x" + bytes(outer)) == 1


def test_what_is_looked_at_is_bounded(tmp_path: Path) -> None:
    data = b"".join(batch(number) for number in range(10))
    limits = {"looked_at_bytes": 5 * SIZE}
    assert count(tmp_path / "log", data, **limits) == 5
    limits["checked_bytes_max"] = 2 * SIZE
    assert count(tmp_path / "log", data, **limits) == 3
