"""The coordinator of transactions, event by event: T-14 to T-65.

Also tests: broker_lite.coordinator.transactions.transaction.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import pytest

from broker_lite.coordinator.transactions.coordinator import NO_PRODUCER
from broker_lite.coordinator.transactions.rules import Producer
from broker_lite.coordinator.transactions.terms import Terms
from broker_lite.coordinator.transactions.transaction import (
    Transaction,
    TransactionState,
)
from broker_lite.errors import ErrorCode, KafkaStorageError
from tests.coordinator.transactions.transaction_driver import EXPIRATION_MS, A, B, Driver

S = TransactionState


@pytest.fixture
def driver() -> Driver:
    return Driver()


# -- InitProducerId


def test_t17_a_new_id_gets_a_producer_with_epoch_0(driver: Driver) -> None:
    assert driver.init(expected=(77, 5)) == (0, (0, 0))
    assert driver.of().state is S.EMPTY
    assert driver.of().timeout_ms == 100


@pytest.mark.parametrize(("timeout_ms", "code"), [(0, 50), (-1, 50), (901, 50), (900, 0), (1, 0)])
def test_t16_timeouts(driver: Driver, timeout_ms: int, code: int) -> None:
    assert driver.init(timeout_ms=timeout_ms)[0] == code


def test_t14_an_id_must_have_a_name_that_can_be_written(driver: Driver) -> None:
    assert driver.init("") == (42, NO_PRODUCER)
    assert driver.init("é" * 16384) == (-1, NO_PRODUCER)
    assert driver.init("e" * 32767) == (0, (0, 0))


def test_t23_t27_a_second_producer_fences_the_first(driver: Driver) -> None:
    assert [driver.init() for _ in range(3)] == [(0, (0, 0)), (0, (0, 1)), (0, (0, 2))]
    assert driver.add((0, 1)) == ErrorCode.PRODUCER_FENCED


def test_t24_the_current_epoch_and_the_last_one(driver: Driver) -> None:
    driver.init()
    assert driver.init(expected=(0, 0)) == (0, (0, 1))
    assert driver.init(expected=(0, 0)) == (0, (0, 1))
    assert driver.init(expected=(0, 1)) == (0, (0, 2))
    assert driver.init(expected=(0, 0)) == (90, NO_PRODUCER)


def test_t19_another_producer_is_fenced(driver: Driver) -> None:
    driver.init()
    assert driver.init(expected=(5, 0)) == (90, NO_PRODUCER)
    assert driver.init(expected=(5, 32766)) == (90, NO_PRODUCER)


@pytest.mark.parametrize("state", [S.PREPARE_COMMIT, S.PREPARE_ABORT])
def test_t20_a_transaction_that_is_ending(driver: Driver, state: TransactionState) -> None:
    driver.in_state(state)
    assert driver.init() == (51, NO_PRODUCER)
    assert driver.init(expected=(6, 5)) == (90, NO_PRODUCER)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_t21_an_open_transaction_is_aborted_first(version: int) -> None:
    driver = Driver(version)
    driver.in_state(S.ONGOING, 4)
    assert driver.init(expected=(6, 4)) == (90, NO_PRODUCER)
    outcome = driver.keep(
        driver.coordinator.init_producer_id("x", Terms(100), expected=None, now_ms=1001)
    )
    assert outcome.error == 51
    assert outcome.ending is not None
    assert outcome.ending.producer == (7, 5)
    assert (outcome.ending.is_commit, set(outcome.ending.partitions)) == (False, {A})
    driver.complete()
    assert driver.of().state is S.COMPLETE_ABORT
    assert driver.of().producer_epoch == 5
    assert driver.of().last_producer_epoch == (4 if version == 2 else -1)
    assert driver.init() == (0, (7, 6))


def test_t22_an_exhausted_epoch_leads_to_another_producer_id(driver: Driver) -> None:
    driver.in_state(S.EMPTY, 32766)
    assert driver.init() == (0, (0, 0))
    assert driver.of().previous_producer_id == 7
    assert driver.of().last_producer_epoch == -1


def test_t22_a_repeated_rotation_is_known_again(driver: Driver) -> None:
    driver.in_state(S.COMPLETE_COMMIT, 32766)
    assert driver.init(expected=(7, 32766)) == (0, (0, 0))
    assert driver.of().last_producer_epoch == 32766
    assert driver.init(expected=(7, 32766)) == (0, (0, 0))


def test_t25_success_empties_the_transaction(driver: Driver) -> None:
    driver.in_state(S.COMPLETE_ABORT)
    driver.now_ms = 5000
    driver.init(timeout_ms=3)
    now = driver.of()
    assert (now.state, now.partitions, now.started_ms) == (S.EMPTY, frozenset(), -1)
    assert (now.timeout_ms, now.updated_ms) == (3, 5000)


# -- adding and verifying


@pytest.mark.parametrize(
    ("name", "producer", "code"),
    [("", (7, 5), 42), ("y", (7, 5), 49), ("x", (8, 5), 49), ("x", (7, 4), 90), ("x", (7, 6), 90)],
)
def test_t29_t31_who_may_not_add(driver: Driver, name: str, producer: Producer, code: int) -> None:
    driver.in_state(S.EMPTY)
    assert driver.add(producer, name=name) == code
    assert driver.coordinator.verify(name, producer, [A, B]) == {A: code, B: code}
    assert driver.end(producer, name=name).error == code


@pytest.mark.parametrize("state", [S.PREPARE_COMMIT, S.PREPARE_ABORT])
def test_t29_t31_not_while_ending(driver: Driver, state: TransactionState) -> None:
    producer = driver.in_state(state)
    assert driver.add(producer) == 51
    assert driver.coordinator.verify("x", producer, [A]) == {A: 51}


@pytest.mark.parametrize("state", [S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT])
def test_t29_t63_the_first_partition_begins_it(driver: Driver, state: TransactionState) -> None:
    producer = driver.in_state(state)
    driver.coordinator.forget(lambda _: True)
    driver.put(replace(decode_last(driver), partitions=frozenset()))
    driver.now_ms = 2000
    assert driver.add(producer, A) == 0
    driver.now_ms = 2050
    assert driver.add(producer, B) == 0
    now = driver.of()
    assert (now.state, set(now.partitions), now.started_ms) == (S.ONGOING, {A, B}, 2000)
    assert now.updated_ms == 2050


def decode_last(driver: Driver) -> Transaction:
    driver.reload()
    return driver.of()


def test_t29_what_is_there_already_changes_nothing(driver: Driver) -> None:
    driver.init()
    driver.add((0, 0), A, B)
    written = len(driver.log)
    assert driver.add((0, 0), A) == 0
    assert len(driver.log) == written


def test_t31_verification_tells_of_each_partition(driver: Driver) -> None:
    driver.init()
    driver.add((0, 0), A)
    assert driver.coordinator.verify("x", (0, 0), [A, B]) == {A: 0, B: 120}


# -- time


def test_t60_t63_an_open_transaction_times_out(driver: Driver) -> None:
    driver.init()
    assert driver.coordinator.next_deadline_ms() == 1000 + EXPIRATION_MS
    driver.now_ms = 2000
    driver.add((0, 0))
    assert driver.coordinator.next_deadline_ms() == 2101
    assert driver.coordinator.on_time(2100, 9) == []
    ((name, outcome),) = driver.coordinator.on_time(2101, 9)
    assert name == "x"
    assert outcome.ending is not None
    assert (outcome.ending.producer, outcome.ending.is_commit) == ((0, 1), False)
    assert driver.coordinator.next_deadline_ms() is None
    driver.keep(outcome)
    driver.now_ms = 2101
    driver.complete()
    # T-61: what the producer sees of it
    assert driver.add((0, 0)) == 90
    assert driver.end((0, 0), commit=True).error == 48
    assert driver.end((0, 0), commit=True, version=0).error == 90
    # T-62
    assert driver.init(expected=(0, 0)) == (0, (0, 1))


@pytest.mark.parametrize("by_timeout", [True, False])
def test_t49_t60_a_fence_of_an_exhausted_epoch_leads_to_another_producer_id(
    driver: Driver, by_timeout: bool
) -> None:
    """Measured on 4.3.1, also that the old producer's request is known only once."""
    driver.in_state(S.ONGOING, 32766)
    if by_timeout:
        ((_, outcome),) = driver.coordinator.on_time(1101, 9)
        driver.keep(outcome)
    else:
        assert driver.init()[0] == 51
    driver.reload()
    assert (driver.of().producer_id, driver.of().producer_epoch) == (7, 32767)
    driver.complete()
    driver.reload()
    assert (driver.of().producer_id, driver.of().producer_epoch) == (0, 0)
    assert driver.init() == (0, (0, 1))


