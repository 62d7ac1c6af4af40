"""When requests are due."""

import pytest

from broker_lite.load.part import Part
from broker_lite.load.schedule import AT_ONCE, Schedule

SECOND = 1_000_000_000


def test_an_open_loop_is_due_by_the_clock() -> None:
    schedule = Schedule(4)
    schedule.begin(7 * SECOND)
    assert schedule.is_open
    assert [schedule.due_ns(number) for number in (0, 1, 4)] == [
        7 * SECOND,
        7 * SECOND + SECOND // 4,
        8 * SECOND,
    ]


@pytest.mark.parametrize(
    ("after_ns", "count"), [(-1, 0), (0, 1), (SECOND // 4 - 1, 1), (SECOND // 4, 2), (SECOND, 5)]
)
def test_how_many_are_due(after_ns: int, count: int) -> None:
    schedule = Schedule(4)
    schedule.begin(7 * SECOND)
    assert schedule.due_count(7 * SECOND + after_ns) == count


def test_a_rate_is_kept_over_hours() -> None:
    schedule = Schedule(3)
    schedule.begin(0)
    assert schedule.due_ns(3 * 86_400) == 86_400 * SECOND


def test_a_closed_loop_is_always_due() -> None:
    schedule = Schedule(None)
    schedule.begin(7 * SECOND)
    assert not schedule.is_open
    assert schedule.due_ns(5) == AT_ONCE
    assert schedule.due_count(100 * SECOND) == 0


@pytest.mark.parametrize("after_ns", [0, SECOND // 3, SECOND, 5 * SECOND])
def test_several_processes_keep_one_rate(after_ns: int) -> None:
    parts = [Schedule(7, Part(index, 3)) for index in range(3)]
    whole = Schedule(7)
    for schedule in (*parts, whole):
        schedule.begin(SECOND)
    counts = [part.due_count(SECOND + after_ns) for part in parts]
    assert sum(counts) == whole.due_count(SECOND + after_ns)
    pairs = zip(parts, counts, strict=True)
    dues_ns = [part.due_ns(number) for part, count in pairs for number in range(count)]
    assert sorted(dues_ns) == [whole.due_ns(number) for number in range(sum(counts))]
