import logging
import shutil
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from broker_lite.pipeline.files.file_io import FileInfo, LocalFileIO, ReadableFile
from broker_lite.pipeline.files.open_file_io import open_file_io
from broker_lite.pipeline.read.corruption import CorruptLog
from broker_lite.pipeline.read.ranges import DataLossError
from broker_lite.pipeline.stream.settling import UnsettledLog
from broker_lite.pipeline.stream.stretch import SEGMENTS_HELD, Stretch, read_stretch
from tests.pipeline.stream_support import (
    IO,
    Step,
    compaction,
    delete_segments_below,
    stream_options,
)
from tests.pipeline.support import Partition, cut, damage, numbered

SURVIVORS = {0, 4, 5, 8, 9, 10, 11, 12, 13}
ALL = range(14)
STEPS = 17
"""How many renames there are when three segments, each with two indexes, become one."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Segments at 0, 4 and 8 that a cleaner may exchange, and one at 12, with 14 records in all."""
    write_log(tmp_path)
    return tmp_path


def write_log(root: Path) -> None:
    with Partition(root) as partition:
        for _ in range(3):
            partition.append(numbered(2))
            partition.append(numbered(2))
            partition.roll()
        partition.append(numbered(2))


def of(root: Path, first_offset: int = 0, end_offset: int = 14) -> Stretch:
    return Stretch(str(root), str(root / "topic-0"), "topic", 0, first_offset, end_offset)


def offsets(
    root: Path, wanted: Stretch | None = None, io: LocalFileIO = IO, **options: str
) -> list[int]:
    """What a reader gets, in its order."""
    return list(each_offset(root, wanted, io, **options))


def each_offset(
    root: Path,
    wanted: Stretch | None = None,
    io: LocalFileIO = IO,
    *,
    segments_held: int = SEGMENTS_HELD,
    **options: str,
) -> Iterator[int]:
    for arrow_batch in read_stretch(
        io, wanted or of(root), stream_options(root, **options), segments_held=segments_held
    ):
        yield from arrow_batch.column("offset").to_pylist()


class Changing(LocalFileIO):
    """Local files, of which something changes before every so many looks, from one look on."""

    __slots__ = ("every", "looks", "steps")

    def __init__(self, first: int, every: int, steps: list[Step]) -> None:
        self.looks = first
        self.every = every
        self.steps = steps

    def _look(self) -> None:
        self.looks -= 1
        if self.looks < 0 and self.looks % self.every == 0 and self.steps:
            self.steps.pop(0)()

    def list(self, path: str) -> list[FileInfo]:  # type: ignore[explicit-override]
        self._look()
        return super().list(path)

    def open(self, path: str) -> ReadableFile:  # type: ignore[explicit-override]
        self._look()
        return super().open(path)


def test_all_of_it_by_rising_offset(root: Path) -> None:
    assert offsets(root) == list(ALL)


@pytest.mark.parametrize(("first", "end"), [(0, 1), (1, 4), (3, 5), (4, 12), (7, 13), (13, 14)])
def test_no_more_than_it_whatever_batches_and_segments_are(
    root: Path, first: int, end: int
) -> None:
    assert offsets(root, of(root, first, end)) == list(range(first, end))


def test_few_segments_are_open_at_a_time(root: Path) -> None:
    assert list(each_offset(root, segments_held=1)) == list(ALL)
    assert list(each_offset(root, of(root, 5, 11), segments_held=1)) == list(range(5, 11))


def assert_read_beside_a_cleaner(root: Path, done: int, first: int, every: int) -> Changing:
    """Read while segments are exchanged, of which some renames were done before."""
    write_log(root)
    steps = compaction(root, SURVIVORS.__contains__)
    assert len(steps) == STEPS
    for step in steps[:done]:
        step()
    io = Changing(first, every, steps[done:])
    found = offsets(root, io=io)
    assert found == sorted(set(found))
    assert set(ALL) >= set(found) >= SURVIVORS
    return io


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("every", [1, 2, 7])
def test_a_cleaner_goes_on_between_any_two_looks_s89(tmp_path: Path, every: int) -> None:
    for first in range(40):
        io = assert_read_beside_a_cleaner(tmp_path / str(first), 0, first, every)
        if io.looks >= 0:  # all was read before the cleaner began
            assert first > 5
            return
    pytest.fail("there are more looks")


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("every", [1, 2, 7])
def test_a_reader_comes_to_a_cleaner_at_any_step_s89(tmp_path: Path, every: int) -> None:
    for done in range(STEPS + 1):
        assert_read_beside_a_cleaner(tmp_path / str(done), done, 0, every)