def test_t62_the_old_producer_gets_the_new_id(driver: Driver) -> None:
    """Measured on 4.3.1, also that it is known only once."""
    producer = driver.in_state(S.ONGOING, 32766)
    ((_, outcome),) = driver.coordinator.on_time(1101, 9)
    driver.keep(outcome)
    driver.complete()
    assert driver.end(producer, commit=False).producer == (0, 0)
    assert driver.init(expected=producer) == (0, (0, 0))
    assert driver.init(expected=producer) == (90, NO_PRODUCER)


def test_t62_nobody_is_given_the_epoch_of_the_last_fence(driver: Driver) -> None:
    """Else whoever has it could not be fenced any more; Kafka fails with -1 here."""

    def refuse() -> Iterator[int]:
        raise KafkaStorageError
        yield

    driver.ids = refuse()
    producer = driver.in_state(S.ONGOING, 32766)
    ((_, outcome),) = driver.coordinator.on_time(1101, 9)
    driver.keep(outcome)
    driver.complete()
    assert (driver.of().producer_id, driver.of().producer_epoch) == (7, 32767)
    driver.ids = count()
    for _ in range(2):
        assert driver.init(expected=producer) == (0, (0, 0))
    assert driver.init(expected=(7, 32767)) == (90, NO_PRODUCER)


