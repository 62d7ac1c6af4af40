"""Chooses the axis of time of a topic, so that a few stray timestamps do not flatten its charts.

An axis normally covers all times. Pauses of a month and more divide them into eras, as 1970 and
today. If one era has most of the records, and takes less than a quarter of the whole, the axis
covers only this one; and only the central 99 % of it, if these again take less than a quarter. What
lies outside is told with its count and its times.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from broker_lite.pipeline.measure.rate_cells import WIDTHS_MS
from broker_lite.pipeline.report.data import Outside, RatePoint

BUCKETS: Final = 120

_PAUSE_MS: Final = 30 * 86_400_000
_ERA_SHARE: Final = 0.4  # two equal halves should still have a main one
_TAIL_SHARE: Final = 0.005  # of each end
_SHORTER: Final = 4

_Range = tuple[int, int]
"""Numbers of the first and the last point."""


class TimeAxis(NamedTuple):
    """The times that the charts of a topic show.

    Attributes:
        first_ms, last_ms: both ends included.
        outside: what lies before the axis, and behind it.
    """

    first_ms: int
    last_ms: int
    outside: tuple[Outside, ...] = ()

    @property
    def width_ms(self) -> int:
        """Width of the buckets on it."""
        return width_ms(self.last_ms - self.first_ms)

    def has(self, at_ms: int) -> bool:
        """Tell whether a time, or the bucket that begins there, is shown."""
        return not self.outside or self.first_ms <= at_ms <= self.last_ms


def width_ms(span_ms: int) -> int:
    """Choose the width of at most BUCKETS buckets, if these can be 64 years.

    No bucket is shorter than a second, so that a topic of one record does not look like 1000 a
    second.
    """
    return next((width for width in WIDTHS_MS if width * BUCKETS >= span_ms), WIDTHS_MS[-1])


def time_axis(points: Sequence[RatePoint], point_ms: int, whole: TimeAxis) -> TimeAxis:
    """Choose the axis for a topic.

    Args:
        points: in order of time, at least one.
        point_ms: how long a point stands for.
        whole: the axis with all times.
    """
    low, high = _central(points, _main_era(points))
    outside = tuple(_outside((points[:low], points[high + 1 :]), _records(points)))
    if not outside:
        return whole
    return TimeAxis(points[low].at_ms, points[high].at_ms + point_ms - 1, outside)


def _main_era(points: Sequence[RatePoint]) -> _Range:
    """Return the era that has most of the records, or all of them."""
    everything = 0, len(points) - 1
    pauses = [
        number
        for number, (point, following) in enumerate(pairwise(points))
        if following.at_ms - point.at_ms >= _PAUSE_MS
    ]
    eras = zip([0, *(number + 1 for number in pauses)], [*pauses, everything[1]], strict=True)
    records, era = max((_records(points[low : high + 1]), (low, high)) for low, high in eras)
    is_main = records >= _records(points) * _ERA_SHARE
    return era if is_main and _is_shorter(points, era, everything) else everything


def _central(points: Sequence[RatePoint], given: _Range) -> _Range:
    """Return the central 99 % of a range, or all of it if that is not much wider."""
    chosen = points[given[0] : given[1] + 1]
    tail = _records(chosen) * _TAIL_SHARE
    central = given[0] + _behind_tail(chosen, tail), given[1] - _behind_tail(chosen[::-1], tail)
    return central if central[0] < central[1] and _is_shorter(points, central, given) else given


def _is_shorter(points: Sequence[RatePoint], part: _Range, whole: _Range) -> bool:
    part_ms, whole_ms = (points[high].at_ms - points[low].at_ms for low, high in (part, whole))
    return part_ms * _SHORTER < whole_ms


def _behind_tail(points: Sequence[RatePoint], tail: float) -> int:
    records = 0
    for number, point in enumerate(points):
        records += point.records
        if records > tail:
            return number
    return 0


def _records(points: Sequence[RatePoint]) -> int:
    return sum(point.records for point in points)


def _outside(beside: Sequence[Sequence[RatePoint]], total: int) -> Iterator[Outside]:
    for points in beside:
        if points:
            records = _records(points)
            share = records / total if total else 0.0
            yield Outside(records, share, points[0].at_ms, points[-1].at_ms)
