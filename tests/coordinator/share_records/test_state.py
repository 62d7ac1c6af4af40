"""The state that is kept, and a change laid over it."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from broker_lite.coordinator.share_records.state import StateBatch, joined, overlay
from tests.coordinator.share_records.share_driver import calls_of


def test_k21_a_change_counts_where_both_tell_of_a_record() -> None:
    known = [StateBatch(0, 9, 0, 1), StateBatch(15, 19, 2, 1)]
    changed = [StateBatch(4, 6, 2, 1), StateBatch(9, 16, 4, 2)]
    assert overlay(known, changed, 1) == [
        (1, 3, 0, 1),
        (4, 6, 2, 1),
        (7, 8, 0, 1),
        (9, 16, 4, 2),
        (17, 19, 2, 1),
    ]


def test_neighbours_of_one_state_are_one_batch() -> None:
    pieces = [StateBatch(5, 9, 2, 1), StateBatch(0, 4, 2, 1), StateBatch(10, 11, 2, 2)]
    assert joined(pieces, 3) == [(3, 9, 2, 1), (10, 11, 2, 2)]


lists = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 5), st.sampled_from([0, 2, 4]), st.integers(1, 2)),
    max_size=6,
)


def batches(rows: list[tuple[int, int, int, int]]) -> list[StateBatch]:
    result, offset = [], 0
    for gap, size, state, count in rows:
        result.append(StateBatch(offset + gap, offset + gap + size - 1, state, count))
        offset += gap + size
    return result


def by_record(some: list[StateBatch], start: int) -> dict[int, tuple[int, int]]:
    return {
        offset: (each.state, each.delivery_count)
        for each in some
        for offset in range(each.first_offset, each.last_offset + 1)
        if offset >= start
    }


@given(lists, lists, st.integers(0, 10))
def test_k21_it_is_what_record_by_record_is(
    known: list[tuple[int, int, int, int]], changed: list[tuple[int, int, int, int]], start: int
) -> None:
    result = overlay(joined(batches(known), 0), batches(changed), start)
    wanted = {**by_record(batches(known), start), **by_record(batches(changed), start)}
    assert by_record(result, start) == wanted
    for one, other in pairwise(result):
        assert one.last_offset < other.first_offset
        assert (one.last_offset + 1, one[2:]) != (other.first_offset, other[2:])


def test_a_small_change_of_a_large_state_costs_little() -> None:
    known = [StateBatch(offset, offset, offset % 2 * 2, 1) for offset in range(10_000)]
    changed = [StateBatch(5001, 5001, 0, 2)]
    cost = calls_of(lambda: overlay(known, changed, 10))
    assert cost < 100
    assert overlay(known, changed, 10) == [*known[10:5001], *changed, *known[5002:]]
