"""R-30 to R-34, R-37 on both forms of the columns, held equal to records read one by one."""

from itertools import pairwise
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.record.builder import encode_record
from broker_lite.record.loops.scan_status import ScanStatus
from tests.record.support import raw_record

OK, INVALID, ENDED, LENGTH_TOO_LONG, REMAINING = ScanStatus
EVERY_OFFSET = (-(2**63), 2**63 - 1)
CREATE_TIME = -2

Plain = tuple[int, int, bytes | None, bytes | None, tuple[tuple[bytes, bytes | None], ...]]
NULLABLE = st.none() | st.binary(max_size=40)
RECORDS = st.lists(
    st.tuples(
        st.integers(-(2**40), 2**40),
        st.integers(0, 30),
        NULLABLE,
        NULLABLE,
        st.lists(st.tuples(st.binary(max_size=9), NULLABLE), max_size=3).map(tuple),
    ),
    max_size=20,
)


def encode(records: list[Plain]) -> bytes:
    return b"".join(encode_record(*record) for record in records)


def measure(columns: ModuleType, data: bytes, count: int, **options: int) -> tuple[int, ...]:
    first, end = options.get("first", EVERY_OFFSET[0]), options.get("end", EVERY_OFFSET[1])
    buffer = memoryview(b"\x80\x80" + data + b"\x00" * 40)
    found: tuple[int, ...] = columns.measure_records(
        buffer, 2, 2 + len(data), count, options.get("base_offset", 0), first, end
    )
    return found


def filled(
    columns: ModuleType, batches: list[bytes], counts: list[int], wanted: int = 7, **options: int
) -> Any:
    """The columns of batches that follow one another; offsets start anew with each."""
    totals = [0] * 6
    for data, count in zip(batches, counts, strict=True):
        measured = measure(columns, data, count, **options)
        assert measured[:2] == (OK, count)
        totals = [one + other for one, other in zip(totals, measured[2:], strict=True)]
    found = columns.RecordColumns(wanted, *totals)
    for data, count in zip(batches, counts, strict=True):
        status = found.append(
            memoryview(data),
            *(0, len(data), count, options.get("base_offset", 0)),
            *(options.get("base_timestamp", 0), options.get("append_timestamp", CREATE_TIME)),
            *(options.get("first", EVERY_OFFSET[0]), options.get("end", EVERY_OFFSET[1])),
        )
        assert status == 0
    return found


def bit(bits: Any, index: int) -> bool:
    return bool(memoryview(bits)[index >> 3] >> (index & 7) & 1)


def nullable(bits: Any, ends: Any, data: Any) -> list[bytes | None]:
    limits = list(memoryview(ends))
    assert limits[0] == 0
    return [
        bytes(memoryview(data)[start:end]) if bit(bits, index) else None
        for index, (start, end) in enumerate(pairwise(limits))
    ]


