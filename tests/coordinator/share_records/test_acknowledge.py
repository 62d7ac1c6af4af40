"""What a member says about records, and Kafka's words for what it may not say."""

from collections.abc import Callable, Sequence
from functools import partial

import pytest

from broker_lite.coordinator.share_records.acknowledge import Acknowledgement
from broker_lite.errors import BrokerError, InvalidRecordState, InvalidRequest
from tests.coordinator.share_records.share_driver import Driver, calls_of


@pytest.fixture
def driver() -> Driver:
    driver = Driver(10, 10)
    driver.fetch("m", 10)
    driver.fetch("n", 10)
    return driver


@pytest.mark.parametrize(
    "said",
    [
        pytest.param([(5, 3, [1])], id="K-30 backwards"),
        pytest.param([(5, 6, [])], id="K-30 no type"),
        pytest.param([(5, 7, [1, 1])], id="K-30 too few types"),
        pytest.param([(5, 7, [9])], id="K-30 unknown type"),
        pytest.param([(5, 7, [-1])], id="K-30 negative type"),
        pytest.param([(5, 7, [4])], id="K-30 renewal without a word"),
        pytest.param([(5, 7, [1]), (6, 8, [1])], id="K-30 overlap"),
    ],
)
def test_what_is_wrong_by_itself(driver: Driver, said: list[tuple[int, int, list[int]]]) -> None:
    with pytest.raises(InvalidRequest) as caught:
        driver.say(*said)
    assert caught.value.message is None


@pytest.mark.parametrize(
    ("said", "kind", "text"),
    [
        pytest.param(
            (10, 12, [1]), InvalidRecordState, "Member is not the owner of batch record", id="K-31"
        ),
        pytest.param(
            (5, 30, [1]),
            InvalidRequest,
            "Batch record not found. The last offset in request is past acquired records.",
            id="K-31 last",
        ),
        pytest.param(
            (50, 60, [1]),
            InvalidRequest,
            "Batch record not found. The first offset in request is past acquired records.",
            id="K-31 first",
        ),
    ],
)
def test_what_is_not_the_members(
    driver: Driver, said: tuple[int, int, list[int]], kind: type[BrokerError], text: str
) -> None:
    with pytest.raises(kind) as caught:
        driver.say((0, 1, [1]), said)
    assert caught.value.message == text
    driver.say((0, 1, [1]))  # nothing of the refused one counts


def test_k31_records_that_are_not_acquired(driver: Driver) -> None:
    driver.say((5, 7, [1]))
    with pytest.raises(InvalidRecordState, match="The offset is not acquired"):
        driver.say((5, 7, [1]))
    driver.keep(driver.partition.release("n"))
    with pytest.raises(InvalidRecordState, match="The batch is not in the acquired state"):
        driver.say((10, 11, [1]), member="n")
    driver.fetch("m", 1, strict=True)
    driver.fetch("n", 1, strict=True)
    with pytest.raises(InvalidRecordState, match="not the owner of offset"):
        driver.say((11, 11, [1]))
    with pytest.raises(InvalidRecordState, match="The offset is not acquired"):
        driver.say((0, 1, [1]), (1, 2, [1]))


@pytest.mark.parametrize("said", [(5, 7, [1]), (0, 9, [1] * 10)])
def test_k31_a_batch_that_was_named_in_parts_counts_record_by_record(
    driver: Driver, said: tuple[int, int, list[int]]
) -> None:
    """Also if the request was refused; one that named all of it as a whole changes nothing."""
    with pytest.raises(InvalidRequest):
        driver.say((0, 9, [1]), (50, 60, [1]))
    with pytest.raises(InvalidRecordState, match="not the owner of batch record"):
        driver.say((6, 6, [1]), member="n")
    with pytest.raises(InvalidRequest):
        driver.say(said, (50, 60, [1]))
    with pytest.raises(InvalidRecordState, match="not the owner of offset"):
        driver.say((6, 6, [1]), member="n")
    driver.say((0, 9, [1]))


def test_k31_records_before_the_start_do_nothing(driver: Driver) -> None:
    driver.say((0, 9, [1]))
    updates = len(driver.updates)
    driver.say((0, 9, [1]))
    driver.say((5, 12, [1]), member="n")
    assert len(driver.updates) == updates + 1
    assert driver.partition.start_offset == 13
    empty = Driver()
    with pytest.raises(InvalidRecordState, match="not found in the cache"):
        empty.say((0, 1, [1]))


