"""A share partition: its start, its locks, and random members against one record by record.

Also tests: broker_lite.coordinator.share_records.in_flight.
"""

import random

import pytest

from broker_lite.coordinator.share_records.partition import SharePartition, runs_of_state
from broker_lite.coordinator.share_records.settings import ShareSettings
from broker_lite.coordinator.share_records.state import StateBatch
from broker_lite.errors import BrokerError
from tests.coordinator.share_records.share_driver import LOCK_MS, Driver


def test_k15_a_lock_ends() -> None:
    driver = Driver(10, 10)
    driver.fetch("m", 10)
    driver.wait(10)
    driver.fetch("n", 10)
    assert driver.partition.next_deadline_ms() == LOCK_MS
    driver.wait(LOCK_MS - 11)
    assert driver.updates == []
    driver.wait(1)
    assert driver.updates == [(0, 0, [(0, 9, 0, 1)])]
    assert driver.partition.next_deadline_ms() == LOCK_MS + 10
    assert driver.fetch("n") == [(0, 9, 2)]
    driver.wait(10)
    assert driver.updates[-1] == (0, 0, [(10, 19, 0, 1)])


def test_k15_a_lock_that_ends_for_the_last_time_archives() -> None:
    driver = Driver(1, delivery_count_max=2)
    for _ in range(2):
        driver.fetch()
        driver.wait(LOCK_MS)
    assert driver.partition.start_offset == 1
    assert driver.updates[-1] == (0, 1, [(0, 0, 4, 2)])


def test_k16_what_a_member_has_is_released() -> None:
    driver = Driver(10, 10)
    driver.fetch("m", 10)
    driver.fetch("n", 10)
    driver.keep(driver.partition.release("m"))
    assert driver.partition.release("m") is None
    assert driver.updates == [(0, 0, [(0, 9, 0, 1)])]
    assert driver.fetch("n") == [(0, 9, 2)]


def test_k10_k13_the_start_moves_behind_what_is_done() -> None:
    driver = Driver(10, 10)
    driver.fetch(batch=1)
    driver.say((3, 12, [1]))
    assert driver.updates[-1] == (0, 10, [(3, 12, 2, 1)])
    assert (driver.partition.start_offset, driver.partition.in_flight_count) == (0, 20)
    driver.say((0, 2, [1]))
    assert driver.updates[-1] == (0, 13, [(0, 2, 2, 1)])
    assert (driver.partition.start_offset, driver.partition.complete_count) == (13, 0)
    driver.say((13, 19, [1]))
    assert (driver.partition.start_offset, driver.partition.end_offset) == (20, 19)
    assert driver.partition.in_flight.batches == []


def test_k17_the_log_may_lose_records() -> None:
    driver = Driver(10, 10)
    driver.fetch(batch=1)
    assert not driver.partition.advance_to(0)
    assert driver.partition.advance_to(5)
    driver.say((0, 9, [1]))
    assert driver.updates[-1] == (5, 5, [(5, 9, 2, 1)])
    assert driver.partition.advance_to(30)
    assert (driver.partition.start_offset, driver.partition.next_offset()) == (30, 30)


def test_k20_it_begins_with_what_is_kept() -> None:
    kept = [StateBatch(5, 9, 2, 1), StateBatch(10, 14, 0, 2), StateBatch(20, 24, 4, 1)]
    partition = SharePartition(5, kept, ShareSettings())
    assert (partition.start_offset, partition.end_offset, partition.next_offset()) == (10, 24, 10)
    done = SharePartition(5, kept[:1], ShareSettings())
    assert (done.start_offset, done.end_offset, done.next_offset()) == (10, 9, 10)


def test_stale_locks_take_no_memory() -> None:
    driver = Driver(1)
    for _ in range(1000):
        driver.fetch()
        driver.say((driver.batches[-1].first, driver.batches[-1].last, [1]))
        driver.append(1)
    assert len(driver.partition._locks) < 200


def test_runs_that_are_acquired_together_have_one_lock() -> None:
    driver = Driver(100)
    driver.fetch()
    driver.say((0, 99, [1, 2] * 50))
    driver.wait(10)
    driver.fetch()
    assert len(driver.partition._locks) == 2
    driver.say((1, 1, [4]), (5, 5, [4]), renew=True)
    driver.say((3, 3, [1]))
    driver.wait(LOCK_MS - 10)
    assert driver.partition.next_offset() == 100
    driver.wait(10)
    assert driver.partition.next_offset() == 1


