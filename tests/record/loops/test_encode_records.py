"""R-30, R-38, R-50, R-52 on both forms of the encoder, held equal to records written one by one."""

from array import array
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.record.builder import encode_record
from broker_lite.record.murmur2 import murmur2, partition_of_key
from broker_lite.record.varint import varlong_size_bytes

BASE_OFFSET, BASE_TIMESTAMP = 1000, 1_700_000_000_000
ROOM = 1 << 16
NOTHING = memoryview(b"")
NO_OFFSETS = memoryview(array("q"))

Bytes = bytes | None
Headers = tuple[tuple[bytes, Bytes], ...]
Row = tuple[int, Bytes, Bytes, Headers]

NULLABLE = st.none() | st.binary(max_size=40)
HEADERS = st.lists(st.tuples(st.binary(max_size=9), NULLABLE), max_size=3).map(tuple)
ROWS = st.lists(st.tuples(st.integers(-1, 2**62), NULLABLE, NULLABLE, HEADERS), max_size=20)


def bits_of(valid: Sequence[bool]) -> memoryview:
    data = bytearray(len(valid) // 8 + 1)
    for index, is_valid in enumerate(valid):
        data[index >> 3] |= is_valid << (index & 7)
    return memoryview(data)


def ends_of(lengths: Sequence[int]) -> memoryview:
    ends = array("i", [0])
    for length in lengths:
        ends.append(ends[-1] + length)
    return memoryview(ends)


def bytes_column(module: ModuleType, cells: Sequence[Bytes], before: Sequence[Bytes] = ()) -> Any:
    """A column as a slice of one that has more rows in front."""
    every = [*before, *cells]
    return module.BytesColumn(
        bits_of([cell is not None for cell in every]),
        ends_of([len(cell or b"") for cell in every]),
        memoryview(b"".join(cell or b"" for cell in every)),
        len(before),
    )


def headers_column(module: ModuleType, lists: Sequence[Headers]) -> Any:
    every = [header for headers in lists for header in headers]
    return module.HeadersColumn(
        bits_of([bool(headers) for headers in lists]),
        ends_of([len(headers) for headers in lists]),
        0,
        bytes_column(module, [key for key, _ in every]),
        bytes_column(module, [value for _, value in every]),
    )


def encoder(module: ModuleType, rows: Sequence[Row], offsets: Sequence[int] = ()) -> Any:
    return module.RecordEncoder(
        memoryview(array("q", [row[0] for row in rows])),
        memoryview(array("q", offsets)),
        bytes_column(module, [row[1] for row in rows], [b"in front", None]),
        bytes_column(module, [row[2] for row in rows]),
        headers_column(module, [row[3] for row in rows]),
    )


def plain(module: ModuleType, timestamps: Sequence[int], offsets: Sequence[int] = ()) -> Any:
    """An encoder of records that have nothing but a timestamp."""
    times = memoryview(array("q", timestamps))
    return module.RecordEncoder(times, memoryview(array("q", offsets)), None, None, None)


def expected(rows: Sequence[Row], offsets: Sequence[int]) -> list[bytes]:
    return [
        encode_record(timestamp - BASE_TIMESTAMP, offset - BASE_OFFSET, key, value, headers)
        for (timestamp, key, value, headers), offset in zip(rows, offsets, strict=True)
    ]


@given(rows=ROWS)
@settings(max_examples=80)
def test_r_30_records_are_those_of_the_builder(encode_records: ModuleType, rows: list[Row]) -> None:
    offsets = range(BASE_OFFSET + 5, BASE_OFFSET + 5 + len(rows))
    found, target = encoder(encode_records, rows), memoryview(bytearray(ROOM))
    end_row = found.encode(
        0, len(rows), BASE_OFFSET, BASE_OFFSET + 5, BASE_TIMESTAMP, target, 3, ROOM
    )
    assert end_row == len(rows)
    assert bytes(target[3 : found.position]) == b"".join(expected(rows, offsets))
    assert found.max_timestamp == max([row[0] for row in rows], default=-1)
    assert not rows or found.last_offset == offsets[-1]


@given(rows=ROWS, steps=st.lists(st.integers(1, 2**20), min_size=20, max_size=20))
@settings(max_examples=60)
def test_r_52_offsets_of_a_column(
    encode_records: ModuleType, rows: list[Row], steps: list[int]
) -> None:
    offsets = [BASE_OFFSET + sum(steps[:index]) for index in range(len(rows))]
    found, target = encoder(encode_records, rows, offsets), memoryview(bytearray(ROOM))
    found.encode(0, len(rows), BASE_OFFSET, BASE_OFFSET, BASE_TIMESTAMP, target, 0, ROOM)
    assert bytes(target[: found.position]) == b"".join(expected(rows, offsets))


@given(rows=ROWS, room=st.integers(0, 400))
@settings(max_examples=80)
def test_r_55_only_whole_records(encode_records: ModuleType, rows: list[Row], room: int) -> None:
    every = expected(rows, range(BASE_OFFSET, BASE_OFFSET + len(rows)))
    found, target = encoder(encode_records, rows), memoryview(bytearray(ROOM))
    end_row = found.encode(0, len(rows), BASE_OFFSET, BASE_OFFSET, BASE_TIMESTAMP, target, 0, room)
    written = b"".join(every[:end_row])
    assert bytes(target[: found.position]) == written
    assert not any(target[found.position :])
    assert len(written) <= room
    assert end_row == len(rows) or len(written) + len(every[end_row]) > room


@pytest.mark.parametrize(
    "value", [0, -1, 63, 64, -64, -65, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)]
)
def test_r_25_size_of_a_varlong(encode_records: ModuleType, value: int) -> None:
    assert encode_records.varlong_size_bytes(value) == varlong_size_bytes(value)


