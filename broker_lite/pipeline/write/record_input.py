"""Passes the buffers of Arrow batches to the compiled encoder, without copies.

The columns are those of the record view: key, value, headers, timestamp, offset. Any may be
missing, unless the caller needs it; text is written as UTF-8.
"""

from array import array
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from broker_lite.record.loops.encode_records import BytesColumn, HeadersColumn, RecordEncoder

_NO_BITS: Final = memoryview(b"")
_NO_OFFSETS: Final = memoryview(array("q"))
_HEADERS: Final = pa.list_(
    pa.struct([pa.field("key", pa.binary()), pa.field("value", pa.binary())])
)


class RecordInput(NamedTuple):
    """The rows of an Arrow batch, ready to be encoded.

    Attributes:
        encoder: encodes these rows.
        timestamps: ms since the epoch, one per row.
        offsets: one per row, or empty.
    """

    encoder: RecordEncoder
    timestamps: memoryview
    offsets: memoryview

    @property
    def row_count(self) -> int:
        """Number of rows."""
        return len(self.timestamps)


def record_input(
    arrow_batch: pa.RecordBatch, *, default_timestamp_ms: int, keep_offsets: bool = False
) -> RecordInput:
    """Make the input of the encoder from an Arrow batch.

    Args:
        arrow_batch: has columns of the record view; others are ignored.
        default_timestamp_ms: for rows without a timestamp.
        keep_offsets: use the offsets of the column `offset`.

    Raises:
        ValueError: a column has an unsupported type, or an offset is null.
    """
    timestamps = _timestamps(
        _column(arrow_batch, "timestamp"), len(arrow_batch), default_timestamp_ms
    )
    offsets = _offsets(_column(arrow_batch, "offset")) if keep_offsets else _NO_OFFSETS
    encoder = RecordEncoder(
        timestamps,
        offsets,
        bytes_column(_column(arrow_batch, "key")),
        bytes_column(_column(arrow_batch, "value")),
        _headers_column(_column(arrow_batch, "headers")),
    )
    return RecordInput(encoder, timestamps, offsets)


def bytes_column(array_: pa.Array | None) -> BytesColumn | None:
    """Return the buffers of a text or bytes column; None if it is missing or has type null.

    Raises:
        ValueError: it is neither.
    """
    if array_ is None or pa.types.is_null(array_.type):
        return None
    if not (pa.types.is_binary(array_.type) or pa.types.is_string(array_.type)):
        array_ = _cast(array_, pa.binary())
    bits, ends, data = array_.buffers()
    return BytesColumn(
        _bits(bits), _ends(ends, array_), memoryview(data or b"").cast("B"), array_.offset
    )


def _headers_column(array_: pa.Array | None) -> HeadersColumn | None:
    if array_ is None or pa.types.is_null(array_.type):
        return None
    array_ = _cast(array_, _HEADERS)
    bits, ends = array_.buffers()[:2]
    keys, values = bytes_column(array_.values.field(0)), bytes_column(array_.values.field(1))
    assert keys is not None, "the cast made it a column of bytes"
    assert values is not None, "the cast made it a column of bytes"
    return HeadersColumn(_bits(bits), _ends(ends, array_), array_.offset, keys, values)


def _column(arrow_batch: pa.RecordBatch, name: str) -> pa.Array | None:
    index = arrow_batch.schema.get_field_index(name)
    return arrow_batch.column(index) if index >= 0 else None


def _timestamps(array_: pa.Array | None, row_count: int, default_ms: int) -> memoryview:
    if array_ is None or pa.types.is_null(array_.type):
        return memoryview(array("q", [default_ms]) * row_count)
    if pa.types.is_timestamp(array_.type):
        array_ = pc.cast(array_, pa.timestamp("ms", array_.type.tz), safe=False)
    return _int64s(pc.fill_null(_cast(array_, pa.int64()), default_ms))


def _offsets(array_: pa.Array | None) -> memoryview:
    if array_ is None or array_.null_count:
        raise ValueError("every row must have an offset when offsets are kept")
    return _int64s(_cast(array_, pa.int64()))


def _int64s(array_: pa.Array) -> memoryview:
    numbers = memoryview(array_.buffers()[1] or b"").cast("B")
    return numbers[8 * array_.offset : 8 * (array_.offset + len(array_))].cast("q")


def _cast(array_: pa.Array, to: pa.DataType) -> pa.Array:
    if array_.type == to:
        return array_
    try:
        return pc.cast(array_, to)
    except pa.ArrowException as error:
        raise ValueError(f"a column of type {array_.type} cannot be taken as {to}") from error


def _bits(buffer: pa.Buffer | None) -> memoryview:
    return memoryview(buffer).cast("B") if buffer is not None else _NO_BITS


def _ends(buffer: pa.Buffer | None, array_: pa.Array) -> memoryview:
    count = array_.offset + len(array_) + 1
    if buffer is None or buffer.size < 4 * count:  # Arrow may omit it if there are no rows
        return memoryview(array("i", bytes(4 * count)))
    return memoryview(buffer).cast("B")[: 4 * count].cast("i")