class Records:
    """What each record went through, by the answers only."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.counts: dict[int, int] = {}
        self.owners: dict[int, str] = {}
        self.done: set[int] = set()


@pytest.mark.parametrize("seed", range(12))
def test_random_members_never_share_a_record(seed: int) -> None:
    chance = random.Random(seed)
    limit = chance.choice([2, 3, 5])
    driver = Driver(delivery_count_max=limit, locks_max=200)
    seen = Records(limit)
    for _ in range(400):
        _step(chance, driver, seen)
        driver.check_counts()
    _finish(driver, seen)


def _step(chance: random.Random, driver: Driver, seen: Records) -> None:
    match chance.randrange(10):
        case 0 | 1:
            driver.append(chance.randint(1, 8))
        case 2 | 3 | 4:
            member = chance.choice("abc")
            strict = chance.random() < 0.3
            count = chance.randint(1, 20)
            acquired = driver.fetch(member, count, chance.randint(1, 10), strict=strict)
            offsets = [o for first, last, _ in acquired for o in range(first, last + 1)]
            assert offsets == sorted(set(offsets))
            assert not strict or len(offsets) <= count
            for first, last, delivery_count in acquired:
                for offset in range(first, last + 1):
                    assert offset not in seen.done
                    assert offset not in seen.owners
                    assert delivery_count == seen.counts.get(offset, 0) + 1 <= seen.limit
                    seen.counts[offset] = delivery_count
                    seen.owners[offset] = member
        case 5 | 6 | 7 | 8:
            _acknowledge(chance, driver, seen)
        case _:
            driver.wait(LOCK_MS)
            for offset in list(seen.owners):
                _given_back(seen, offset)


def _given_back(seen: Records, offset: int) -> None:
    del seen.owners[offset]
    if seen.counts[offset] >= seen.limit:
        seen.done.add(offset)


def _acknowledge(chance: random.Random, driver: Driver, seen: Records) -> None:
    if not seen.owners:
        return
    member = seen.owners[chance.choice(sorted(seen.owners))]
    mine = sorted(o for o, owner in seen.owners.items() if owner == member)
    first = chance.choice(mine)
    last = first
    while last + 1 in mine and chance.random() < 0.8:
        last += 1
    types = [chance.choice([0, 1, 1, 1, 2, 3]) for _ in range(last - first + 1)]
    with pytest.raises(BrokerError):
        driver.say((first, last, types), member="nobody")
    driver.say((first, last, types), member=member)
    for offset, kind in zip(range(first, last + 1), types, strict=True):
        if kind == 2:
            _given_back(seen, offset)
        else:
            del seen.owners[offset]
            seen.done.add(offset)


def _finish(driver: Driver, seen: Records) -> None:
    """After a restart what is done stays done, and everything else is delivered in the end."""
    counts = {
        offset: each.delivery_count
        for each in driver.kept
        for offset in range(each.first_offset, each.last_offset + 1)
    }
    driver.restart()
    last = driver.batches[-1].last if driver.batches else -1
    for _ in range(5000):
        acquired = driver.fetch("z")
        for first, end, count in acquired:
            for offset in range(first, end + 1):
                assert offset not in seen.done
                assert count > counts.get(offset, 0)
                seen.done.add(offset)
            driver.say((first, end, [1]), member="z")
            driver.check_counts()
        if not acquired:
            break
    assert seen.done == set(range(last + 1))
    assert driver.partition.start_offset == last + 1


@pytest.mark.parametrize(
    ("start", "batches", "count"),
    [
        (0, [], 0),
        (0, [(0, 4, 0, 2), (5, 5, 0, 1)], 2),
        (0, [(3, 4, 2, 1), (7, 8, 0, 1)], 4),
        (5, [(0, 4, 0, 1), (7, 8, 0, 1)], 2),
        (5, [(0, 6, 0, 1), (7, 8, 0, 2)], 2),
    ],
)
def test_k36_the_runs_of_a_state_are_known_before(
    start: int, batches: list[tuple[int, int, int, int]], count: int
) -> None:
    kept = [StateBatch(*each) for each in batches]
    assert runs_of_state(start, kept) == count
    assert SharePartition(start, kept, ShareSettings()).in_flight.run_count == count
