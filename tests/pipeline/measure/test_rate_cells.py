"""Buckets of time that become wider when there are too many."""

import pyarrow as pa

from broker_lite.pipeline.measure.rate_cells import CELLS, CELLS_MAX, cells_of, coarsened
from tests.pipeline.support import T0

DAY_MS = 86_400_000


def rows(*values: tuple[str, int | None, int]) -> pa.Table:
    """Batches of these topics, times and records; each has 10 bytes a record."""
    topics, times, records = zip(*values, strict=True)
    sizes = [10 * number for number in records]
    last = pa.array(times, pa.int64())
    return pa.table({"topic": topics, "lastMs": last, "records": records, "sizeInBytes": sizes})


def told(cells: pa.Table) -> list[tuple[object, ...]]:
    return sorted(tuple(row.values()) for row in cells.to_pylist())


def test_a_bucket_is_a_second() -> None:
    cells = cells_of(rows(("t", 1999, 1), ("t", 1000, 2), ("t", 2000, 4), ("t", None, 8)))
    assert told(cells) == [("t", 1000, 1000, 3, 30), ("t", 1000, 2000, 4, 40)]


def test_only_a_topic_with_many_buckets_gets_wider_ones() -> None:
    long = [("long", T0 + second * 1000, 1) for second in range(2 * CELLS_MAX)]
    cells = cells_of(rows(*long, ("short", T0, 1)))
    widths = {(row["topic"], row["width"]) for row in cells.to_pylist()}
    assert widths == {("long", 5000), ("short", 1000)}
    of_long = [row for row in cells.to_pylist() if row["topic"] == "long"]
    assert sum(row["records"] for row in of_long) == 2 * CELLS_MAX
    assert {row["at"] % 5000 for row in of_long} == {0}


def test_buckets_of_two_tasks_get_one_width() -> None:
    narrow = cells_of(rows(("t", 61_000, 1)))
    wide = coarsened(cells_of(rows(*(("t", n * 1000, 1) for n in range(120)))), cells_max=10)
    assert {row["width"] for row in wide.to_pylist()} == {15_000}
    both = coarsened(CELLS.of(narrow, wide), cells_max=10)
    assert {row["width"] for row in both.to_pylist()} == {15_000}
    assert sum(row["records"] for row in both.to_pylist()) == 121


def test_old_times_do_not_make_new_ones_coarse() -> None:
    cells = cells_of(rows(("t", 0, 1), *(("t", T0 + second * 1000, 1) for second in range(100))))
    assert {row["width"] for row in cells.to_pylist()} == {1000}


def test_no_bucket_is_wider_than_the_widest() -> None:
    cells = coarsened(cells_of(rows(*(("t", n * 400 * DAY_MS, 1) for n in range(9)))), cells_max=4)
    assert {row["width"] for row in cells.to_pylist()} == {28 * DAY_MS}
    assert cells.num_rows == 9


def test_no_rows() -> None:
    empty = cells_of(rows(("t", None, 1)))
    assert coarsened(empty).num_rows == 0