def test_t60_an_exhausted_epoch_goes_to_the_last_one_and_stays_there(driver: Driver) -> None:
    for epoch in (32766, 32767):
        for version in (0, 2):
            driver.version = version
            driver.in_state(S.ONGOING, epoch)
            ((_, outcome),) = driver.coordinator.on_time(1101, 9)
            assert outcome.ending is not None
            assert outcome.ending.producer == (7, 32767)
            driver.complete()
            assert driver.init()[1][1] == (1 if version else 0)


@pytest.mark.parametrize("state", [S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT])
def test_t08_t64_idle_ids_are_forgotten(driver: Driver, state: TransactionState) -> None:
    driver.in_state(state)
    assert driver.coordinator.on_time(1000 + EXPIRATION_MS - 1, 9) == []
    ((_, outcome),) = driver.coordinator.on_time(1000 + EXPIRATION_MS, 9)
    assert outcome.record is not None
    assert outcome.record.value is None
    driver.keep(outcome)
    assert driver.add((7, 5)) == 49
    driver.reload()
    assert driver.coordinator.get("x") is None
    assert driver.init() == (0, (0, 0))


@pytest.mark.parametrize("state", [S.PREPARE_COMMIT, S.PREPARE_ABORT])
def test_t08_t63_what_is_ending_has_no_timer(driver: Driver, state: TransactionState) -> None:
    driver.in_state(state)
    assert driver.coordinator.next_deadline_ms() is None


# -- the state log


def test_t64_what_is_due_is_done_some_at_a_time() -> None:
    driver = Driver()
    for name in "abc":
        driver.init(name)
    late_ms = 1000 + EXPIRATION_MS
    assert [name for name, _ in driver.coordinator.on_time(late_ms, 2)] == ["a", "b"]
    assert driver.coordinator.next_deadline_ms() == late_ms
    assert [name for name, _ in driver.coordinator.on_time(late_ms, 2)] == ["c"]


def test_t72_what_is_prepared_is_found_again(driver: Driver) -> None:
    driver.in_state(S.PREPARE_COMMIT)
    key, value = driver.log[-1]
    ending = driver.make().replay(key, value)
    assert ending is not None
    assert (ending.transactional_id, ending.producer, ending.is_commit) == ("x", (7, 5), True)


def test_t72_keys_of_other_types_are_passed_over(driver: Driver) -> None:
    assert driver.coordinator.replay(b"\x00\x05zz", b"") is None
    assert driver.coordinator.replay(b"", None) is None
    assert driver.coordinator.all() == []


def test_forgotten_ids_have_no_timer(driver: Driver) -> None:
    driver.init("x")
    driver.init("y")
    driver.coordinator.forget(lambda name: name == "x")
    assert driver.coordinator.get("x") is None
    ((name, _),) = driver.coordinator.on_time(1000 + EXPIRATION_MS, 9)
    assert name == "y"


def test_t72_an_event_that_was_not_written_has_not_happened(driver: Driver) -> None:
    producer = driver.in_state(S.ONGOING)
    before, deadline_ms = driver.of(), driver.coordinator.next_deadline_ms()
    ((name, outcome),) = driver.coordinator.on_time(1101, 9)
    driver.coordinator.undo(name, outcome)
    assert driver.of() is before
    assert driver.coordinator.next_deadline_ms() == deadline_ms
    outcome = driver.coordinator.end(
        "x", producer, is_commit=True, client_version=2, now_ms=driver.now_ms
    )
    driver.coordinator.undo("x", outcome)
    assert driver.of() is before
    new = driver.coordinator.init_producer_id("y", Terms(1), expected=None, now_ms=1000)
    driver.coordinator.undo("y", new)
    assert driver.coordinator.all() == [before]


@pytest.mark.parametrize("timeout_ms", [0, -1, 901, 100])
def test_t69_a_transaction_in_two_phases_has_no_timeout(timeout_ms: int) -> None:
    """Measured on 4.3.1, with transaction.two.phase.commit.enable."""
    driver = Driver(has_two_phases=True)
    assert driver.init(timeout_ms=timeout_ms, is_two_phase=True) == (0, (0, 0))
    driver.add((0, 0))
    driver.reload()
    assert driver.of().timeout_ms == 2**31 - 1
    assert list(driver.coordinator.on_time(driver.now_ms + 2**40, 9)) == []
    # its successor ends it
    assert driver.init(is_two_phase=True)[0] == 51
    driver.complete()
    assert driver.init() == (0, (0, 2))
    assert driver.of().timeout_ms == 100


def test_t69_what_a_producer_of_two_phases_is_refused() -> None:
    """Measured on 4.3.1."""
    driver = Driver()
    assert driver.init(is_two_phase=True, keeps_prepared=True, timeout_ms=901)[0] == 53
    assert driver.init(keeps_prepared=True, timeout_ms=901)[0] == 35
    assert driver.init("", is_two_phase=True)[0] == 42
    driver = Driver(has_two_phases=True)
    assert driver.init(is_two_phase=True, keeps_prepared=True)[0] == 35
    assert driver.init(timeout_ms=901)[0] == 50
    assert driver.coordinator.get("x") is None
