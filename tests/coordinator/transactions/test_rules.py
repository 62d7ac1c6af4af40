"""How transactions end: T-46 to T-51."""

import pytest

from broker_lite.coordinator.transactions.coordinator import NO_PRODUCER
from broker_lite.coordinator.transactions.transaction import EPOCH_MAX, TransactionState
from tests.coordinator.transactions.transaction_driver import Driver

S = TransactionState


@pytest.fixture
def driver() -> Driver:
    return Driver()


COMMIT, ABORT = True, False


@pytest.mark.parametrize(
    ("state", "commit", "abort"),
    [
        (S.EMPTY, 48, 48),
        (S.ONGOING, 0, 0),
        (S.PREPARE_COMMIT, 51, 48),
        (S.PREPARE_ABORT, 48, 51),
        (S.COMPLETE_COMMIT, 0, 48),
        (S.COMPLETE_ABORT, 48, 0),
    ],
)
def test_t47_ends_of_version_1(
    driver: Driver, state: TransactionState, commit: int, abort: int
) -> None:
    """T-03, T-04: an end that is accepted leads to the prepared state."""
    prepared = {COMMIT: S.PREPARE_COMMIT, ABORT: S.PREPARE_ABORT}
    for is_commit, code in [(COMMIT, commit), (ABORT, abort)]:
        producer = driver.in_state(state)
        outcome = driver.end(producer, commit=is_commit, version=0)
        assert outcome.error == code
        assert (outcome.ending is not None) == (state is S.ONGOING)
        assert driver.of().state is (prepared[is_commit] if state is S.ONGOING else state)
        assert driver.of().producer_epoch == 5
        assert driver.end((7, 4), version=0).error == 90
        assert driver.end((7, 6), version=0).error == 90
        assert driver.end((8, 5), version=0).error == 49


RETRY, CURRENT = 4, 5


@pytest.mark.parametrize(
    ("state", "epoch", "commit", "abort"),
    [
        (S.EMPTY, RETRY, 90, 90),
        (S.EMPTY, CURRENT, 48, None),
        (S.ONGOING, RETRY, 90, 90),
        (S.ONGOING, CURRENT, None, None),
        (S.PREPARE_COMMIT, RETRY, 51, 48),
        (S.PREPARE_COMMIT, CURRENT, 90, 90),
        (S.PREPARE_ABORT, RETRY, 48, 51),
        (S.PREPARE_ABORT, CURRENT, 90, 90),
        (S.COMPLETE_COMMIT, RETRY, 0, 48),
        (S.COMPLETE_COMMIT, CURRENT, 48, None),
        (S.COMPLETE_ABORT, RETRY, 48, 0),
        (S.COMPLETE_ABORT, CURRENT, 48, None),
        (S.COMPLETE_ABORT, 6, 90, 90),
        (S.COMPLETE_COMMIT, 3, 90, 90),
    ],
)
def test_t48_ends_of_version_2(
    driver: Driver, state: TransactionState, epoch: int, commit: int | None, abort: int | None
) -> None:
    """None: it ends, and the epoch is raised."""
    for is_commit, code in [(COMMIT, commit), (ABORT, abort)]:
        driver.in_state(state)
        outcome = driver.end((7, epoch), commit=is_commit)
        if code is None:
            assert outcome.ending is not None
            assert outcome.ending.producer == outcome.producer == (7, 6)
            assert outcome.ending.is_commit == is_commit
            driver.now_ms += 1
            completed = driver.complete()
            assert completed.producer == (7, 6)
            assert driver.of().state is (S.COMPLETE_COMMIT if is_commit else S.COMPLETE_ABORT)
            assert driver.of().last_producer_epoch == 5
            assert driver.of().started_ms >= 1000
        else:
            assert outcome.error == code
            assert outcome.producer == ((7, 5) if code == 0 else NO_PRODUCER)
            assert driver.of().state is state


@pytest.mark.parametrize("is_commit", [COMMIT, ABORT])
def test_t49_the_last_epoch_leads_to_another_producer_id(driver: Driver, is_commit: bool) -> None:
    producer = driver.in_state(S.ONGOING, 32766)
    outcome = driver.end(producer, commit=is_commit)
    assert outcome.producer == (0, 0)
    assert outcome.ending is not None
    assert outcome.ending.producer == (7, EPOCH_MAX)
    driver.reload()
    assert driver.complete().producer == (0, 0)
    assert (driver.of().producer_id, driver.of().producer_epoch) == (0, 0)
    again = driver.end(producer, commit=is_commit)
    assert (again.error, again.producer) == (0, (0, 0))
    assert driver.end(producer, commit=not is_commit).error == 48
    driver.reload()
    assert driver.end(producer, commit=is_commit).producer == (0, 0)


def test_t47_version_1_keeps_the_last_epoch(driver: Driver) -> None:
    driver.in_state(S.ONGOING, 32766)
    outcome = driver.end((7, 32766), version=0)
    assert outcome.producer == (7, 32766)


def test_t51_versions_mix(driver: Driver) -> None:
    driver.init()
    assert driver.add((0, 0), version=0) == 0
    assert driver.end((0, 0)).producer == (0, 1)
    driver.complete()
    assert driver.add((0, 1)) == 0
    assert driver.end((0, 1), version=0).producer == (0, 1)
