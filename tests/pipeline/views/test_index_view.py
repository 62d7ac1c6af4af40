"""S-10, S-11, S-16: entries of the indexes, true ones and wrong ones."""

from pathlib import Path

import pytest

from broker_lite.pipeline.files import index_entries
from tests.pipeline.index_reading import (
    BATCH_BYTES,
    BATCHES,
    RECORDS,
    arrow,
    file_of,
    indexed_partition,
    read,
    told,
    wrong,
)
from tests.pipeline.support import (
    T0,
    Partition,
    numbered,
    whole_split,
)


@pytest.fixture
def partition(tmp_path: Path) -> Partition:
    return indexed_partition(tmp_path)


def test_every_entry_of_a_sound_segment(partition: Partition) -> None:
    rows = read(partition.directory.parent)
    assert wrong(rows) == []
    assert told(read(partition.directory.parent, "offset"))[:7] == [
        ((number + 1) * RECORDS - 1, number * BATCH_BYTES, None) for number in range(1, BATCHES)
    ]
    offset = BATCHES * RECORDS - 1
    assert (T0 + offset, offset, None) in told(read(partition.directory.parent, "time"))
    assert told(read(partition.directory.parent, "transaction")) == [(80, 81, None)]
    assert {row["file"] for row in rows} == {
        str(file_of(partition, suffix)) for suffix in (".index", ".timeindex", ".txnindex")
    }
    assert {(row["topic"], row["partition"], row["segment"]) for row in rows} == {("topic", 0, 0)}


def test_several_segments(tmp_path: Path) -> None:
    with Partition(tmp_path, segment_bytes=1500, index_interval_bytes=100) as written:
        for number in range(BATCHES):
            written.append(numbered(RECORDS, first=number * RECORDS))
    rows = read(tmp_path)
    assert wrong(rows) == []
    assert {row["segment"] for row in rows} == {0, 30, 60}


def test_files_are_looked_at_whole(partition: Partition) -> None:
    split = whole_split(partition.directory.parent, first_offset=30, end_offset=40)
    rows = [row for found in arrow(split) for row in found.to_pylist()]
    assert rows == read(partition.directory.parent)


@pytest.mark.parametrize("columns", [("key",), ("error", "file"), ("consistent", "topic")])
def test_only_some_columns(partition: Partition, columns: tuple[str, ...]) -> None:
    (found,) = arrow(whole_split(partition.directory.parent), columns=",".join(columns))
    (everything,) = arrow(whole_split(partition.directory.parent))
    assert found == everything.select(columns)


def test_arrow_batches_are_bounded(partition: Partition, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read(partition.directory.parent)
    monkeypatch.setattr(index_entries, "PAGE_ENTRIES", 3)
    found = arrow(whole_split(partition.directory.parent), 4)
    assert [one.num_rows for one in found][:-1] == [4] * (len(whole) // 4)
    assert [row for one in found for row in one.to_pylist()] == whole


def test_s_12_zeros_are_no_entries_nor_is_a_part_of_one(partition: Partition) -> None:
    whole = read(partition.directory.parent)
    for suffix, more in ((".index", bytes(800)), (".timeindex", b"\1" * 5), (".txnindex", b"\0")):
        path = file_of(partition, suffix)
        path.write_bytes(path.read_bytes() + more)
    assert read(partition.directory.parent) == whole


def test_files_that_vanish(partition: Partition) -> None:
    split = whole_split(partition.directory.parent)
    for suffix in (".index", ".timeindex", ".txnindex"):
        file_of(partition, suffix).unlink()
    assert arrow(split) == []
    file_of(partition, ".log").unlink()
    with pytest.raises(FileNotFoundError):
        arrow(split)
    assert arrow(split, failOnDataLoss="false") == []
