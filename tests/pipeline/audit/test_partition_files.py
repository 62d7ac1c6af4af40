"""S-10, S-11, S-12, S-16, S-17, S-60: files that are cut, changed or not there."""

from pathlib import Path

import pytest

from broker_lite.pipeline.audit.partition_files import partition_files
from broker_lite.pipeline.files.file_io import FileInfo, LocalFileIO, ReadableFile
from broker_lite.pipeline.files.layout import find_partitions
from tests.pipeline.support import Partition, cut, damage, numbered

IO = LocalFileIO()
ENDINGS = {
    "0.index": "S-12",
    "0.timeindex": "S-12",
    "0.txnindex": "S-12",
    "3.snapshot": "S-17",
    "4.snapshot": "S-17",
    "leader-epoch-checkpoint": "S-60",
}


@pytest.fixture
def partition(tmp_path: Path) -> Partition:
    """A closed segment with an aborted transaction, an open one, snapshots at 3 and at the end."""
    with Partition(tmp_path, index_interval_bytes=10) as written:
        written.append(numbered(1))
        written.append(numbered(1), producer_id=7, is_transactional=True)
        written.end_transaction(7, commit=False)
        written.roll()
        written.append(numbered(1))
    return written


def told(partition: Partition) -> list[tuple[str, str]]:
    (log,) = find_partitions(IO, str(partition.directory.parent)).values()
    return [(Path(one.file).name, one.rule) for one in partition_files(IO, log)]


def file_of(partition: Partition, ending: str) -> Path:
    (path,) = partition.directory.glob(f"*{ending}")
    return path


def test_whole_ones_are_sound(partition: Partition) -> None:
    assert told(partition) == []


@pytest.mark.parametrize(("ending", "rule"), ENDINGS.items())
def test_a_byte_less(partition: Partition, ending: str, rule: str) -> None:
    path = file_of(partition, ending)
    cut(path, path.stat().st_size - (2 if rule == "S-60" else 1))
    assert told(partition) == [(path.name, rule)]


@pytest.mark.parametrize(("ending", "rule"), [*ENDINGS.items()][3:])
def test_another_byte(partition: Partition, ending: str, rule: str) -> None:
    path = file_of(partition, ending)
    for position in range(path.stat().st_size):
        damage(path, position)
        assert told(partition) == [(path.name, rule)]
        damage(path, position)


@pytest.mark.parametrize("position", [0, 1, 10, 26, 33], ids=str)
def test_s_16_another_version_order_or_stable_offset(partition: Partition, position: int) -> None:
    path = file_of(partition, ".txnindex")
    damage(path, position, 0x41)
    assert told(partition) == [(path.name, "S-16")]


@pytest.mark.parametrize(("ending", "rule"), [("0.index", "S-10"), ("0.timeindex", "S-11")])
def test_an_index_that_is_not_there(partition: Partition, ending: str, rule: str) -> None:
    path = file_of(partition, ending)
    path.unlink()
    assert told(partition) == [(path.name, rule)]


class Vanishing(LocalFileIO):
    """Files that are gone, or all of a directory that is."""

    __slots__ = ("is_all",)

    def __init__(self, *, is_all: bool) -> None:
        self.is_all = is_all

    def open(self, path: str) -> ReadableFile:  # type: ignore[explicit-override]
        raise FileNotFoundError(path)

    def list(self, path: str) -> list[FileInfo]:  # type: ignore[explicit-override]
        if self.is_all:
            raise FileNotFoundError(path)
        return super().list(path)


@pytest.mark.parametrize("is_all", [False, True])
def test_what_vanished_since_it_was_listed(partition: Partition, is_all: bool) -> None:
    (log,) = find_partitions(IO, str(partition.directory.parent)).values()
    assert list(partition_files(Vanishing(is_all=is_all), log)) == []
