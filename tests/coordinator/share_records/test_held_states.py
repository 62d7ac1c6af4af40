"""The memory of the states of share groups is bounded, and what needs no more of it goes on."""

import random

import pytest

from broker_lite.coordinator.share_records.acquire import Range, Wish, acquire, may_acquire
from broker_lite.coordinator.share_records.held_states import (
    KEPT_BYTES,
    RUN_BYTES,
    HeldStates,
)
from broker_lite.coordinator.share_records.in_flight import RUNS_MAX
from broker_lite.coordinator.share_records.partition import runs_of_state
from broker_lite.errors import BrokerError, CoordinatorNotAvailable
from tests.coordinator.share_records.share_driver import Driver

FULL = r"The states of share groups take as much memory as they may\."


def test_k36_what_is_counted() -> None:
    held = HeldStates(2 * RUN_BYTES)
    held.add_kept(1)
    assert held.has_room(1)
    assert not held.has_room(2)
    held.add_runs(1)
    assert held.size_bytes == RUN_BYTES + KEPT_BYTES
    assert not held.has_room(1)
    held.add_kept(-1)
    assert held.has_room(1)


def test_k36_who_found_no_memory_is_told_when_there_is_some() -> None:
    held, told = HeldStates(10 * RUN_BYTES), list[int]()
    held.when_free = lambda: told.append(held.run_count)
    held.add_runs(10)
    held.add_runs(-5)
    assert told == []  # nobody has asked
    held.add_runs(5)
    assert not held.has_room(1)
    held.add_runs(-1)
    assert told == []
    held.add_runs(-1)
    held.add_runs(-1)
    assert told == [8]
    assert not held.has_room(4)
    held.add_kept(1)
    assert told == [8]
    held.add_kept(-1)
    assert told == [8, 7]


def test_without_anybody_to_tell_there_is_memory_again() -> None:
    held = HeldStates(RUN_BYTES)
    assert not held.may_acquire()
    held.add_runs(-1)
    assert held.may_acquire()


