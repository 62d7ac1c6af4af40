"""Records that the log no longer has do not hold up those behind them."""

from broker_lite.coordinator.share_records.acquire import Range
from broker_lite.coordinator.share_records.missing import archive_missing
from broker_lite.coordinator.share_records.partition import SharePartition
from broker_lite.coordinator.share_records.settings import ShareSettings
from broker_lite.coordinator.share_records.state import StateBatch
from tests.coordinator.share_records.share_driver import Driver


def test_k25_released_records_that_are_gone() -> None:
    driver = Driver(10, 5, 5)
    driver.fetch(batch=1)
    driver.say((0, 9, [1]), (10, 14, [2]))
    del driver.batches[1]
    assert driver.fetch() == []
    assert driver.updates[-1] == (10, 5, [(10, 14, 4, 1)])
    assert (driver.partition.start_offset, driver.partition.next_offset()) == (15, 20)
    driver.append(5)
    assert driver.fetch() == [(20, 24, 1)]


def test_k25_the_record_behind_them_is_acquired_at_once() -> None:
    driver = Driver(5, 5, 5)
    driver.fetch()
    driver.say((3, 4, [2]), (5, 14, [2]))
    del driver.batches[0]
    assert driver.fetch() == [(5, 14, 2)]
    assert driver.kept == [StateBatch(3, 4, 4, 1), StateBatch(5, 14, 0, 1)]
    assert driver.partition.start_offset == 0
    driver.say((0, 2, [1]))
    assert driver.partition.start_offset == 5


def test_k25_several_holes_with_acquired_records_between_them() -> None:
    driver = Driver(5, 5, 5, 5, 5)
    driver.fetch(batch=1)
    driver.say((0, 4, [2]), (8, 11, [2]), (17, 24, [2]))
    driver.batches = [Range(5, 9), Range(20, 24)]
    assert driver.fetch(count=4) == [(8, 9, 2)]
    assert driver.fetch(count=4) == [(20, 24, 2)]
    assert driver.partition.start_offset == 5
    assert driver.kept[0] == StateBatch(8, 9, 0, 1)
    gone = [StateBatch(10, 11, 4, 1), StateBatch(17, 19, 4, 1)]
    assert driver.kept[1:] == [*gone, StateBatch(20, 24, 0, 1)]


def test_k25_records_acquired_meanwhile_stay_with_their_member() -> None:
    driver = Driver(5, 10)
    driver.fetch("a", 5)
    driver.fetch("b", 10)
    driver.keep(driver.partition.release("a"))
    driver.batches = [Range(10, 14)]
    assert driver.fetch("c") == []
    assert driver.partition.start_offset == 5
    driver.say((5, 14, [1]), member="b")
    assert driver.partition.start_offset == 15


def test_k25_a_gap_at_the_start_that_nobody_has_read() -> None:
    driver = Driver(5, 5, 5)
    driver.kept = [StateBatch(10, 14, 2, 1)]
    driver.restart()
    driver.batches = [Range(10, 14), Range(15, 19)]
    assert driver.partition.next_offset() == 0
    assert driver.fetch() == [(15, 19, 1)]
    assert driver.updates == [(0, 15, [(0, 9, 4, 0)])]
    assert driver.partition.start_offset == 15


def test_k25_a_part_of_a_gap_that_nobody_has_read() -> None:
    partition = SharePartition(0, [StateBatch(10, 14, 2, 1)], ShareSettings())
    update = archive_missing(partition, [Range(4, 6), Range(10, 14)], 0)
    assert update == (0, 9, [(0, 3, 4, 0)])
    assert (partition.start_offset, partition.next_offset()) == (4, 4)
    assert [(each.first, each.is_unread) for each in partition.in_flight.batches] == [
        (4, True),
        (10, False),
    ]


def test_records_that_are_released_during_a_fetch_are_not_missing() -> None:
    driver = Driver(5, 5, 5)
    driver.fetch(batch=1)
    driver.say((5, 9, [2]))
    partition = driver.partition
    assert partition.next_offset() == 5
    driver.say((0, 4, [2]))
    assert archive_missing(partition, [Range(10, 14)], 5) == (0, 5, [(5, 9, 4, 1)])
    assert partition.next_offset() == 0


def test_nothing_is_missing() -> None:
    driver = Driver(5)
    assert archive_missing(driver.partition, [], 0) is None
    assert archive_missing(driver.partition, [Range(3, 4)], 0) is None
    driver.fetch()
    driver.say((2, 4, [2]))
    assert archive_missing(driver.partition, driver.batches, 0) is None
    driver.fetch()
    assert archive_missing(driver.partition, [Range(9, 9)], 0) is None
