"""Packed batches, read as packed.py says what their cells are."""

import datetime
import struct
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import pairwise
from typing import TypeVar

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql.types import LongType, StructField, StructType

from broker_lite.pipeline.spark.packed import PACKED, is_packed, pack, without_packed

_DECIMAL = pa.decimal128(20, 4)
_TIME = pa.timestamp("us", tz="UTC")
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_FORMATS = {
    pa.int8(): "b",
    pa.int16(): "h",
    pa.int32(): "i",
    pa.int64(): "q",
    pa.float32(): "f",
    pa.float64(): "d",
    pa.date32(): "i",
    _TIME: "q",
    _DECIMAL: "16s",
}
_PAIR = pa.struct([("name", pa.string()), ("value", pa.binary())])


class _Reader:
    """Reads the columns of one row of a packed batch, one after the other."""

    def __init__(self, cells: Iterator[bytes | None]) -> None:
        self._cells = cells

    def _next(self) -> bytes:
        cell = next(self._cells)
        assert cell is not None
        return cell

    def column(self, kind: pa.DataType) -> list[object]:
        validity = next(self._cells)
        values = list(self._values(kind))
        if validity is None:
            return values
        valid = _bits(validity)
        return [value if here else None for value, here in zip(values, valid, strict=True)]

    def _values(self, kind: pa.DataType) -> Iterable[object]:
        if pa.types.is_struct(kind):
            columns = [self.column(field.type) for field in kind]
            names = [field.name for field in kind]
            return (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))
        if pa.types.is_map(kind):
            offsets = self._next()
            keys, items = self.column(kind.key_type), self.column(kind.item_type)
            pairs: list[object] = list(zip(keys, items, strict=True))
            return _pieces(offsets, pairs)
        if pa.types.is_list(kind):
            return _pieces(self._next(), self.column(kind.value_type))
        if pa.types.is_boolean(kind):
            return _bits(self._next())
        if pa.types.is_string(kind):
            return (piece.decode() for piece in _pieces(self._next(), self._next()))
        if pa.types.is_binary(kind):
            return _pieces(self._next(), self._next())
        numbers = struct.iter_unpack(f"<{_FORMATS[kind]}", self._next())
        return (_value(kind, number) for (number,) in numbers)


