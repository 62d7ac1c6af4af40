"""Records of aborted transactions are archived without being delivered."""

import pytest

from broker_lite.coordinator.share_records.aborted import (
    AbortedTransaction,
    AbortedTransactions,
    archive_aborted,
    told_apart,
)
from broker_lite.coordinator.share_records.acquire import Acquired, Range
from tests.coordinator.share_records.share_driver import Driver


def test_k19_they_are_taken_out_of_what_was_acquired() -> None:
    driver = Driver(5, 5, 5, 5)
    acquired = [Acquired(*each) for each in driver.fetch(batch=10)]
    assert acquired == [(0, 9, 1), (10, 19, 1)]
    left = archive_aborted(driver.partition, acquired, [Range(5, 9), Range(10, 14)])
    assert left == [(0, 4, 1), (15, 19, 1)]
    assert driver.partition.complete_count == 10
    driver.say((0, 4, [1]), (15, 19, [1]))
    assert driver.partition.start_offset == 20


def test_k19_the_start_moves_at_once_and_is_written_with_the_next_change() -> None:
    driver = Driver(5, 5)
    acquired = [Acquired(*each) for each in driver.fetch(count=1)]
    assert archive_aborted(driver.partition, acquired, [Range(0, 4)]) == []
    assert (driver.partition.start_offset, driver.partition.next_offset()) == (5, 5)
    assert driver.updates == []
    assert driver.fetch() == [(5, 9, 1)]
    driver.say((9, 9, [1]))
    assert driver.updates == [(5, 1, [(9, 9, 2, 1)])]
    assert driver.partition.start_offset == 5


def test_k19_a_long_aborted_transaction_leaves_room_for_what_follows() -> None:
    driver = Driver(*[500] * 5, locks_max=2000)
    for batch in driver.batches[:4]:
        acquired = [Acquired(*each) for each in driver.fetch()]
        assert acquired == [(batch.first, batch.last, 1)]
        assert archive_aborted(driver.partition, acquired, [batch]) == []
    assert driver.partition.in_flight_count == 0
    assert driver.fetch() == [(2000, 2499, 1)]
    driver.restart()  # what was not written is read again
    assert driver.partition.start_offset == 0


def test_k19_an_aborted_batch_may_lie_in_two_that_were_acquired() -> None:
    driver = Driver(10, 10)
    acquired = [Acquired(*each) for each in driver.fetch(batch=10)]
    aborted = [Range(2, 3), Range(6, 12), Range(19, 25)]
    left = archive_aborted(driver.partition, acquired, aborted)
    assert left == [(0, 1, 1), (4, 5, 1), (13, 18, 1)]
    assert driver.partition.complete_count == 10


def test_nothing_aborted_changes_nothing() -> None:
    driver = Driver(5)
    acquired = [Acquired(*each) for each in driver.fetch()]
    assert archive_aborted(driver.partition, acquired, []) == acquired


def test_transactions_have_their_producers_batches_up_to_their_markers() -> None:
    listed = [(7, 30, 40), (8, 12, 35), (7, 10, 20)]
    transactions = AbortedTransactions(AbortedTransaction(*each) for each in listed)
    found = {
        producer: [offset for offset in range(50) if transactions.has(producer, offset)]
        for producer in (7, 8, 9)
    }
    assert found == {7: [*range(10, 21), *range(30, 41)], 8: [*range(12, 36)], 9: []}


@pytest.mark.parametrize(("runs_max", "known"), [(1, 0), (2, 1), (4, 2), (7, 2), (8, 4)])
def test_k36_no_more_are_acquired_than_there_is_memory_to_tell_apart(
    runs_max: int, known: int
) -> None:
    partition = Driver(runs_max=runs_max).partition
    fetched = [Range(each, each) for each in range(10)]
    aborted = fetched[2::2]
    told = told_apart(partition, fetched, aborted)
    assert told == (fetched if known == len(aborted) else fetched[: aborted[known].first])
