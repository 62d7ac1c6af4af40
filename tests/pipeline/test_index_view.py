"""S-10, S-11, S-16: entries of the indexes, true ones and wrong ones."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from broker_lite.log.txn_index import ENTRY as TRANSACTION_ENTRY
from broker_lite.pipeline import index_entries, index_view
from broker_lite.pipeline.file_io import LocalFileIO
from broker_lite.pipeline.index_view import index_rows, index_schema
from broker_lite.pipeline.options import ReadOptions
from broker_lite.pipeline.split import Split
from tests.pipeline.support import (
    T0,
    NewRecord,
    Partition,
    damage,
    legacy_message,
    legacy_wrapper,
    numbered,
    whole_split,
    write_segment,
)

IO = LocalFileIO()
BATCHES, RECORDS, BATCH_BYTES = 8, 10, 431


def arrow(split: Split, **given: str) -> list[pa.RecordBatch]:
    options = ReadOptions.parse({"path": "/", "view": "index"} | given)
    found = list(index_rows(IO, split, options))
    for arrow_batch in found:
        arrow_batch.validate(full=True)
        assert arrow_batch.schema == index_schema(options.columns)
    return found


def read(root: Path, kind: str | None = None, **given: str) -> list[dict[str, Any]]:
    rows = [row for found in arrow(whole_split(root), **given) for row in found.to_pylist()]
    return [row for row in rows if kind is None or row["kind"] == kind]


def told(rows: list[dict[str, Any]]) -> list[tuple[int, int, str | None]]:
    assert all(row["consistent"] is (row["error"] is None) for row in rows)
    return [(row["key"], row["position"], row["error"]) for row in rows]


def wrong(rows: list[dict[str, Any]]) -> list[str]:
    return [row["error"] for row in rows if not row["consistent"]]


@pytest.fixture
def partition(tmp_path: Path) -> Partition:
    """Batches of ten records, every one but the first in both indexes; one aborted transaction."""
    with Partition(tmp_path, index_interval_bytes=100) as written:
        for number in range(BATCHES):
            written.append(numbered(RECORDS, first=number * RECORDS))
        written.append(numbered(1), producer_id=7, is_transactional=True)
        written.end_transaction(7, commit=False)
    return written


def file_of(partition: Partition, suffix: str) -> Path:
    (path,) = partition.directory.glob(f"*{suffix}")
    return path


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
    monkeypatch.setattr(index_view, "ROWS_MAX", 4)
    monkeypatch.setattr(index_entries, "_PAGE_ENTRIES", 3)
    found = arrow(whole_split(partition.directory.parent))
    assert [one.num_rows for one in found][:-1] == [4] * (len(whole) // 4)
    assert [row for one in found for row in one.to_pylist()] == whole


def test_s_12_zeros_are_no_entries_nor_is_a_part_of_one(partition: Partition) -> None:
    whole = read(partition.directory.parent)
    for suffix, more in ((".index", bytes(800)), (".timeindex", b"\1" * 5), (".txnindex", b"\0")):
        path = file_of(partition, suffix)
        path.write_bytes(path.read_bytes() + more)
    assert read(partition.directory.parent) == whole


@pytest.mark.parametrize(
    ("entry", "byte", "xor", "error"),
    [
        pytest.param(2, 7, 1, "S-10: offset 39 no batch starts at 1292", id="S-10 place"),
        pytest.param(2, 3, 1, "S-10: offset 38 is not the last offset of a batch", id="S-10 key"),
        pytest.param(2, 3, 8, "S-10: offset 47 is not the last offset of a batch", id="S-10 high"),
        pytest.param(2, 3, 0x3A, "S-10: offset 29 is not below", id="S-10 same"),
        pytest.param(2, 0, 1, "S-10: offset 16777255 is not below the entry behind it", id="order"),
        pytest.param(2, 4, 1, "S-10: offset 39 is not below the entry behind it", id="S-10 order"),
        pytest.param(7, 4, 1, "S-10: offset 80 leads behind the last batch", id="S-10 behind"),
        pytest.param(7, 0, 1, "S-10: offset 16777296 is not the last offset", id="S-10 last"),
    ],
)
def test_wrong_offset_entries(
    partition: Partition, entry: int, byte: int, xor: int, error: str
) -> None:
    damage(file_of(partition, ".index"), entry * 8 + byte, xor)
    found = wrong(read(partition.directory.parent))
    assert any(one.startswith(error) for one in found)
    assert len(found) <= 2  # of two in the wrong order either may be the wrong one


def test_s_10_an_offset_in_front_of_its_batch(tmp_path: Path) -> None:
    with Partition(tmp_path, index_interval_bytes=600) as written:
        for number in range(BATCHES):
            written.append(numbered(RECORDS, first=number * RECORDS))
    damage(file_of(written, ".index"), 3, 29 ^ 9)
    assert wrong(read(tmp_path)) == ["S-10: offset 9 the batch there begins at 20"]


@pytest.mark.parametrize(
    ("entry", "byte", "xor", "error"),
    [
        pytest.param(2, 7, 1, "S-11: timestamp 1700000000038 is not the youngest", id="S-11 time"),
        pytest.param(2, 11, 0x20, "S-11: timestamp 1700000000039 is not", id="S-11 offset"),
        pytest.param(2, 1, 1, "S-11: timestamp 283174976710695 is not below", id="S-11 order"),
        pytest.param(9, 8, 1, "S-11: timestamp 1700000000080 leads behind", id="S-11 behind"),
    ],
)
def test_wrong_time_entries(
    partition: Partition, entry: int, byte: int, xor: int, error: str
) -> None:
    path = file_of(partition, ".timeindex")
    damage(path, min(entry * 12, path.stat().st_size - 12) + byte, xor)
    found = wrong(read(partition.directory.parent))
    assert any(one.startswith(error) for one in found)
    assert len(found) <= 2


def test_s_11_an_older_batch_does_not_bring_the_largest_timestamp(tmp_path: Path) -> None:
    with Partition(tmp_path, index_interval_bytes=10) as written:
        for timestamp_ms in (T0, T0 + 9, T0 + 5, T0 + 12):
            written.append([NewRecord(timestamp_ms=timestamp_ms)])
    assert told(read(tmp_path, "time")) == [(T0 + 9, 1, None), (T0 + 12, 3, None)]
    damage(file_of(written, ".timeindex"), 11, 3)
    error = f"S-11: timestamp {T0 + 9} is not that of the batch with offset 2: {T0 + 5}"
    assert wrong(read(tmp_path)) == [error]


def transaction(producer_id: int, first_offset: int, last_offset: int) -> bytes:
    return TRANSACTION_ENTRY.pack(0, producer_id, first_offset, last_offset, last_offset + 1)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (transaction(8, 80, 81), "S-16: transaction from 80 of producer 8 has no marker at 81"),
        (transaction(7, 79, 80), "S-16: transaction from 79 of producer 7 has no marker at 80"),
        (transaction(7, 82, 81), "S-16: transaction from 82 ends before it begins"),
        (transaction(7, 80, 82), "S-16: transaction from 80 leads behind the last batch"),
    ],
)
def test_s_16_wrong_transactions(partition: Partition, data: bytes, error: str) -> None:
    file_of(partition, ".txnindex").write_bytes(data)
    assert wrong(read(partition.directory.parent)) == [error]


MARKER_BYTES, MARKER_KEY = 78, 61 + 5


def test_s_16_a_marker_that_cannot_be_read(partition: Partition) -> None:
    path = file_of(partition, ".log")
    damage(path, path.stat().st_size - MARKER_BYTES + MARKER_KEY, 0x80)  # a version below 0
    error = "S-16: transaction from 80 of producer 7 has no marker at 81"
    assert wrong(read(partition.directory.parent)) == [error]


def test_old_messages_have_indexes_too(tmp_path: Path) -> None:
    message = legacy_message(0, b"k", b"v")
    wrapper = legacy_wrapper(3, [legacy_message(at, None, b"v") for at in range(3)])
    path = write_segment(tmp_path, message + wrapper)
    entry = (3).to_bytes(4, "big") + len(message).to_bytes(4, "big")
    path.with_suffix(".index").write_bytes(entry)
    path.with_suffix(".timeindex").write_bytes(T0.to_bytes(8, "big") + bytes(4))
    path.with_suffix(".txnindex").write_bytes(transaction(7, 2, 3))
    assert told(read(tmp_path)) == [
        (T0, 0, None),
        (3, len(message), None),
        (2, 3, "S-16: transaction from 2 of producer 7 has no marker at 3"),
    ]


def test_files_that_vanish(partition: Partition) -> None:
    split = whole_split(partition.directory.parent)
    for suffix in (".index", ".timeindex", ".txnindex"):
        file_of(partition, suffix).unlink()
    assert arrow(split) == []
    file_of(partition, ".log").unlink()
    with pytest.raises(FileNotFoundError):
        arrow(split)
    assert arrow(split, failOnDataLoss="false") == []