def test_k14_types_and_what_is_kept(driver: Driver) -> None:
    driver.say((0, 4, [1, 0, 3, 2, 2]))
    assert driver.updates[-1] == (0, 3, [(0, 0, 2, 1), (1, 2, 4, 1), (3, 4, 0, 1)])
    assert driver.partition.start_offset == 3
    assert driver.fetch() == [(3, 4, 2)]
    for count in range(3, 6):
        driver.say((3, 4, [2]))
        acquired = driver.fetch(strict=True)
        assert [one[2] for one in acquired] == [count]
        if acquired != [(3, 4, count)]:
            driver.say((3, 3, [2]))
            break
    assert driver.updates[-1].batches[-1].state == 0 or driver.partition.start_offset >= 3


def test_k14_the_last_delivery_archives() -> None:
    driver = Driver(1, delivery_count_max=2)
    assert driver.fetch() == [(0, 0, 1)]
    driver.say((0, 0, [2]))
    assert driver.fetch() == [(0, 0, 2)]
    driver.say((0, 0, [2]))
    assert driver.updates[-1] == (0, 1, [(0, 0, 4, 2)])
    assert driver.partition.start_offset == 1


def test_k14_a_renewed_lock_lasts_longer(driver: Driver) -> None:
    driver.wait(20_000)
    driver.say((0, 3, [4]), renew=True)
    assert driver.updates == []
    driver.wait(10_000)
    assert driver.updates[-1].batches == [(4, 19, 0, 1)]
    driver.say((0, 3, [1]))
    assert driver.partition.start_offset == 4


def test_k31_renewal_may_be_off() -> None:
    driver = Driver(10, may_renew=False)
    driver.fetch()
    with pytest.raises(InvalidRecordState, match="Renewing acquisition locks is not enabled"):
        driver.say((0, 1, [4]), renew=True)


@pytest.mark.parametrize(
    ("types", "parts"),
    [
        ([1], [(5, 9, 1)]),
        ([1, 1, 2, 2, 0], [(5, 6, 1), (7, 8, 2), (9, 9, 0)]),
        ([3, 3, 3, 3, 3], [(5, 9, 3)]),
    ],
)
def test_neighbours_of_one_type_are_one_range(
    types: Sequence[int], parts: list[tuple[int, int, int]]
) -> None:
    assert list(Acknowledgement(5, 9, types).parts()) == parts


def _split(count: int) -> Driver:
    """Every other record is released, and acquired again."""
    driver = Driver(count)
    driver.fetch()
    driver.say((0, count - 1, [1, 2] * (count // 2)))
    driver.fetch()
    return driver


@pytest.mark.parametrize(
    ("make", "said"),
    [
        pytest.param(Driver, lambda n: [(0, n - 1, [1, 2] * (n // 2))], id="types"),
        pytest.param(Driver, lambda n: [(i, i, [1]) for i in range(0, n, 2)], id="batches"),
        pytest.param(_split, lambda n: [(i, i, [1]) for i in range(1, n, 2)], id="split"),
    ],
)
def test_the_cost_grows_with_the_number_of_types(
    make: Callable[[int], Driver], said: Callable[[int], list[tuple[int, int, list[int]]]]
) -> None:
    costs = []
    for count in (200, 800):
        driver = make(count)
        driver.fetch()
        costs.append(calls_of(partial(driver.say, *said(count))))
    assert costs[1] < 5 * costs[0]


def test_types_of_a_range_across_batches() -> None:
    driver = Driver(3, 3, 3)
    driver.fetch(batch=1)
    driver.say((1, 7, [1, 1, 1, 2, 3, 3, 1]))
    assert driver.updates[-1] == (0, 6, [(1, 3, 2, 1), (4, 4, 0, 1), (5, 6, 4, 1), (7, 7, 2, 1)])
    assert driver.fetch() == [(4, 4, 2)]
    driver.say((0, 0, [1]), (4, 4, [1]), (8, 8, [1]))
    assert driver.partition.start_offset == 9


def test_k31_what_lies_between_kept_records_is_not_known() -> None:
    driver = Driver(10, 10, 10, 10)
    driver.fetch()
    driver.say((10, 14, [2]), (30, 39, [2]))
    driver.restart()
    with pytest.raises(InvalidRecordState, match="not found in the cache"):
        driver.say((5, 12, [1]))
    assert driver.fetch(count=15, strict=True) == [(0, 9, 1), (10, 14, 2)]
    with pytest.raises(InvalidRequest, match="first offset"):
        driver.say((20, 25, [1]))
    with pytest.raises(InvalidRequest, match="last offset"):
        driver.say((12, 25, [1]))
    driver.say((10, 14, [1]))


def test_k31_a_type_for_each_record_splits_a_batch() -> None:
    driver = Driver(2)
    driver.fetch()
    driver.say((0, 1, [2, 2]))
    with pytest.raises(InvalidRecordState, match="The offset cannot be acknowledged"):
        driver.say((0, 0, [1]))
