"""Sums by keys, and sums of sums."""

import pyarrow as pa
import pytest

from broker_lite.pipeline.measure.sums import Sums, add_up, counted_sizes

FORM = Sums(("topic",), {"size": "sum", "first": "min", "last": "max"})


def rows(*values: tuple[str, int | None, int | None]) -> pa.Table:
    topics, sizes, times = zip(*values, strict=True)
    numbers = pa.array(sizes, pa.int32()), pa.array(times, pa.int64())
    return pa.table({"topic": topics, "size": numbers[0], "first": numbers[1], "last": numbers[1]})


def told(table: pa.Table) -> list[tuple[object, ...]]:
    return sorted(tuple(row.values()) for row in table.to_pylist())


def test_rows_with_the_same_keys_become_one() -> None:
    found = FORM.of(rows(("a", 1, 7), ("b", 2, 8), ("a", None, 3), ("c", None, None)))
    assert told(found) == [("a", 1, 3, 7), ("b", 2, 8, 8), ("c", None, None, None)]
    assert found.schema.field("size").type == pa.int64()


def test_sums_of_parts_are_the_sums_of_all() -> None:
    one, other = rows(("a", 2**31 - 1, 5), ("b", 1, 1)), rows(("a", 2**31 - 1, 2))
    assert told(FORM.of(FORM.of(one), FORM.of(other))) == told(FORM.of(one, other))
    assert told(FORM.of(one, other))[0] == ("a", 2**32 - 2, 2, 5)


def test_tables_are_added_up_by_name() -> None:
    forms = {"x": FORM, "y": FORM, "never": FORM}
    parts = [{"x": rows(("a", 1, 1))}, {}, {"x": rows(("a", 2, 2)), "y": rows(("b", 3, 3))}]
    found = add_up(forms, parts)
    assert {name: told(table) for name, table in found.items()} == {
        "x": [("a", 3, 1, 2)],
        "y": [("b", 3, 3, 3)],
    }


@pytest.mark.parametrize(
    ("size", "rounded"),
    [(0, 0), (1, 1), (2, 2), (3, 4), (64, 64), (65, 128), (2**30 - 1, 2**30), (2**30 + 1, 2**31)],
)
def test_sizes_are_rounded_up_to_powers_of_two(size: int, rounded: int) -> None:
    counts = counted_sizes(pa.chunked_array([pa.array([size, None, size], pa.int32())]))
    assert counts.to_pylist() == [{"size": rounded, "number": 2}]


def test_no_sizes() -> None:
    assert counted_sizes(pa.chunked_array([], pa.int32())).num_rows == 0
