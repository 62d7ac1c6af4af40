from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringStartsWith,
)

from broker_lite.pipeline.read.options import View
from broker_lite.pipeline.read.pruning import Pruning
from broker_lite.pipeline.spark.pushdown import pruning_of

T0 = datetime(2026, 1, 1, tzinfo=UTC)
T0_MS = 1_767_225_600_000
EVERYWHERE = Pruning()


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (EqualTo(("topic",), "users"), Pruning(topics=frozenset({"users"}))),
        (EqualNullSafe(("topic",), "users"), Pruning(topics=frozenset({"users"}))),
        (In(("topic",), ("a", None, "b")), Pruning(topics=frozenset({"a", "b"}))),
        (EqualTo(("partition",), 3), Pruning(partitions=frozenset({3}))),
        (In(("partition",), (1, 2)), Pruning(partitions=frozenset({1, 2}))),
        (EqualTo(("offset",), 5), Pruning(first_offset=5, end_offset=6)),
        (In(("offset",), (9, 5, 7)), Pruning(first_offset=5, end_offset=10)),
        (GreaterThan(("offset",), 5), Pruning(first_offset=6)),
        (GreaterThanOrEqual(("offset",), 5), Pruning(first_offset=5)),
        (LessThan(("offset",), 5), Pruning(end_offset=5)),
        (LessThanOrEqual(("offset",), 5), Pruning(end_offset=6)),
        (EqualTo(("timestamp",), T0), Pruning(timestamp_ms=T0_MS)),
        (In(("timestamp",), (T0 + timedelta(1), T0)), Pruning(timestamp_ms=T0_MS)),
        (GreaterThan(("timestamp",), T0), Pruning(timestamp_ms=T0_MS)),
        (GreaterThanOrEqual(("timestamp",), T0), Pruning(timestamp_ms=T0_MS)),
    ],
    ids=lambda value: str(value) if isinstance(value, Filter) else "pruned",
)
def test_what_is_understood(one: Filter, expected: Pruning) -> None:
    assert pruning_of([one], View.RECORDS) == expected


@pytest.mark.parametrize(
    "one",
    [
        IsNotNull(("offset",)),
        Not(EqualTo(("topic",), "users")),
        StringStartsWith(("topic",), "u"),
        EqualTo(("value",), b"users"),
        EqualTo(("headers", "key"), "users"),
        EqualNullSafe(("topic",), None),
        In(("offset",), (None,)),
        LessThan(("timestamp",), T0),
        LessThan(("partition",), 2),
    ],
    ids=str,
)
def test_what_says_nothing(one: Filter) -> None:
    assert pruning_of([one], View.RECORDS) == EVERYWHERE


def test_microseconds_do_not_leave_their_millisecond_out() -> None:
    late = T0 + timedelta(microseconds=999)
    assert pruning_of([GreaterThan(("timestamp",), late)], View.RECORDS).timestamp_ms == T0_MS


def test_all_filters_count() -> None:
    filters = [GreaterThan(("offset",), 5), IsNotNull(("offset",)), LessThan(("offset",), 9)]
    assert pruning_of(filters, View.RECORDS) == Pruning(first_offset=6, end_offset=9)


@pytest.mark.parametrize("view", [View.BATCHES, View.INDEX])
def test_other_views_have_only_the_columns_of_partitions(view: View) -> None:
    filters = [
        GreaterThan(("offset",), 5),
        EqualTo(("offset",), 5),
        EqualTo(("timestamp",), T0),
        EqualTo(("partition",), 1),
    ]
    assert pruning_of(filters, view) == Pruning(partitions=frozenset({1}))
