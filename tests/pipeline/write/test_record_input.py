"""Arrow's columns of all types that hold records, sliced or not, as input of the encoder."""

import datetime

import pyarrow as pa
import pytest

from broker_lite.pipeline.write.encode import BatchEncoder
from broker_lite.pipeline.write.record_input import record_input
from broker_lite.record.batch import RecordBatch
from broker_lite.record.records import Record, iterate_records
from tests.pipeline.support import T0, numbered
from tests.pipeline.write_support import arrow

Columns = dict[str, pa.Array]


def written(batch: pa.RecordBatch) -> list[Record]:
    rows = record_input(batch, default_timestamp_ms=T0)
    encoder = BatchEncoder(0)
    assert list(encoder.append(rows, 0, rows.row_count)) == []
    data = memoryview(encoder.finish().data)
    return list(iterate_records(RecordBatch(data, 0, len(data))))


def values(column: pa.Array) -> list[bytes | None]:
    batch = pa.RecordBatch.from_arrays([column], ["value"])
    return [None if r.value is None else bytes(r.value) for r in written(batch)]


@pytest.mark.parametrize(
    "kind",
    [pa.binary(), pa.large_binary(), pa.binary_view(), pa.string(), pa.large_string()],
    ids=str,
)
def test_bytes_and_text_of_any_layout(kind: pa.DataType) -> None:
    cells = ["a", None, "", "\N{SNOWMAN}"] * 4
    column = pa.array(cells, pa.string()).cast(kind)
    expected = [None if cell is None else cell.encode() for cell in cells]
    assert values(column) == expected
    assert values(column.slice(3, 9)) == expected[3:12]


def test_a_column_without_nulls_and_one_of_nulls() -> None:
    assert values(pa.array([b"x", b"y"])) == [b"x", b"y"]
    assert values(pa.nulls(2)) == [None, None]


def test_headers_of_a_slice() -> None:
    records = [one._replace(headers=((b"h", None), (b"n", one.value))) for one in numbered(9)]
    found = written(arrow(records).slice(4, 3))
    headers = [[(bytes(k), v if v is None else bytes(v)) for k, v in r.headers] for r in found]
    assert headers == [list(one.headers) for one in records[4:7]]
    plain = arrow(numbered(2)).set_column(3, "headers", pa.nulls(2))
    assert [list(record.headers) for record in written(plain)] == [[], []]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([T0 + 7, None], pa.int64()),
        pa.array([T0 + 7, None], pa.timestamp("ms")),
        pa.array([(T0 + 7) * 1000 + 999, None], pa.timestamp("us", "UTC")),
        pa.array([datetime.datetime.fromtimestamp((T0 + 7) / 1000, datetime.UTC), None]),
    ],
    ids=["ms as numbers", "ms", "us", "datetime"],
)
def test_timestamps_in_ms_and_one_for_what_has_none(column: pa.Array) -> None:
    batch = pa.RecordBatch.from_arrays([column, pa.array([b"x"] * 2)], ["timestamp", "value"])
    assert [record.timestamp for record in written(batch)] == [T0 + 7, T0]


def test_no_timestamps_at_all() -> None:
    for extra in ([], [pa.nulls(2)]):
        names = ["value", *["timestamp"] * len(extra)]
        batch = pa.RecordBatch.from_arrays([pa.array([b"x"] * 2), *extra], names)
        assert [record.timestamp for record in written(batch)] == [T0, T0]


def test_no_rows() -> None:
    empty = record_input(arrow([]), default_timestamp_ms=T0)
    assert empty.row_count == 0
    plain = pa.RecordBatch.from_arrays([pa.array([], pa.binary())], ["value"])
    assert record_input(plain, default_timestamp_ms=T0).row_count == 0


def test_no_rows_and_empty_buffers() -> None:
    """Arrow may leave out the ends of an array without rows."""
    nothing = pa.py_buffer(b"")
    cells = pa.Array.from_buffers(pa.binary(), 0, [None, nothing, nothing])
    times = pa.Array.from_buffers(pa.int64(), 0, [None, nothing])
    batch = pa.RecordBatch.from_arrays([cells, times], ["value", "timestamp"])
    assert record_input(batch, default_timestamp_ms=T0).row_count == 0


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"value": pa.array([1])}, "int64 cannot be taken as binary"),
        ({"headers": pa.array([b"x"])}, "binary cannot be taken as list"),
        ({"timestamp": pa.array([[1]])}, "cannot be taken as int64"),
        ({"value": pa.array([b"x"])}, "every row must have an offset"),
        ({"offset": pa.array([None], pa.int64())}, "every row must have an offset"),
    ],
)
def test_columns_that_cannot_be_taken(columns: Columns, text: str) -> None:
    batch = pa.RecordBatch.from_arrays(list(columns.values()), list(columns))
    with pytest.raises(ValueError, match=text):
        record_input(batch, default_timestamp_ms=T0, keep_offsets="offset" in text)