def _bits(cell: bytes) -> list[bool]:
    count, first = struct.unpack_from("<2i", cell)
    return [bool(cell[8 + bit // 8] >> bit % 8 & 1) for bit in range(first, first + count)]


_Whole = TypeVar("_Whole", bytes, list[object])


def _pieces(offsets: bytes, whole: _Whole) -> Iterator[_Whole]:
    begins = [begin for (begin,) in struct.iter_unpack("<i", offsets)]
    places = [begin - begins[0] for begin in begins] + [len(whole)]
    return (whole[begin:end] for begin, end in pairwise(places))


def _value(kind: pa.DataType, number: float | bytes) -> object:
    if kind == _DECIMAL:
        assert isinstance(number, bytes)
        return Decimal(int.from_bytes(number, "little", signed=True)).scaleb(-kind.scale)
    if kind == _TIME:
        return _EPOCH + datetime.timedelta(microseconds=int(number))
    if kind == pa.date32():
        return (_EPOCH + datetime.timedelta(days=int(number))).date()
    return number


def unpacked(packed: pa.RecordBatch, schema: pa.Schema) -> list[list[object]]:
    """The columns of a packed batch, after what is around them has been checked."""
    own, count = len(schema), packed.num_columns - len(schema) - 1
    assert packed.schema.names == [*schema.names, PACKED, *(f"{PACKED}.{n}" for n in range(count))]
    assert packed.schema.types == [*schema.types, pa.int32(), *[pa.binary()] * count]
    columns: list[list[object]] = [[] for _ in schema]
    for row in packed.to_pylist():
        values = list(row.values())
        assert values[:own] == [None] * own
        cells = iter(values[own + 1 :])
        reader = _Reader(cells)
        for column, field in zip(columns, schema, strict=True):
            found = reader.column(field.type)
            assert len(found) == values[own]
            column += found
        assert not list(cells)
    return columns


@pytest.fixture
def small_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of a packed batch stands for few records."""
    monkeypatch.setattr("broker_lite.pipeline.spark.packed._ROW_BYTES", 1)


_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
_days = st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1))
_moments = st.datetimes(datetime.datetime(1950, 1, 1), datetime.datetime(2100, 1, 1))
_pairs = st.fixed_dictionaries({"name": st.none() | _text, "value": st.none() | st.binary()})
_COLUMNS: dict[pa.DataType, st.SearchStrategy[object]] = {
    pa.bool_(): st.booleans(),
    pa.int8(): st.integers(-128, 127),
    pa.int16(): st.integers(-(2**15), 2**15 - 1),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float32(): st.floats(width=32, allow_nan=False),
    pa.float64(): st.floats(allow_nan=False),
    pa.date32(): _days,
    _TIME: _moments.map(lambda moment: moment.replace(tzinfo=datetime.UTC)),
    _DECIMAL: st.decimals(-(10**15), 10**15, places=4),
    pa.string(): _text,
    pa.binary(): st.binary(max_size=6),
    _PAIR: _pairs,
    pa.list_(_PAIR): st.lists(st.none() | _pairs, max_size=3),
    pa.list_(pa.list_(pa.int64())): st.lists(st.lists(st.integers(0, 9), max_size=3), max_size=3),
    pa.map_(pa.string(), pa.bool_()): st.lists(st.tuples(_text, st.none() | st.booleans())),
    pa.struct([("at", _TIME), ("of", pa.list_(pa.bool_()))]): st.fixed_dictionaries(
        {"at": st.none(), "of": st.none() | st.lists(st.booleans(), max_size=10)}
    ),
}


@pytest.mark.parametrize("kind", _COLUMNS, ids=str)
@pytest.mark.usefixtures("small_rows")
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_each_type_with_nulls_and_slices(kind: pa.DataType, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.none() | _COLUMNS[kind], max_size=40))
    begin = data.draw(st.integers(0, len(values)))
    rows = data.draw(st.integers(0, len(values) - begin))
    whole = pa.record_batch(
        {"column": pa.array(values, kind), "row": pa.array(range(len(values)), pa.int64())}
    )
    batch = whole.slice(begin, rows)
    assert unpacked(pack(batch), batch.schema) == [
        batch.column(0).to_pylist(),
        [*range(begin, begin + rows)],
    ]


def test_many_columns_at_once() -> None:
    batch = pa.record_batch(
        {
            "topic": pa.array(["a", None, "ccc"]),
            "is": pa.array([True, None, False]),
            "headers": pa.array([[{"name": "n", "value": b"v"}], None, []], pa.list_(_PAIR)),
            "offset": pa.array([2**40, 0, -1]),
        }
    )
    assert unpacked(pack(batch), batch.schema) == [c.to_pylist() for c in batch.columns]


def test_rows_that_fit_into_a_cache() -> None:
    packed = pack(pa.record_batch({"value": [bytes(1000)] * 1000}))
    cells = packed.column(f"{PACKED}.2").to_pylist()
    assert sum(map(len, cells)) == 1_000_000
    assert len(cells) == 3
    assert max(map(len, cells)) <= 384 << 10


def test_only_what_a_slice_needs_is_packed() -> None:
    values = pa.record_batch({"value": [bytes(1000)] * 1000})
    (row,) = pack(values.slice(500, 2)).to_pylist()
    assert [*row.values()] == [None, 2, None, struct.pack("<2i", 500_000, 501_000), bytes(2000)]


def test_no_buffer_is_copied() -> None:
    values = pa.array([b"abc"] * 10_000)
    cells = pack(pa.record_batch({"value": values})).column(f"{PACKED}.2")
    assert cells.buffers()[2].address == values.buffers()[2].address


def test_a_large_value_has_a_row_of_its_own() -> None:
    packed = pack(pa.record_batch({"value": [bytes(400 << 10)] * 8, "offset": range(8)}))
    assert packed.column(PACKED).to_pylist() == [1] * 8


def test_many_columns_have_longer_rows() -> None:
    batch = pa.record_batch({f"c{n}": pa.array(range(4000)) for n in range(500)})
    assert pack(batch).column(PACKED).to_pylist() == [256] * 15 + [160]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a"]).dictionary_encode(),
        pa.array(["a"], pa.large_string()),
        pa.array([1], pa.uint64()),
        pa.array([1], pa.timestamp("ms")),
        pa.array([1], pa.duration("us")),
    ],
    ids=lambda column: str(column.type)[:12],
)
def test_a_type_that_cannot_be_packed(column: pa.Array) -> None:
    with pytest.raises(TypeError, match=r"a column of .* cannot be packed"):
        pack(pa.record_batch({"column": column}))


def test_the_columns_of_a_schema() -> None:
    names = ("offset", PACKED, f"{PACKED}.0")
    offset, *packed = (StructField(name, LongType()) for name in names)
    asked, plain = StructType([offset, *packed]), StructType([offset])
    other = StructField(f"{PACKED}Other", LongType())
    assert without_packed(StructType([other])) == StructType([other])
    assert is_packed(asked)
    assert without_packed(asked) == plain
    assert not is_packed(plain)
    assert without_packed(plain) == plain
