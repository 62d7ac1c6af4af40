"""R-34, R-37 on both forms of the totals, held equal to records counted one by one."""

from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.record.builder import encode_record
from broker_lite.record.murmur2 import murmur2, partition_of_key

EVERY_OFFSET = (-(2**63), 2**63 - 1)
CREATE_TIME = -2
NAMES = (
    *("records", "keys", "key_bytes", "values", "value_bytes"),
    *("min_offset", "max_offset", "min_timestamp", "max_timestamp"),
)

Plain = tuple[int, int, bytes | None, bytes | None]
NULLABLE = st.none() | st.binary(max_size=40)
RECORDS = st.lists(
    st.tuples(st.integers(-(2**40), 2**40), st.integers(0, 90), NULLABLE, NULLABLE), max_size=20
)


def encode(records: list[Plain]) -> memoryview:
    return memoryview(b"".join(encode_record(*record) for record in records))


def add(totals: Any, records: list[Plain], skipped: int = 0, **options: int) -> int:
    data = encode(records)
    read: int = totals.add(
        *(data, 0, len(data), len(records), options.get("base_offset", 0)),
        *(options.get("base_timestamp", 0), options.get("append_timestamp", CREATE_TIME)),
        *(options.get("first", EVERY_OFFSET[0]), options.get("end", EVERY_OFFSET[1]), skipped),
    )
    return read


def told(totals: Any) -> dict[tuple[int, int], tuple[int, ...]]:
    """The numbers of each group that has records, by the start of its bucket and its part."""
    starts = list(totals.starts)
    rows = zip(*(list(getattr(totals, name)) for name in NAMES), strict=True)
    return {
        (starts[slot // totals.slots], slot % totals.slots): row
        for slot, row in enumerate(rows)
        if row[0]
    }


def simply(records: list[Plain], bucket_ms: int, hashes: int) -> dict[Any, tuple[int, ...]]:
    """The same by lists."""
    groups: dict[tuple[int, int], list[Plain]] = {}
    for one in records:
        start = one[0] // bucket_ms * bucket_ms if bucket_ms else 0
        part = hashes if one[2] is None else partition_of_key(one[2], hashes) if hashes else 0
        groups.setdefault((start, part if hashes else 0), []).append(one)
    return {
        group: (
            len(found),
            len([1 for one in found if one[2] is not None]),
            sum(len(one[2] or b"") for one in found),
            len([1 for one in found if one[3] is not None]),
            sum(len(one[3] or b"") for one in found),
            min(one[1] for one in found),
            max(one[1] for one in found),
            min(one[0] for one in found),
            max(one[0] for one in found),
        )
        for group, found in groups.items()
    }


@settings(deadline=None)
@given(
    batches=st.lists(RECORDS, max_size=3),
    bucket_ms=st.sampled_from([0, 1, 1000, 2**39]),
    hashes=st.sampled_from([0, 1, 2, 7]),
)
def test_totals_are_those_of_the_records(
    group_totals: ModuleType, batches: list[list[Plain]], bucket_ms: int, hashes: int
) -> None:
    totals = group_totals.GroupTotals(100, bucket_ms, hashes)
    for records in batches:
        assert add(totals, records) == len(records)
    every = [record for records in batches for record in records]
    assert told(totals) == simply(every, bucket_ms, hashes)


def test_offsets_of_a_range_count(group_totals: ModuleType) -> None:
    totals = group_totals.GroupTotals(1, 0, 0)
    records: list[Plain] = [(0, delta, None, b"v") for delta in range(10)]
    assert add(totals, records, base_offset=100, first=103, end=107) == 10
    assert told(totals) == {(0, 0): (4, 0, 0, 4, 4, 103, 106, 0, 0)}


@pytest.mark.parametrize(
    ("append_timestamp", "expected"), [(CREATE_TIME, (1005, 1007)), (77, (77, 77)), (-1, (-1, -1))]
)
def test_both_types_of_timestamps(
    group_totals: ModuleType, append_timestamp: int, expected: tuple[int, int]
) -> None:
    totals = group_totals.GroupTotals(1, 0, 0)
    options = {"base_timestamp": 1000, "append_timestamp": append_timestamp}
    add(totals, [(7, 0, None, None), (5, 1, None, None)], **options)
    assert told(totals)[0, 0][-2:] == expected


def test_without_room_the_rest_is_left(group_totals: ModuleType) -> None:
    records: list[Plain] = [(number // 2, number, b"k", None) for number in range(10)]
    found: dict[tuple[int, int], tuple[int, ...]] = {}
    read, rounds = 0, 0
    while read < len(records):
        totals = group_totals.GroupTotals(2, 1, 3)
        read = add(totals, records, read)
        found |= told(totals)
        rounds += 1
    assert rounds == 3
    assert found == simply(records, 1, 3)


def test_a_timestamp_wraps_as_in_java(group_totals: ModuleType) -> None:
    totals = group_totals.GroupTotals(1, 0, 0)
    add(totals, [(1, 0, None, None)], base_timestamp=2**63 - 1)
    assert told(totals)[0, 0][-2:] == (-(2**63), -(2**63))


def test_a_damaged_record_ends_the_count(group_totals: ModuleType) -> None:
    totals = group_totals.GroupTotals(1, 0, 0)
    data = memoryview(bytes(encode([(0, 0, None, None)])) + b"\x01")
    assert totals.add(data, 0, len(data), 2, 0, 0, CREATE_TIME, *EVERY_OFFSET, 0) == 1


@pytest.mark.parametrize("sizes", [(0, 0, 0), (1, -1, 0), (1, 0, -1)])
def test_sizes_that_cannot_be(group_totals: ModuleType, sizes: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="negative"):
        group_totals.GroupTotals(*sizes)


def test_positions_outside_of_the_buffer(group_totals: ModuleType) -> None:
    totals = group_totals.GroupTotals(1, 0, 0)
    with pytest.raises(ValueError, match="buffer"):
        totals.add(memoryview(b"ab"), 0, 3, 1, 0, 0, CREATE_TIME, *EVERY_OFFSET, 0)


@given(data=st.binary(max_size=70))
def test_the_hash_is_that_of_producers(group_totals: ModuleType, data: bytes) -> None:
    assert group_totals.murmur2_of(memoryview(b"xx" + data), 2, len(data)) == murmur2(data)
