"""R-20: offsets and leader epochs are changed in place or in a copy, and no checksum with them."""

from pathlib import Path

import pytest

from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.write.log_writer import Placement
from broker_lite.pipeline.write.restamp import restamp_copy, restamp_local
from broker_lite.record.batch import RecordBatch
from tests.pipeline.support import numbered
from tests.pipeline.write_support import stage


def batches(path: Path) -> list[RecordBatch]:
    data, position, found = memoryview(path.read_bytes()), 0, []
    while position < len(data):
        length = int.from_bytes(data[position + 8 : position + 12], "big")
        found.append(RecordBatch(data, position, 12 + length))
        position += 12 + length
    return found


@pytest.fixture
def staged(tmp_path: Path) -> Path:
    (segment,) = stage(Placement(str(tmp_path), "topic", 0, "job-1"), numbered(20))
    return Path(segment.staged_path(".log"))


def check(path: Path) -> None:
    found = batches(path)
    assert [one.base_offset for one in found] == [1 << 40, *(5 * n + (1 << 40) for n in (1, 2, 3))]
    assert {one.leader_epoch for one in found} == {9}
    assert all(one.crc_is_valid() for one in found)


def test_in_place(staged: Path) -> None:
    restamp_local(str(staged), 1 << 40, 9)
    check(staged)


@pytest.mark.parametrize("read_bytes", [20, 200, 1 << 20])
def test_in_a_copy(staged: Path, tmp_path: Path, read_bytes: int) -> None:
    before = staged.read_bytes()
    copy = str(tmp_path / "copy")
    restamp_copy(LocalFileIO(), str(staged), copy, 1 << 40, 9, read_bytes=read_bytes)
    check(tmp_path / "copy")
    assert staged.read_bytes() == before
