"""Which neighbouring segments become one: S-83."""

from typing import NamedTuple

import pytest

from broker_lite.log.cleaner.grouping import Sizes, grouped

LIMITS = Sizes(100, 80, 120)


class Segment(NamedTuple):
    base_offset: int
    end_offset: int
    sizes: Sizes


def bases(*sizes: Sizes, step: int = 10) -> list[list[int]]:
    segments = [Segment(index * step, (index + 1) * step, one) for index, one in enumerate(sizes)]
    return [[one.base_offset for one in group] for group in grouped(segments, LIMITS)]


def test_as_many_as_a_segment_takes_s83() -> None:
    assert bases(*[Sizes(40, 0, 0)] * 5) == [[0, 10], [20, 30], [40]]
    assert bases(*[Sizes(50, 0, 0)] * 2) == [[0, 10]]
    assert bases(Sizes(999, 0, 0), Sizes(0, 0, 0)) == [[0], [10]]
    assert bases() == []


@pytest.mark.parametrize("kind", Sizes._fields)
def test_s83_a_segment_may_be_as_large_as_its_limit(kind: str) -> None:
    small, limit = Sizes(1, 0, 0), getattr(LIMITS, kind)
    rest = limit - 2 * getattr(small, kind)
    fits = small._replace(**{kind: getattr(small, kind) + rest})
    assert bases(small, fits) == [[0, 10]]
    assert bases(small, fits._replace(**{kind: getattr(fits, kind) + 1})) == [[0], [10]]


def test_the_indexes_count_too_s83() -> None:
    assert bases(*[Sizes(1, 40, 0)] * 3) == [[0, 10], [20]]
    assert bases(*[Sizes(1, 0, 60)] * 3) == [[0, 10], [20]]


def test_offsets_fit_into_31_bits_s83() -> None:
    half = 1 << 30
    assert bases(*[Sizes(1, 0, 0)] * 3, step=half) == [[0, half], [2 * half]]
    # an empty one in between has no offset that could be too far
    assert bases(Sizes(1, 0, 0), Sizes(1, 0, 0), Sizes(0, 0, 0), step=half) == [[0, half, 2 * half]]
