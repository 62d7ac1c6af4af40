"""Gathers the records of many batches into one Arrow batch of the record view.

Measured batches wait with the plain bytes of their records. When there are enough, memory is
allocated once for all of them, the compiled loop of record/loops/columns.py copies each
field to its place, and Arrow uses that memory without a copy.
"""

from array import array
from collections.abc import Callable, Mapping
from itertools import groupby
from operator import attrgetter
from typing import Final

import pyarrow as pa

from broker_lite.pipeline.read.measured import Measured, append_records
from broker_lite.pipeline.views.record_schema import HEADER_TYPE, HEADERS_TYPE
from broker_lite.record.builder import normalised_header_key
from broker_lite.record.loops.columns import HEADERS, KEYS, VALUES, RecordColumns

ROWS_MAX: Final = 1 << 14
BYTES_MAX: Final = 4 << 20

_WANTED: Final = {"key": KEYS, "value": VALUES, "headers": HEADERS}


class TimestampOutOfRange(ValueError):
    """A timestamp does not fit an Arrow or Spark timestamp; Spark's connector fails on it, too."""


class ColumnGatherer:
    """Gathers measured batches of one partition for an Arrow batch.

    Args:
        schema: of the record view, or some of its columns.
        topic: of the partition.
        partition: its number.
        first_offset: records below it are left out, as in measuring.
        end_offset: records at or above it are left out.
    """

    def __init__(
        self, schema: pa.Schema, topic: str, partition: int, first_offset: int, end_offset: int
    ) -> None:
        self.schema = schema
        self._range = first_offset, end_offset
        self._wanted = sum(_WANTED.get(name, 0) for name in schema.names)
        self._place = f"{topic}-{partition}"
        self._constants = _Constants(topic, partition)
        self._makers: Mapping[str, Callable[[RecordColumns], pa.Array]] = {
            "key": _keys,
            "value": _values,
            "topic": lambda columns: self._constants.cut("topic", columns.records),
            "partition": lambda columns: self._constants.cut("partition", columns.records),
            "offset": _offsets,
            "timestamp": self._timestamps,
            "timestampType": lambda columns: self._constants.types(self._batches),
            "headers": _headers,
            "batchOffset": lambda _: _batch_offsets(self._batches),
        }
        self._clear()

    def _clear(self) -> None:
        self._batches: list[Measured] = []
        self.records = 0
        self._bytes = 0

    def add(self, batch: Measured) -> bool:
        """Add a batch; True if there are enough for an Arrow batch."""
        self._batches.append(batch)
        self.records += batch.totals[0]
        self._bytes += batch.end - batch.start
        return self.records >= ROWS_MAX or self._bytes >= BYTES_MAX

    def take(self) -> pa.RecordBatch:
        """Make an Arrow batch of all gathered batches, and clear them.

        Raises:
            TimestampOutOfRange: the timestamps are wanted, and one does not fit.
        """
        totals = map(sum, zip(*(batch.totals for batch in self._batches), strict=True))
        columns = RecordColumns(self._wanted, *totals)
        for batch in self._batches:
            append_records(columns, batch, *self._range)
        arrays = [self._makers[name](columns) for name in self.schema.names]
        self._clear()
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _timestamps(self, columns: RecordColumns) -> pa.Array:
        milliseconds = pa.Array.from_buffers(
            pa.timestamp("ms", tz="UTC"), columns.records, [None, pa.py_buffer(columns.timestamps)]
        )
        try:
            return milliseconds.cast(pa.timestamp("us", tz="UTC"))
        except pa.ArrowInvalid:
            offsets = columns.offsets
            raise TimestampOutOfRange(
                f"{self._place}: between the offsets {offsets[0]} and"
                f" {offsets[columns.records - 1]} is a timestamp that microseconds do not hold"
            ) from None


class _Constants:
    """Columns with the same value in all rows, made once and cut to length."""

    def __init__(self, topic: str, partition: int) -> None:
        self._scalars: dict[str | int, pa.Scalar] = {
            "topic": pa.scalar(topic, pa.string()),
            "partition": pa.scalar(partition, pa.int32()),
            **{number: pa.scalar(number, pa.int32()) for number in (-1, 0, 1)},
        }
        self._arrays: dict[str | int, pa.Array] = {}

    def types(self, batches: list[Measured]) -> pa.Array:
        """Return the timestamp type of each row."""
        runs = [
            (timestamp_type, sum(batch.totals[0] for batch in run))
            for timestamp_type, run in groupby(batches, key=attrgetter("timestamp_type"))
        ]
        parts = [self.cut(timestamp_type, rows) for timestamp_type, rows in runs]
        return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)

    def cut(self, name: str | int, rows: int) -> pa.Array:
        """Return `topic`, `partition` or a timestamp type, once per row."""
        array = self._arrays.get(name)
        if array is None or len(array) < rows:
            array = self._arrays[name] = pa.repeat(self._scalars[name], max(rows, ROWS_MAX))
        return array[:rows]


def _binary(rows: int, bits: memoryview, ends: memoryview, data: memoryview) -> pa.Array:
    buffers = [pa.py_buffer(bits), pa.py_buffer(ends), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), rows, buffers)


def _keys(columns: RecordColumns) -> pa.Array:
    return _binary(columns.records, columns.key_bits, columns.key_ends, columns.key_data)


def _values(columns: RecordColumns) -> pa.Array:
    return _binary(columns.records, columns.value_bits, columns.value_ends, columns.value_data)


def _offsets(columns: RecordColumns) -> pa.Array:
    return pa.Array.from_buffers(pa.int64(), columns.records, [None, pa.py_buffer(columns.offsets)])


def _batch_offsets(batches: list[Measured]) -> pa.Array:
    offsets = array("q")
    for batch in batches:
        offsets += array("q", [batch.base_offset]) * batch.totals[0]
    return pa.Array.from_buffers(pa.int64(), len(offsets), [None, pa.py_buffer(offsets)])


def _headers(columns: RecordColumns) -> pa.Array:
    values = _binary(
        columns.headers,
        columns.header_value_bits,
        columns.header_value_ends,
        columns.header_value_data,
    )
    pairs = pa.StructArray.from_arrays([_header_keys(columns), values], fields=list(HEADER_TYPE))
    buffers = [pa.py_buffer(columns.header_list_bits), pa.py_buffer(columns.header_list_ends)]
    return pa.Array.from_buffers(HEADERS_TYPE, columns.records, buffers, children=[pairs])


def _header_keys(columns: RecordColumns) -> pa.Array:
    """Return header keys as text; invalid UTF-8 is decoded as Java does it.

    See: R-32 (RecordHeader.key).
    """
    buffers = [None, pa.py_buffer(columns.header_key_ends), pa.py_buffer(columns.header_key_data)]
    if not columns.has_odd_keys:
        return pa.Array.from_buffers(pa.string(), columns.headers, buffers)
    raw = pa.Array.from_buffers(pa.binary(), columns.headers, buffers)
    return pa.array([normalised_header_key(key.as_py()).decode() for key in raw], pa.string())
