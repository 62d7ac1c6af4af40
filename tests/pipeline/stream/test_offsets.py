import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.pipeline.read.offset_limits import parse_offsets
from broker_lite.pipeline.stream.offsets import (
    count_between,
    from_shape,
    limited,
    to_shape,
)

KEYS = [("a", 0), ("a", 10), ("b", 0), ("b", 2)]
OFFSETS = st.dictionaries(st.sampled_from(KEYS), st.integers(0, 1 << 62))


def test_the_shape_is_the_connectors_and_always_in_one_order() -> None:
    offsets = {("b", 0): 3, ("a", 10): 2, ("a", 2): 1}
    assert json.dumps(to_shape(offsets)) == '{"a": {"2": 1, "10": 2}, "b": {"0": 3}}'


@given(OFFSETS)
@settings(max_examples=25)
def test_there_and_back(offsets: dict[tuple[str, int], int]) -> None:
    shape = to_shape(offsets)
    assert from_shape(json.loads(json.dumps(shape))) == offsets
    assert parse_offsets(json.dumps(shape)).offsets == offsets  # startingOffsets takes it, too


@pytest.mark.parametrize(
    ("start", "end", "count"),
    [
        ({}, {}, 0),
        ({("a", 0): 5}, {("a", 0): 9}, 4),
        ({}, {("a", 0): 9}, 9),  # new: from 0
        ({("a", 0): 9}, {("a", 0): 5}, 0),  # cut
        ({("a", 0): 9}, {}, 0),  # gone
    ],
)
def test_what_is_between_is_counted(
    start: dict[tuple[str, int], int], end: dict[tuple[str, int], int], count: int
) -> None:
    assert count_between(start, end) == count


def test_a_limit_is_shared_by_what_there_is() -> None:
    start, end = {("a", 0): 10, ("a", 10): 0}, {("a", 0): 40, ("a", 10): 90, ("b", 0): 280}
    assert limited(start, end, 40) == {("a", 0): 13, ("a", 10): 9, ("b", 0): 28}
    assert limited(start, end, 400) == end
    assert limited(start, end, 1) == {("a", 0): 11, ("a", 10): 1, ("b", 0): 1}


@given(OFFSETS, OFFSETS, st.integers(1, 1 << 62))
@settings(max_examples=50)
def test_a_limit_keeps_between_start_and_end_and_gets_there(
    start: dict[tuple[str, int], int], end: dict[tuple[str, int], int], most: int
) -> None:
    chosen = limited(start, end, most)
    assert chosen.keys() == end.keys()
    for key in end:
        first = start.get(key, 0)
        if first < end[key]:
            assert first < chosen[key] <= end[key]
        else:
            assert chosen[key] == end[key]
    assert count_between(start, chosen) <= most + len(end)
