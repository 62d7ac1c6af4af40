"""Transactions as they are described and listed: T-01 to T-06."""

import pytest

from broker_lite.coordinator.transactions.transaction import TransactionState
from broker_lite.coordinator.transactions.views import Filters, describe, list_transactions
from broker_lite.errors import ErrorCode
from tests.coordinator.transactions.transaction_driver import Driver

ALL = Filters((), (), -1, None)


@pytest.fixture
def driver() -> Driver:
    return Driver()


def test_t01_t06_describe(driver: Driver) -> None:
    assert describe("x", ErrorCode.TRANSACTIONAL_ID_NOT_FOUND).error_code == 105
    driver.init()
    driver.add((0, 0), ("b", 1), ("a", 2), ("a", 0))
    shown = describe("x", driver.of())
    assert (shown.error_code, shown.transaction_state) == (0, "Ongoing")
    assert (shown.producer_id, shown.producer_epoch) == (0, 0)
    assert (shown.transaction_timeout_ms, shown.transaction_start_time_ms) == (100, 1000)
    assert [(each.topic, each.partitions) for each in shown.topics] == [("a", [0, 2]), ("b", [1])]


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (ALL, ["idle", "open"]),
        (ALL._replace(states=["Ongoing", "Nothing"]), ["open"]),
        (ALL._replace(states=["Nothing"]), []),
        (ALL._replace(producer_ids=[0]), ["idle"]),
        (ALL._replace(longer_than_ms=50), ["idle"]),
        (ALL._replace(longer_than_ms=49), ["idle", "open"]),
        (ALL._replace(longer_than_ms=0), ["idle", "open"]),
        (ALL._replace(pattern=""), ["idle", "open"]),
        (ALL._replace(pattern="id|op.*"), ["open"]),
    ],
)
def test_t01_t06_list(driver: Driver, wanted: Filters, names: list[str]) -> None:
    driver.init("idle")
    driver.init("open")
    driver.add((1, 0), name="open")
    listed = list_transactions(driver.coordinator.all(), wanted, driver.now_ms + 50)
    assert [each.transactional_id for each in listed] == names


def test_t05_names_of_states() -> None:
    assert [state.text for state in TransactionState] == [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    ]
