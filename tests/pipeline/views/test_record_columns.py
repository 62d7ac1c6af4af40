"""R-17, R-32: what becomes of single fields, and how many records one Arrow batch takes."""

from pathlib import Path

import pytest

from broker_lite.pipeline.read import measured
from broker_lite.pipeline.views import record_columns
from broker_lite.pipeline.views.record_columns import TimestampOutOfRange
from broker_lite.record.builder import BatchBuilder
from tests.pipeline.reading import arrow, read
from tests.pipeline.support import T0, NewRecord, Partition, numbered, whole_split, write_segment
from tests.record.conftest import load_python


@pytest.mark.as_written
def test_arrow_batches_are_bounded_by_rows_and_by_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Partition(tmp_path) as partition:
        for _ in range(10):
            partition.append(numbered(10, value_bytes=100))
    split = whole_split(tmp_path)
    assert [one.num_rows for one in arrow(split)] == [100]
    monkeypatch.setattr(record_columns, "ROWS_MAX", 25)
    assert [one.num_rows for one in arrow(split)] == [30, 30, 30, 10]
    monkeypatch.setattr(record_columns, "BYTES_MAX", 2000)
    assert [one.num_rows for one in arrow(split, columns="offset")] == [20] * 5


def test_r_17_a_delete_horizon_is_where_timestamps_count_from(tmp_path: Path) -> None:
    builder = BatchBuilder(delete_horizon_ms=T0 + 99)
    builder.append(T0, b"k", None)
    write_segment(tmp_path, builder.build())
    assert [row.timestamp_ms for row in read(whole_split(tmp_path))] == [T0]


def test_r_32_header_keys_that_are_not_utf_8(tmp_path: Path) -> None:
    with Partition(tmp_path) as partition:
        partition.append(
            [NewRecord(headers=((b"caf\xc3\xa9", b""), (b"a\xffb\xed\xa0\x80", None)))]
        )
    (row,) = read(whole_split(tmp_path))
    assert row.headers == (("caf\u00e9", b""), ("a\ufffdb\ufffd", None))


@pytest.mark.parametrize("timestamp_ms", [2**63 - 1, (2**63 - 1) // 1000 + 1])
def test_timestamps_that_microseconds_do_not_hold(tmp_path: Path, timestamp_ms: int) -> None:
    with Partition(tmp_path) as partition:
        partition.append([NewRecord(timestamp_ms=T0), NewRecord(timestamp_ms=timestamp_ms)])
    with pytest.raises(TimestampOutOfRange, match="topic-0: between the offsets 0 and 1 is"):
        read(whole_split(tmp_path))
    assert arrow(whole_split(tmp_path), columns="offset")[0].num_rows == 2


def test_without_a_compiler_it_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Partition(tmp_path) as partition:
        for codec in range(5):
            partition.append(numbered(9), codec=codec)
        partition.append([NewRecord(headers=((b"h", None), (b"\xff", b"v"))), NewRecord()])
    compiled = arrow(whole_split(tmp_path))
    python = load_python("columns")
    monkeypatch.setattr(measured, "measure_records", python.measure_records)
    monkeypatch.setattr(record_columns, "RecordColumns", python.RecordColumns)
    assert arrow(whole_split(tmp_path)) == compiled
    assert arrow(whole_split(tmp_path), columns="offset")[0]["offset"] == compiled[0]["offset"]


def test_the_batch_of_each_record(tmp_path: Path) -> None:
    with Partition(tmp_path) as partition:
        for count in (3, 1, 2):
            partition.append(numbered(count))
    (found,) = arrow(whole_split(tmp_path, first_offset=1), columns="offset,batchOffset")
    rows = [tuple(row.values()) for row in found.to_pylist()]
    assert rows == [(1, 0), (2, 0), (3, 3), (4, 4), (5, 4)]