def test_columns_that_are_not_there_are_null(encode_records: ModuleType) -> None:
    found, target = plain(encode_records, [BASE_TIMESTAMP]), memoryview(bytearray(ROOM))
    found.encode(0, 1, 0, 0, BASE_TIMESTAMP, target, 0, ROOM)
    assert bytes(target[: found.position]) == encode_record(0, 0, None, None)


def test_a_column_without_bits_has_no_nulls(encode_records: ModuleType) -> None:
    column = encode_records.BytesColumn(NOTHING, ends_of([2, 0]), memoryview(b"ab"), 0)
    assert [column.find(0), column.find(1)] == [2, 0]


def test_r_52_an_offset_too_far_from_the_base_is_for_the_next_batch(
    encode_records: ModuleType,
) -> None:
    found, target = plain(encode_records, [0, 0], [5, 5 + 2**31]), memoryview(bytearray(ROOM))
    assert found.encode(0, 2, 5, 5, 0, target, 0, ROOM) == 1
    assert found.last_offset == 5


@pytest.mark.parametrize(
    ("timestamps", "offsets", "text"),
    [
        pytest.param([0, 0], [7, 7], "row 1: offset 7 is not above 7", id="R-52 order"),
        pytest.param([0], [4], "row 0: offset 4 is not above 4", id="R-52 below the batch"),
        pytest.param([-2], [], "row 0: the timestamp -2 is negative", id="R-50 timestamp"),
    ],
)
def test_what_cannot_be_written(
    encode_records: ModuleType, timestamps: list[int], offsets: list[int], text: str
) -> None:
    found = plain(encode_records, timestamps, offsets)
    with pytest.raises(ValueError, match=text):
        found.encode(0, len(timestamps), 5, 5, 0, memoryview(bytearray(ROOM)), 0, ROOM)


@pytest.mark.parametrize(
    ("row", "end_row", "at", "end"),
    [(-1, 1, 0, 9), (0, 2, 0, 9), (0, 1, -1, 9), (0, 1, 0, 11)],
)
def test_rows_and_positions_are_checked(
    encode_records: ModuleType, row: int, end_row: int, at: int, end: int
) -> None:
    with pytest.raises(ValueError, match="rows and positions"):
        plain(encode_records, [0]).encode(row, end_row, 0, 0, 0, memoryview(bytearray(10)), at, end)


@pytest.mark.parametrize(
    ("bits", "ends", "data", "text"),
    [
        (b"\xff", [0], b"", "fewer rows"),
        (b"\xff", [0, 3], b"ab", "not positions"),
        (b"\xff", [2, 1], b"ab", "not positions"),
        (b"\xff", [-1, 1], b"ab", "not positions"),
        (b"\xff", [0] * 10, b"", "fewer validity bits"),
    ],
)
def test_damaged_columns_are_told(
    encode_records: ModuleType, bits: bytes, ends: list[int], data: bytes, text: str
) -> None:
    column = encode_records.BytesColumn(
        memoryview(bits), memoryview(array("i", ends)), memoryview(data), 0
    )
    row = 8 if len(ends) > 8 else 0
    with pytest.raises(ValueError, match=text):
        column.find(row)


@pytest.mark.parametrize(
    ("bits", "ends", "row", "text"),
    [
        (b"\xff", [0], 0, "fewer rows"),
        (b"\xff", [2, 1], 0, "do not rise"),
        (b"\xff", [0] * 10, 8, "fewer validity bits"),
    ],
)
def test_damaged_lists_are_told(
    encode_records: ModuleType, bits: bytes, ends: list[int], row: int, text: str
) -> None:
    empty = bytes_column(encode_records, [])
    column = encode_records.HeadersColumn(
        memoryview(bits), memoryview(array("i", ends)), 0, empty, empty
    )
    with pytest.raises(ValueError, match=text):
        column.find(row)


def test_a_slice_does_not_begin_below_its_array(encode_records: ModuleType) -> None:
    empty, ends = bytes_column(encode_records, []), ends_of([])
    with pytest.raises(ValueError, match="below 0"):
        encode_records.BytesColumn(NOTHING, ends, NOTHING, -1)
    with pytest.raises(ValueError, match="below 0"):
        encode_records.HeadersColumn(NOTHING, ends, -1, empty, empty)


def test_r_32_a_header_without_a_key(encode_records: ModuleType) -> None:
    keys, values = (bytes_column(encode_records, [cell]) for cell in (None, b"v"))
    headers = encode_records.HeadersColumn(NOTHING, ends_of([1]), 0, keys, values)
    found = encode_records.RecordEncoder(
        memoryview(array("q", [0])), NO_OFFSETS, None, None, headers
    )
    with pytest.raises(ValueError, match="row 0: a header has no key"):
        found.encode(0, 1, 0, 0, 0, memoryview(bytearray(ROOM)), 0, ROOM)


@given(keys=st.lists(NULLABLE, max_size=9), partition_count=st.integers(1, 50))
@settings(max_examples=60)
def test_partitions_of_keys(
    encode_records: ModuleType, keys: list[Bytes], partition_count: int
) -> None:
    target = array("i", [-1] * len(keys))
    encode_records.assign_partitions(
        bytes_column(encode_records, keys), partition_count, 49, memoryview(target)
    )
    assert list(target) == [
        49 if key is None else partition_of_key(key, partition_count) for key in keys
    ]


@given(data=st.binary(max_size=40))
@settings(max_examples=60)
def test_murmur2_is_that_of_its_module(encode_records: ModuleType, data: bytes) -> None:
    found = encode_records.murmur2_of(memoryview(b"ab" + data), 2, len(data))
    assert found == murmur2(data)