@pytest.mark.usefixtures("impatient")
def test_a_cleaner_between_segments(root: Path) -> None:
    rows = each_offset(root, segments_held=1)
    found = [next(rows) for _ in range(5)]
    for step in compaction(root, SURVIVORS.__contains__):
        step()
    found += rows
    # The segment with 4 to 7 was open; 8 is in the one that begins at 0 by now.
    assert found == list(ALL)


def test_what_is_open_may_be_deleted(root: Path) -> None:
    rows = each_offset(root)
    assert next(rows) == 0
    shutil.rmtree(root)
    assert list(rows) == list(range(1, 14))


@pytest.mark.usefixtures("impatient")
def test_an_exchange_that_was_not_finished_is_an_error(root: Path) -> None:
    (root / "topic-0" / f"{4:020}.log").rename(root / "topic-0" / f"{4:020}.log.swap")
    with pytest.raises(UnsettledLog, match="the next start of the broker finishes that"):
        offsets(root)


def test_what_retention_took_is_lost(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    delete_segments_below(root / "topic-0", 8)
    with pytest.raises(DataLossError, match="topic-0: offsets 2 to 14 are expected, the log has"):
        offsets(root, of(root, 2))
    with caplog.at_level(logging.WARNING, "broker_lite.pipeline"):
        assert offsets(root, of(root, 2), failOnDataLoss="false") == list(range(8, 14))
        assert offsets(root, of(root, 2, 6), failOnDataLoss="false") == []
    assert len(caplog.records) == 2
    assert offsets(root, of(root, 8)) == list(range(8, 14))


def test_what_a_crash_cut_off_is_lost(root: Path) -> None:
    path = root / "topic-0" / f"{12:020}.log"
    cut(path, path.stat().st_size - 1)
    with pytest.raises(DataLossError, match="offsets 0 to 14 are expected, the log has 0 to 12"):
        offsets(root)
    assert offsets(root, failOnDataLoss="false") == list(range(12))
    assert offsets(root, of(root, 0, 12)) == list(range(12))


def test_a_partition_that_is_gone_is_lost(root: Path) -> None:
    shutil.rmtree(root / "topic-0")
    with pytest.raises(DataLossError, match="offsets 0 to 14 are expected, the log has 0 to 0"):
        offsets(root)
    assert offsets(root, failOnDataLoss="false") == []


def test_committed_records_only(tmp_path: Path) -> None:
    with Partition(tmp_path) as partition:
        for number in range(4):
            partition.append(numbered(2), producer_id=7, is_transactional=True)
            partition.roll()
            partition.end_transaction(7, commit=number % 2 == 0)
    committed = {"isolationLevel": "read_committed"}
    assert offsets(tmp_path, of(tmp_path, 0, 12), **committed) == [0, 1, 6, 7]
    assert offsets(tmp_path, of(tmp_path, 3, 7), **committed) == [6]
    # The index of an aborted transaction is gone, and its records with it, while they are read.
    rows = each_offset(tmp_path, of(tmp_path, 0, 12), **committed)
    found = [next(rows)]
    for path in (tmp_path / "topic-0").glob("*.txnindex"):
        path.unlink()
    assert found + list(rows) == [0, 1, 6, 7]


def test_damage_is_told_or_left_out_r06(root: Path) -> None:
    damage(root / "topic-0" / f"{4:020}.log", 80)
    with pytest.raises(CorruptLog, match=f"{4:020}.log at 0: R-06"):
        offsets(root)
    assert offsets(root, onCorrupt="skip") == [offset for offset in ALL if offset not in (4, 5)]


def test_other_storage(root: Path) -> None:
    memory = fsspec.filesystem("memory")
    uri = f"memory:///{root.name}"
    memory.put(f"{root}/", f"/{root.name}/", recursive=True)
    io, path = open_file_io(uri)
    wanted = of(root)._replace(uri=uri, directory=f"{path}/topic-0")
    found = [
        offset
        for arrow_batch in read_stretch(io, wanted, stream_options(root))
        for offset in arrow_batch.column("offset").to_pylist()
    ]
    assert found == list(ALL)
    memory.rm(f"/{root.name}", recursive=True)
