"""S-89: a batch query's rows are right whatever a cleaner and retention do since it was planned."""

import logging
import shutil
from pathlib import Path

import fsspec
import pytest

from broker_lite.pipeline.files.file_io import FileIO, LocalFileIO
from broker_lite.pipeline.files.open_file_io import open_file_io
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.ranges import DataLossError
from broker_lite.pipeline.read.split import Split
from broker_lite.pipeline.stream.planned import plan_settled, read_planned
from broker_lite.pipeline.stream.settling import UnsettledLog
from broker_lite.pipeline.stream.stretch import SEGMENTS_HELD
from tests.pipeline.stream.test_stretch import ALL, STEPS, SURVIVORS, Changing, write_log
from tests.pipeline.stream_support import IO, compaction, delete_segments_below
from tests.pipeline.support import Partition, numbered

pytestmark = pytest.mark.usefixtures("impatient")


def options_of(root: Path | str, **given: str) -> ReadOptions:
    return ReadOptions.parse({"path": str(root)} | given)


def planned_splits(root: Path, io: FileIO = IO, **given: str) -> list[Split]:
    return plan_settled(io, str(root), options_of(root, **given))


def offsets(
    splits: list[Split], io: FileIO = IO, segments_held: int = SEGMENTS_HELD, **given: str
) -> list[int]:
    return [
        offset
        for split in splits
        for arrow_batch in read_planned(
            io, split, options_of("/", **given), segments_held=segments_held
        )
        for offset in arrow_batch.column("offset").to_pylist()
    ]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_log(tmp_path)
    return tmp_path


@pytest.mark.parametrize("held", [64, 1], ids=["all at once", "one by one"])
@pytest.mark.parametrize("split_bytes", ["1", "64m"], ids=["many splits", "one split"])
@pytest.mark.parametrize("done", range(0, STEPS + 1, 3))
def test_a_cleaner_came_in_between(root: Path, done: int, split_bytes: str, held: int) -> None:
    splits = planned_splits(root, maxSplitBytes=split_bytes)
    assert offsets(splits, segments_held=held) == list(ALL)
    steps = compaction(root, SURVIVORS.__contains__)
    for step in steps[:done]:
        step()
    found = offsets(splits, Changing(0, 2, steps[done:]), held)
    assert found == sorted(set(found))
    assert set(ALL) >= set(found) >= SURVIVORS


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("done", range(0, STEPS, 5))
def test_a_cleaner_is_there_while_it_is_planned(root: Path, done: int, every: int) -> None:
    steps = compaction(root, SURVIVORS.__contains__)
    for step in steps[:done]:
        step()
    io = Changing(0, every, steps[done:])
    found = offsets(planned_splits(root, io), io)
    assert found == sorted(set(found))
    assert set(ALL) >= set(found) >= SURVIVORS


def test_batches_beside_a_cleaner(root: Path) -> None:
    splits = planned_splits(root, view="batches", maxSplitBytes="1")
    for step in compaction(root, SURVIVORS.__contains__):
        step()
    view = options_of("/", view="batches")
    rows = [
        row for one in splits for found in read_planned(IO, one, view) for row in found.to_pylist()
    ]
    assert sum(row["recordCount"] for row in rows) == len(SURVIVORS)
    assert all(row["error"] is None for row in rows)


def test_what_was_appended_since_is_left_out(root: Path) -> None:
    splits = planned_splits(root)
    with Partition(root) as partition:
        partition.append(numbered(5))
        partition.roll()
        partition.append(numbered(5))
    assert offsets(splits) == list(ALL)


def test_what_retention_took_is_lost(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    splits = planned_splits(root)
    delete_segments_below(root / "topic-0", 8)
    with pytest.raises(DataLossError, match="offsets 0 to 14 are expected, the log has 8 to 14"):
        offsets(splits)
    with caplog.at_level(logging.WARNING, "broker_lite.pipeline"):
        assert offsets(splits, failOnDataLoss="false") == list(range(8, 14))
    assert "data may be lost" in caplog.text


def test_a_topic_that_was_deleted_is_lost(root: Path) -> None:
    splits = planned_splits(root)
    shutil.rmtree(root / "topic-0")
    with pytest.raises(DataLossError, match="offsets 0 to 14 are expected, the log has 0 to 0"):
        offsets(splits)
    assert offsets(splits, failOnDataLoss="false") == []


def test_what_is_open_may_go(root: Path) -> None:
    (split,) = planned_splits(root)
    rows = read_planned(IO, split, options_of("/"))
    first = next(rows)
    shutil.rmtree(root)
    assert first.num_rows + sum(one.num_rows for one in rows) == len(ALL)


def test_an_exchange_that_was_not_finished_is_an_error(root: Path) -> None:
    (root / "topic-0" / f"{4:020}.log").rename(root / "topic-0" / f"{4:020}.log.swap")
    with pytest.raises(UnsettledLog, match="the next start of the broker finishes that"):
        planned_splits(root)


def test_the_index_view_is_about_files(root: Path) -> None:
    (split,) = planned_splits(root, view="index")
    rows = [
        found.num_rows
        for found in read_planned(LocalFileIO(), split, options_of("/", view="index"))
    ]
    assert sum(rows) > 0


def test_other_storage_is_read_as_planned(root: Path) -> None:
    memory = fsspec.filesystem("memory")
    memory.put(f"{root}/", f"/{root.name}/", recursive=True)
    options = options_of(f"memory:///{root.name}")
    io, path = open_file_io(options.path)
    splits = plan_settled(io, path, options)
    assert offsets(splits, io) == list(ALL)
    memory.rm(f"/{root.name}", recursive=True)
