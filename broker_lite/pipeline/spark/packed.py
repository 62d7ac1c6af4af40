"""Arrow batches packed so that Java reads them by columns.

Spark makes rows of the Arrow batches of a data source in Python, which costs as much as reading
them. In a packed batch a row stands for many records: its binary values are pieces of the buffers
of Arrow, and only bits are copied. PackedBatches.java reads the columns where they lie in it. Its
memory is that of any row: it does not have to be released, however a query ends.

The columns of a packed batch are

1. those of the records, all null: they are there because filters name them;
2. PACKED, how many records the row stands for;
3. PACKED.0, PACKED.1 and so on, the cells. Each column of the records has the following ones, where
   all but bits begin with the first record of the row and end with the last:

   | type | cells |
   | --- | --- |
   | all | bits of what is not null; null if nothing is |
   | booleans | bits |
   | numbers, decimals, times | the values |
   | text, bytes | the offsets where values begin, and the bytes from the first offset on |
   | lists | the offsets where they begin, then the cells of their elements |
   | maps | the same, then the cells of their keys, and those of their values |
   | structs | the cells of each field |

Bits begin with two integers of 32 bits: how many there are, and which bit behind them is the first.
"""

import struct
from itertools import pairwise
from typing import Final

import pyarrow as pa
from pyspark.sql.types import StructType

PACKED: Final = "brokerlite.packed"
"""The name with which KafkaSegments.java asks for packed batches."""

# Java copies a cell more than once, which is cheap while it fits into the caches of a processor.
# One of half a megabyte and more makes its garbage collector do extra work.
_ROW_BYTES: Final = 384 << 10
_CELL_BYTES: Final = 1 << 10  # on average, because a cell costs Python and Java some microseconds
_OFFSET: Final = struct.Struct("<i")
_BITS: Final = 8
# as width() of PackedBatches.java has them
_WIDTHS: Final = {
    pa.int8(): 1,
    pa.int16(): 2,
    pa.int32(): 4,
    pa.int64(): 8,
    pa.float32(): 4,
    pa.float64(): 8,
    pa.date32(): 4,
    pa.timestamp("us"): 8,
    pa.timestamp("us", tz="UTC"): 8,
}
_DECIMAL_BYTES: Final = 16
_NOTHING: Final = pa.py_buffer(b"")


def is_packed(schema: StructType) -> bool:
    """Tell whether a schema asks for packed batches."""
    return PACKED in schema.fieldNames()


def without_packed(schema: StructType) -> StructType:
    """Return the columns of the records, of a schema that may ask for packed batches."""
    cell = f"{PACKED}."
    own = [one for one in schema if one.name != PACKED and not one.name.startswith(cell)]
    return StructType(own)


def pack(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Pack a batch.

    Raises:
        TypeError: a column has a type that cannot be packed.
    """
    count = batch.num_rows
    buffers = sum(len(column.buffers()) for column in batch.columns)
    row_bytes = max(_ROW_BYTES, buffers * _CELL_BYTES)
    bounds = [*range(0, count, max(count * row_bytes // max(batch.nbytes, 1), 1)), count]
    cells = _Cells()
    for column in batch.columns:
        cells.add(column, bounds)
    names = [*batch.schema.names, PACKED, *(f"{PACKED}.{i}" for i in range(len(cells.arrays)))]
    rows = len(bounds) - 1
    nulls = [pa.nulls(rows, field.type) for field in batch.schema]
    counts = pa.array([end - begin for begin, end in pairwise(bounds)], pa.int32())
    return pa.RecordBatch.from_arrays([*nulls, counts, *cells.arrays], names)


class _Cells:
    """The cells so far, each as a column; bounds say where the rows of the packed batch begin."""

    def __init__(self) -> None:
        self.arrays: list[pa.Array] = []

    def add(self, array: pa.Array, bounds: list[int]) -> None:
        """Add those of a column, which has values from the first bound to the last."""
        kind, start, buffers = array.type, array.offset, array.buffers()
        self._add_bits(buffers[0] if array.null_count else None, start, bounds)
        if pa.types.is_struct(kind):
            for index in range(kind.num_fields):
                self.add(array.field(index), bounds)
        elif pa.types.is_boolean(kind):
            self._add_bits(buffers[1] or _NOTHING, start, bounds)
        elif pa.types.is_string(kind) or pa.types.is_binary(kind):
            self._add_bytes(buffers[2], self._add_offsets(buffers[1], start, bounds))
        elif pa.types.is_map(kind) or pa.types.is_list(kind):
            begins = self._add_offsets(buffers[1], start, bounds)
            children = [array.keys, array.items] if pa.types.is_map(kind) else [array.values]
            for child in children:
                self.add(child, begins)
        else:
            width = _DECIMAL_BYTES if pa.types.is_decimal128(kind) else _WIDTHS.get(kind)
            if width is None:
                raise TypeError(f"a column of {kind} cannot be packed")
            self._add_bytes(buffers[1], [(start + bound) * width for bound in bounds])

    def _add_bytes(self, buffer: pa.Buffer | None, bounds: list[int]) -> None:
        """Add pieces of a buffer, between bytes."""
        offsets = pa.py_buffer(struct.pack(f"<{len(bounds)}i", *bounds))
        parts = [None, offsets, buffer or _NOTHING]
        self.arrays.append(pa.Array.from_buffers(pa.binary(), len(bounds) - 1, parts))

    def _add_offsets(self, buffer: pa.Buffer | None, start: int, bounds: list[int]) -> list[int]:
        """Add offsets of values; return those at the bounds."""
        if not buffer:  # Arrow may have none if there are no values
            self._add_bytes(None, [0] * len(bounds))
            return [0] * len(bounds)
        positions = [(start + bound) * _OFFSET.size for bound in bounds]
        self._add_bytes(buffer, positions)
        view = memoryview(buffer)
        return [_OFFSET.unpack_from(view, position)[0] for position in positions]

    def _add_bits(self, buffer: pa.Buffer | None, start: int, bounds: list[int]) -> None:
        """Add pieces of a buffer of bits; nulls if there is no buffer."""
        if buffer is None:
            self.arrays.append(pa.nulls(len(bounds) - 1, pa.binary()))
            return
        cells: list[bytes] = []
        for begin, end in pairwise(bounds):
            first, last = start + begin, start + end
            head = struct.pack("<2i", end - begin, first % _BITS)
            piece = buffer.slice(first // _BITS, -(-last // _BITS) - first // _BITS)
            cells.append(head + piece.to_pybytes())
        self.arrays.append(pa.array(cells, pa.binary()))