def rows(found: Any) -> list[Plain]:
    """The columns as (timestamp, offset, key, value, headers)."""
    every_bit = b"\xff" * (found.headers // 8 + 1)
    names = nullable(every_bit, found.header_key_ends, found.header_key_data)
    values = nullable(found.header_value_bits, found.header_value_ends, found.header_value_data)
    pairs = list(zip(names, values, strict=True))
    ends = list(memoryview(found.header_list_ends))
    headers = [tuple(pairs[ends[i] : ends[i + 1]]) for i in range(found.records)]
    assert [bit(found.header_list_bits, i) for i in range(found.records)] == [
        bool(one) for one in headers
    ]
    return list(
        zip(
            memoryview(found.timestamps),
            memoryview(found.offsets),
            nullable(found.key_bits, found.key_ends, found.key_data),
            nullable(found.value_bits, found.value_ends, found.value_data),
            headers,  # type: ignore[arg-type]
            strict=True,
        )
    )


@given(records=st.lists(RECORDS, max_size=3))
@settings(max_examples=60)
def test_r_30_columns_hold_what_was_written(
    columns: ModuleType, records: list[list[Plain]]
) -> None:
    found = filled(columns, [encode(one) for one in records], [len(one) for one in records])
    assert rows(found) == [record for one in records for record in one]


@given(records=RECORDS, first=st.integers(95, 125), end=st.integers(95, 135))
@settings(max_examples=60)
def test_r_31_only_a_range_of_offsets(
    columns: ModuleType, records: list[Plain], first: int, end: int
) -> None:
    data = encode(records)
    found = filled(columns, [data], [len(records)], base_offset=100, first=first, end=end)
    assert rows(found) == [
        (timestamp, 100 + delta, *rest)
        for timestamp, delta, *rest in records
        if first <= 100 + delta < end
    ]


def test_r_33_append_time_is_that_of_all(columns: ModuleType) -> None:
    found = filled(
        columns,
        [encode([(5, 0, None, None, ()), (6, 1, None, None, ())])],
        [2],
        append_timestamp=77,
    )
    assert list(memoryview(found.timestamps)) == [77, 77]


def test_r_31_timestamps_wrap_in_64_bits(columns: ModuleType) -> None:
    found = filled(columns, [encode([(1, 0, None, None, ())])], [1], base_timestamp=2**63 - 1)
    assert list(memoryview(found.timestamps)) == [-(2**63)]


@pytest.mark.parametrize(
    ("wanted", "kept"),
    [(0, ()), (1, ("key",)), (2, ("value",)), (4, ("header_key",)), (3, ("key", "value"))],
)
def test_only_what_is_wanted_takes_memory(
    columns: ModuleType, wanted: int, kept: tuple[str, ...]
) -> None:
    record = (0, 0, b"key", b"value", ((b"name", b"content"),))
    found = filled(columns, [encode([record])], [1], wanted)
    sizes = {
        name: len(memoryview(getattr(found, f"{name}_data")))
        for name in ("key", "value", "header_key")
    }
    assert {name for name, size in sizes.items() if size} == set(kept)
    assert list(memoryview(found.offsets)) == [0]


def test_odd_header_keys_are_told(columns: ModuleType) -> None:
    plain = filled(columns, [encode([(0, 0, None, None, ((b"name", None),))])], [1])
    odd = filled(columns, [encode([(0, 0, None, None, ((b"\xff", None),))])], [1])
    assert (bool(plain.has_odd_keys), bool(odd.has_odd_keys)) == (False, True)


@pytest.mark.parametrize(
    ("data", "count", "status", "read"),
    [
        pytest.param(raw_record(), -1, INVALID, 0, id="R-37 negative count"),
        pytest.param(raw_record(), 2, ENDED, 1, id="R-37 fewer than declared"),
        pytest.param(raw_record() * 2, 1, REMAINING, 1, id="R-37 more than declared"),
        pytest.param(raw_record(length=1), 1, ENDED, 0, id="R-34 longer than what is there"),
        pytest.param(raw_record(length=-1), 1, INVALID, 0, id="R-34 not used up"),
    ],
)
def test_unsound_records_are_told(
    columns: ModuleType, data: bytes, count: int, status: int, read: int
) -> None:
    assert measure(columns, data, count)[:2] == (status, read)


@pytest.mark.parametrize(
    "totals",
    [
        (0, 3, 5, 1, 4, 7),
        (1, 2, 5, 1, 4, 7),
        (1, 3, 4, 1, 4, 7),
        (1, 3, 5, 0, 4, 7),
        (1, 3, 5, 1, 3, 7),
        (1, 3, 5, 1, 4, 6),
    ],
)
def test_no_room_is_told(columns: ModuleType, totals: tuple[int, ...]) -> None:
    data = encode([(0, 0, b"key", b"value", ((b"name", b"content"),))])
    found = columns.RecordColumns(7, *totals)
    assert found.append(memoryview(data), 0, len(data), 1, 0, 0, CREATE_TIME, *EVERY_OFFSET) == 2


def test_append_ends_with_the_records(columns: ModuleType) -> None:
    found = columns.RecordColumns(7, 4, 9, 9, 0, 0, 0)
    data = raw_record()
    assert found.append(memoryview(data), 0, len(data), 3, 0, 0, CREATE_TIME, *EVERY_OFFSET) == 0
    assert found.records == 1


@pytest.mark.parametrize(
    ("position", "length", "at"), [(-1, 1, 0), (0, -1, 0), (0, 1, -1), (3, 2, 0), (0, 2, 3)]
)
def test_nothing_is_copied_beyond_either_side(
    columns: ModuleType, position: int, length: int, at: int
) -> None:
    target = bytearray(4)
    assert not columns.copy_bytes(memoryview(b"abcd"), position, length, memoryview(target), at)
    assert target == bytes(4)
    assert columns.copy_bytes(memoryview(b"abcd"), 1, 2, memoryview(target), 2)
    assert target == b"\0\0bc"


@given(
    records=RECORDS.filter(bool),
    edits=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=2),
)
@settings(max_examples=200)
def test_both_forms_are_equal_on_edited_records(
    python_columns: ModuleType,
    native_columns: ModuleType,
    records: list[Plain],
    edits: list[tuple[int, int]],
) -> None:
    data = bytearray(encode(records))
    for position, byte in edits:
        data[position % len(data)] = byte
    found = [measure(form, bytes(data), len(records)) for form in (python_columns, native_columns)]
    assert found[0] == found[1]
    if found[0][0] == OK:
        forms = [
            filled(form, [bytes(data)], [len(records)]) for form in (python_columns, native_columns)
        ]
        assert rows(forms[0]) == rows(forms[1])
