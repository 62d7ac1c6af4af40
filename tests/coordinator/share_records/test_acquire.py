"""Which records a member acquires: the requests and answers are those of Kafka 4.3.1.

Also tests: broker_lite.coordinator.share_records.settings.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from broker_lite.coordinator.share_records.acquire import Range, Wish, acquire
from tests.coordinator.share_records.share_driver import Driver, calls_of

BATCHES = (10, 5, *[3] * 10)


def test_k11_whole_record_batches() -> None:
    driver = Driver(*BATCHES)
    assert driver.fetch(count=12, batch=5) == [(0, 9, 1), (10, 14, 1)]
    assert driver.fetch(count=1, batch=5) == [(15, 17, 1)]
    assert driver.fetch(count=1, batch=5) == [(18, 20, 1)]
    assert driver.fetch(count=7, batch=2) == [(21, 23, 1), (24, 26, 1), (27, 29, 1)]
    assert driver.fetch(count=7, batch=4) == [(30, 35, 1), (36, 38, 1)]
    assert driver.fetch() == [(39, 44, 1)]
    assert driver.fetch() == []


def test_k12_batches_are_acquired_again_as_they_were() -> None:
    driver = Driver(*BATCHES)
    driver.fetch(count=40, batch=4)
    driver.say((0, 14, [2]))
    assert driver.fetch(count=3, batch=4) == [(0, 9, 2)]
    assert driver.fetch(count=3, batch=4) == [(10, 14, 2)]
    driver.keep(driver.partition.release("m"))
    assert driver.fetch(count=3, batch=4) == [(0, 9, 3)]
    assert driver.fetch(count=100, batch=4)[:3] == [(10, 14, 3), (15, 20, 2), (21, 26, 2)]


def test_k11_exactly_as_many_as_wanted() -> None:
    driver = Driver(*BATCHES)
    assert driver.fetch(count=4, batch=2, strict=True) == [(0, 3, 1)]
    assert driver.fetch(count=3, batch=2, strict=True) == [(4, 6, 1)]
    assert driver.fetch(count=3, batch=20) == [(7, 9, 1)]
    assert driver.fetch(count=5, batch=20, strict=True) == [(10, 14, 1)]
    driver.say((1, 2, [2]))
    assert driver.fetch(count=5, batch=20, strict=True) == [(1, 2, 2), (15, 17, 1)]
    assert driver.fetch(count=4, strict=True) == [(18, 21, 1)]
    assert driver.fetch(count=4, strict=True) == [(22, 23, 1), (24, 25, 1)]
    driver.keep(driver.partition.release("m"))
    assert driver.fetch(count=2, strict=True) == [(0, 0, 2), (1, 1, 3)]


def test_k12_locks_are_limited() -> None:
    driver = Driver(*[10] * 30, locks_max=100)
    assert driver.fetch(count=95) == [(0, 99, 1)]
    assert driver.fetch(count=95) == []
    driver.say((10, 49, [1]))
    assert driver.fetch(count=95) == []
    driver.say((0, 9, [2]))
    assert driver.fetch(count=3) == [(0, 9, 2)]
    driver.say((0, 9, [1]))
    assert driver.fetch(count=95) == [(100, 149, 1)]


@pytest.mark.parametrize(
    ("limit", "size", "wanted"),
    [
        pytest.param(
            5,
            20,
            [(0, 19, 1), (0, 19, 2), (0, 19, 3), (0, 9, 4), (0, 0, 5), (1, 1, 5), (2, 2, 5)],
            id="K-18 5",
        ),
        pytest.param(
            10,
            40,
            [
                *((0, 39, count) for count in range(1, 6)),
                *((0, 19, 6), (0, 9, 7), (0, 4, 8), (0, 1, 9), (0, 0, 10), (1, 1, 10), (2, 3, 9)),
            ],
            id="K-18 10",
        ),
    ],
)
def test_records_that_fail_are_delivered_in_parts(
    limit: int, size: int, wanted: list[tuple[int, int, int]]
) -> None:
    driver = Driver(size, delivery_count_max=limit)
    for each in wanted:
        assert driver.fetch() == [each]
        driver.say((each[0], each[1], [2]))


def test_k18_nothing_else_comes_with_them() -> None:
    driver = Driver(5, 5)
    for _ in range(3):
        assert len(driver.fetch(batch=5)) == 2
        driver.keep(driver.partition.release("m"))
    for each in [(0, 1, 4), (0, 0, 5), (1, 1, 5), (2, 3, 4), (2, 2, 5)]:
        assert driver.fetch(batch=5) == [each]
        driver.say((each[0], each[1], [2]))


def test_k18_one_record_that_failed_is_enough_for_its_batch() -> None:
    driver = Driver(2, 30, delivery_count_max=3)
    driver.fetch(count=2)
    driver.fetch()
    driver.say((24, 30, [2]))
    assert driver.fetch(count=3) == [(24, 30, 2)]
    driver.keep(driver.partition.release("m"))
    assert driver.fetch(count=10, strict=True) == [(0, 1, 2)]
    assert driver.fetch(count=10, strict=True) == [(2, 11, 2)]
    assert driver.fetch(count=15, strict=True) == [(12, 23, 2)]
    assert driver.fetch() == [(24, 24, 3)]


def test_k18_a_limit_that_was_passed_does_not_count() -> None:
    driver = Driver(20, delivery_count_max=6)
    driver.fetch()
    for _ in range(2):
        driver.say((15, 19, [2]))
        driver.fetch()
    driver.keep(driver.partition.release("m"))
    assert driver.fetch() == [(0, 14, 2), (15, 19, 4)]


def test_k12_a_batch_in_flight_is_acquired_whatever_record_batches_it_has() -> None:
    driver = Driver(10, 10)
    driver.fetch()
    driver.say((0, 4, [2]), (10, 19, [2]))
    assert driver.fetch(count=1) == [(0, 4, 2), (10, 19, 2)]


def test_k20_records_between_kept_ones_are_read_anew() -> None:
    driver = Driver(10, 10, 10)
    driver.fetch()
    driver.say((3, 4, [1]), (22, 24, [2]))
    driver.restart()
    assert (driver.partition.start_offset, driver.partition.next_offset()) == (0, 0)
    assert driver.fetch(count=2, strict=True) == [(0, 1, 1)]
    assert driver.fetch(count=4, strict=True) == [(2, 2, 1), (5, 7, 1)]
    assert driver.fetch(count=50) == [(8, 9, 1), (10, 21, 1), (22, 24, 2), (25, 29, 1)]
    assert driver.fetch() == []


def test_k20_a_gap_without_records_is_forgotten() -> None:
    driver = Driver(10, 10, 10)
    driver.fetch()
    driver.say((0, 9, [2]), (20, 29, [2]))
    driver.restart()
    del driver.batches[1]
    assert driver.fetch() == [(0, 9, 2), (20, 29, 2)]
    assert driver.partition.next_offset() == 30


def test_nothing_fetched_is_nothing_acquired() -> None:
    driver = Driver(10)
    assert acquire(driver.partition, Wish("m", 5, 5, False), [], 1) == []
    assert acquire(driver.partition, Wish("m", 0, 5, False), driver.batches, 1) == []


@pytest.mark.parametrize("strict", [False, True])
def test_the_cost_of_acquiring_again_grows_with_the_runs(strict: bool) -> None:
    costs = []
    for count in (200, 800):
        driver = Driver(count)
        driver.fetch()
        driver.say((0, count - 1, [1, 2] * (count // 2)))
        costs.append(calls_of(partial(driver.fetch, count=count, strict=strict)))
        assert driver.partition.next_offset() == count
    assert costs[1] < 5 * costs[0]


class Watched(list[Any]):
    """A list that counts the elements that are gone through or moved, one by one."""

    touched = 0

    def __iter__(self) -> Iterator[Any]:
        self.touched += len(self)
        return super().__iter__()

    def insert(self, index: Any, value: Any) -> None:
        self.touched += len(self) - index
        super().insert(index, value)

    def remove(self, value: Any) -> None:
        self.touched += len(self)
        super().remove(value)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("runs_left", [1 << 30, 0])
def test_k20_the_cost_of_gaps_grows_with_their_number(strict: bool, runs_left: int) -> None:
    """Not with its square: none of them needs all batches in flight, or all that were fetched."""
    count = 400
    driver = Driver(*[1] * count)
    driver.fetch(count=count, batch=count)
    driver.say(*((each, each, [1]) for each in range(1, count, 2)))
    driver.restart()
    if not runs_left:
        driver.held.add_kept(1 << 50)
    partition = driver.partition
    partition.in_flight.batches = batches = Watched(partition.in_flight.batches)
    fetched = Watched([Range(each, each) for each in range(count - 1)])
    wish = Wish("m", count, 1, strict)
    wanted = [(each, each, 1) for each in range(0, count - 1, 2)]
    assert acquire(partition, wish, fetched, 30_000) == wanted
    assert batches.touched + fetched.touched == 0
    driver.check_counts()


@pytest.mark.parametrize("strict", [False, True])
def test_k20_a_gap_of_several_record_batches(strict: bool) -> None:
    """Without a strict limit they are batches of their own; what was not fetched stays unread."""
    driver = Driver(*[2] * 10)
    driver.fetch(count=20, batch=20)
    driver.say((18, 19, [1]))
    driver.restart()
    wish = Wish("m", 9, 2, strict)
    wanted = [(0, 8, 1)] if strict else [(each, each + 1, 1) for each in range(0, 10, 2)]
    assert acquire(driver.partition, wish, driver.batches, 30_000) == wanted
    driver.check_counts()
    assert [(each.first, each.is_unread) for each in driver.partition.in_flight.batches[-2:]] == [
        (10, True),
        (18, False),
    ]


def test_only_what_is_available_of_a_split_batch() -> None:
    driver = Driver(10)
    driver.fetch()
    driver.say((0, 9, [2, 1, 2, 2, 2, 1, 2, 1, 2, 2]))
    assert driver.fetch("n", 4, strict=True) == [(0, 0, 2), (2, 4, 2)]
    assert driver.fetch("n", 2, strict=True) == [(6, 6, 2), (8, 8, 2)]
    assert driver.fetch("n", 5, strict=True) == [(9, 9, 2)]