def test_k36_what_is_kept_of_whole_runs_has_room_of_its_own() -> None:
    held = HeldStates(8 * RUN_BYTES)
    held.add_kept(8 * RUN_BYTES // KEPT_BYTES)
    assert not held.may_keep(1)
    held.add_kept(7)
    assert held.may_keep_whole()
    held.add_kept(1)
    assert not held.may_keep_whole()


@pytest.mark.parametrize("strict", [True, False])
def test_k36_what_lies_between_kept_records_is_acquired_whole(strict: bool) -> None:
    """Kept are records 20 to 29; nobody has read yet which of those before them there are."""
    driver = Driver(*[1] * 30)
    driver.fetch(count=20, batch=20)
    driver.fetch()
    driver.say((20, 29, [2]))
    driver.restart()
    driver.held.add_kept(1 << 50)
    assert driver.held.run_count == runs_of_state(driver.kept_start, driver.kept) == 2
    if strict:
        assert driver.fetch(count=3, strict=True) == []
    assert driver.fetch(count=20 if strict else 3, strict=strict) == [(0, 19, 1)]
    driver.check_counts()
    assert driver.held.run_count == 2


def test_k36_what_the_log_does_not_have_between_kept_records_is_forgotten() -> None:
    driver = Driver(10, 10, 10)
    driver.fetch(count=30, batch=10)
    driver.say((20, 29, [2]))
    driver.restart()
    driver.held.add_kept(1 << 50)
    wish = Wish("m", 500, 500, False)
    fetched = [Range(0, 4), driver.batches[2]]
    assert acquire(driver.partition, wish, [fetched[0]], 30_000) == []
    driver.partition.in_flight.split(driver.partition.in_flight.batches[0], 5)
    assert acquire(driver.partition, wish, fetched, 30_000) == [(0, 4, 1), (20, 29, 2)]


def test_k36_what_may_be_acquired_is_known_before() -> None:
    driver = Driver(10, runs_max=3)
    driver.fetch()
    driver.say((0, 9, [2]))
    strict = Wish("m", 3, 1, True)
    assert may_acquire(driver.partition, strict)
    driver.held.add_runs(2)
    assert not may_acquire(driver.partition, strict)
    assert may_acquire(driver.partition, strict._replace(records_max=10))
    assert may_acquire(driver.partition, strict._replace(is_strict=False))
    driver.fetch()
    assert not may_acquire(driver.partition, strict._replace(records_max=10))
    driver.held.add_runs(-2)


def test_k36_only_what_was_fetched_is_acquired() -> None:
    driver = Driver(*[1] * 10, runs_max=1 << 20)
    driver.fetch()
    driver.say((0, 9, [2]))
    driver.held.add_kept(1 << 40)
    wish = Wish("m", 500, 500, False)
    assert acquire(driver.partition, wish, driver.batches[:4], 30_000) == []
    assert acquire(driver.partition, wish, driver.batches, 30_000) == [(0, 9, 2)]


def test_k36_a_run_that_a_strict_member_wants_is_acquired_whole() -> None:
    driver = Driver(10, runs_max=2, delivery_count_max=3)
    driver.fetch()
    driver.held.add_kept(100)
    driver.say((0, 9, [2]))
    driver.fetch()
    driver.say((0, 9, [2]))
    assert driver.fetch(count=9, strict=True) == []
    assert driver.fetch(count=10, strict=True) == [(0, 9, 3)]  # K-18 would deliver one of them


def test_k36_no_more_is_acquired() -> None:
    driver = Driver(*[10] * 5, runs_max=3)
    assert driver.fetch(count=10, batch=1) == [(0, 9, 1)]
    assert driver.fetch(count=10, batch=1) == [(10, 19, 1)]
    assert not driver.partition.may_acquire()
    assert driver.fetch(count=10, batch=1) == []
    driver.say((10, 19, [2]))
    assert driver.fetch(count=10, batch=1) == [(10, 19, 2)]
    driver.say((0, 9, [1]))
    assert driver.fetch(count=10, batch=1) == [(20, 29, 1)]


def test_k36_one_fetch_makes_no_more_batches_than_there_is_room_for() -> None:
    driver = Driver(*[1] * 50, runs_max=5)
    assert driver.fetch(batch=1) == [*((each, each, 1) for each in range(4)), (4, 49, 1)]
    assert driver.held.run_count == 5


def test_k36_runs_are_not_split() -> None:
    driver = Driver(10, 10, runs_max=2)
    driver.fetch(batch=1)
    with pytest.raises(CoordinatorNotAvailable, match=FULL):
        driver.say((0, 3, [1]))
    with pytest.raises(CoordinatorNotAvailable, match=FULL):
        driver.say((3, 19, [1]))
    with pytest.raises(CoordinatorNotAvailable, match=FULL):
        driver.say((0, 9, [1] * 9 + [2]))
    driver.check_counts()
    assert driver.updates == []
    driver.say((0, 9, [2] * 10), (10, 19, [1]))
    assert driver.updates[-1].batches == [(0, 9, 0, 1), (10, 19, 2, 1)]


def test_k36_runs_that_are_split_already_are_said_one_by_one() -> None:
    driver = Driver(4, runs_max=8)
    driver.fetch()
    driver.say((0, 3, [2, 4, 2, 4]), renew=True)
    driver.fetch()
    assert driver.held.run_count == 4
    driver.held.add_kept(100)
    driver.say((0, 3, [2, 1, 2, 1]))
    assert driver.updates[-1].batches == [(0, 0, 0, 2), (1, 1, 2, 1), (2, 2, 0, 2), (3, 3, 2, 1)]


def test_k36_what_is_in_flight_is_acquired_again_as_it_is() -> None:
    driver = Driver(10, runs_max=2, delivery_count_max=3)
    driver.fetch()
    driver.held.add_kept(100)
    driver.say((0, 9, [2]))
    assert driver.fetch(count=3, strict=True) == []
    assert driver.fetch(count=3) == [(0, 9, 2)]
    driver.say((0, 9, [2]))
    assert driver.fetch(count=3) == [(0, 9, 3)]  # K-18 would deliver one of them


def test_k36_a_strict_member_gets_the_runs_that_fit() -> None:
    driver = Driver(10, runs_max=4)
    driver.fetch()
    driver.say((0, 1, [2]))
    driver.fetch()
    driver.say((0, 9, [2]))
    assert driver.held.run_count == 2
    driver.held.add_kept(100)
    assert driver.fetch(count=5, strict=True) == [(0, 1, 3)]
    driver.check_counts()


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("seed", [*range(6), 76])
def test_k36_random_members_never_hold_more(seed: int, *, restarts: bool) -> None:
    chance = random.Random(seed)
    runs_max = chance.choice([3, 8, 20])
    driver = Driver(runs_max=runs_max, delivery_count_max=chance.choice([2, 5]), locks_max=100)
    refused = 0
    for _ in range(400):
        match chance.randrange(7 if restarts else 6):
            case 0:
                driver.append(chance.randint(1, 20))
            case 1 | 2:
                count, strict = chance.randint(1, 30), chance.random() < 0.5
                driver.fetch(chance.choice("ab"), count, chance.randint(1, 9), strict=strict)
            case 3 | 4:
                runs = [run for batch in driver.partition.in_flight.batches for run in batch.runs]
                owned = [run for run in runs if run.member_id]
                if owned:
                    run = chance.choice(owned)
                    size = chance.randint(1, run.last - run.first + 1)
                    types = [chance.choice([1, 2]) for _ in range(size)]
                    try:
                        driver.say((run.first, run.first + size - 1, types), member=run.member_id)
                    except CoordinatorNotAvailable:
                        refused += 1
            case 6:
                count = runs_of_state(driver.kept_start, driver.kept)
                if count <= runs_max:
                    driver.restart()
                    assert driver.held.run_count <= count
            case _:
                driver.wait(31_000)
        driver.check_counts()
        assert driver.held.run_count <= runs_max
    assert refused or restarts
    _drain(driver)


def _drain(driver: Driver) -> None:
    """Even where there is no memory for more runs, everything is delivered in the end."""
    driver.wait(31_000)
    for _ in range(2000):
        acquired = driver.fetch("z")
        for first, last, _ in acquired:
            driver.say((first, last, [1]), member="z")
        if not acquired:
            break
    assert driver.partition.start_offset == driver.batches[-1].last + 1
    assert driver.held.size_bytes == 0


def test_k36_a_partition_has_only_so_many_runs() -> None:
    driver = Driver(RUNS_MAX + 2)
    driver.fetch()
    driver.say((0, RUNS_MAX - 2, [1, 2] * (RUNS_MAX // 2 - 1) + [1]))
    assert driver.held.run_count == RUNS_MAX
    with pytest.raises(CoordinatorNotAvailable, match=FULL):
        driver.say((RUNS_MAX, RUNS_MAX, [1]))
    driver.say((RUNS_MAX - 1, RUNS_MAX + 1, [1]))
    assert driver.fetch(count=1, strict=True) == [(1, 1, 2)]


def test_a_partition_that_was_dropped_is_not_counted() -> None:
    driver = Driver(10)
    driver.fetch()
    dropped = driver.partition
    driver.restart()
    assert driver.held.run_count == 0
    with pytest.raises(BrokerError):
        driver.say((0, 9, [1]))
    assert dropped.in_flight.has_room(10)
    dropped.release("m")
    assert driver.held.run_count == 0
