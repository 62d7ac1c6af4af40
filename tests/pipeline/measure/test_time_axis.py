"""Which times the charts of a topic show, and what is told of the others."""

from collections.abc import Iterable

import pytest

from broker_lite.pipeline.measure.time_axis import TimeAxis, time_axis, width_ms
from broker_lite.pipeline.report.data import Outside, RatePoint
from tests.pipeline.support import T0

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
WHOLE = TimeAxis(0, 1 << 50)


def axis(points: Iterable[tuple[int, int]]) -> TimeAxis:
    """The axis for seconds with records."""
    return time_axis([RatePoint("t", at, records, 1) for at, records in points], 1000, WHOLE)


@pytest.mark.parametrize(
    ("span_ms", "width"),
    [
        *((0, 1000), (120_000, 1000), (120_001, 5000), (7_200_000, 60_000)),
        (10 * 365 * DAY_MS, 28 * DAY_MS),
        (200 * 365 * DAY_MS, 28 * DAY_MS),
    ],
)
def test_buckets_of_time(span_ms: int, width: int) -> None:
    assert width_ms(span_ms) == TimeAxis(T0, T0 + span_ms).width_ms == width


def test_times_that_go_on_are_all_shown() -> None:
    assert axis([(T0, 5)]) == WHOLE
    assert axis((T0 + hour * HOUR_MS, 1) for hour in range(1000)) == WHOLE
    assert WHOLE.has(0)


def test_two_bursts_a_week_apart_are_both_shown() -> None:
    assert axis([(T0, 100), (T0 + 1000, 100), (T0 + 7 * DAY_MS, 100)]) == WHOLE


@pytest.mark.parametrize(("old", "new"), [(10, 1000), (500, 500)])
def test_of_1970_and_today_the_larger_part_is_shown(old: int, new: int) -> None:
    found = axis([(0, old - 1), (1000, 1), (T0, new // 2), (T0 + HOUR_MS, new - new // 2)])
    assert (found.first_ms, found.last_ms) == (T0, T0 + HOUR_MS + 999)
    assert found.outside == (Outside(old, old / (old + new), 0, 1000),)
    assert found.width_ms == 60_000
    assert (found.has(1000), found.has(T0), found.has(T0 + HOUR_MS + 999)) == (False, True, True)


def test_the_older_part_is_shown_if_it_is_larger() -> None:
    found = axis([(0, 900), (1000, 50), (T0, 50)])
    assert (found.first_ms, found.last_ms) == (0, 1999)
    assert found.outside == (Outside(50, 0.05, T0, T0),)


def test_stray_times_on_both_sides_are_left_out() -> None:
    strays = [(T0 + day * DAY_MS, 1) for day in (-300, -200, -100, 100, 200, 300)]
    points = sorted([*strays, *((T0 + minute * 60_000, 20) for minute in range(60))])
    found = axis(points)
    assert (found.first_ms, found.last_ms) == (T0, T0 + 59 * 60_000 + 999)
    before, behind = found.outside
    assert before == Outside(3, 3 / 1206, T0 - 300 * DAY_MS, T0 - 100 * DAY_MS)
    assert (behind.records, behind.last_ms) == (3, T0 + 300 * DAY_MS)


def test_more_than_two_parts() -> None:
    found = axis([(0, 10), (T0 - 60 * DAY_MS, 20), (T0, 30)])
    assert found.first_ms == T0
    assert [one.records for one in found.outside] == [30]


def test_old_and_future_times_at_once() -> None:
    found = axis([(0, 20), *((T0 + n * 60_000, 20) for n in range(60)), (2 * T0, 1)])
    assert (found.first_ms, found.last_ms) == (T0, T0 + 59 * 60_000 + 999)
    assert [one.records for one in found.outside] == [20, 1]


def test_a_burst_each_quarter_is_shown() -> None:
    assert axis((T0 + quarter * 90 * DAY_MS, 10) for quarter in range(5)) == WHOLE


def test_a_few_times_of_last_week_are_left_out() -> None:
    found = axis([(T0 - 7 * DAY_MS, 1), *((T0 + n * 1000, 20) for n in range(60))])
    assert found.first_ms == T0
    assert [one.records for one in found.outside] == [1]


def test_batches_of_markers_alone_are_shown() -> None:
    assert axis([(T0, 0), (T0 + 1000, 0)]) == WHOLE
