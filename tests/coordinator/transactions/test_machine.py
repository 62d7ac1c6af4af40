"""Any requests at any time: only Kafka's states and transitions, and nothing that replay loses.

Also tests: broker_lite.coordinator.transactions.transaction.
"""

from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from broker_lite.coordinator.transactions.transaction import (
    IDLE,
    NO_TIME,
    ONGOING,
    PREPARED,
    PREVIOUS_STATES,
    Transaction,
    TransactionState,
)
from tests.coordinator.transactions.transaction_driver import (
    EXPIRATION_MS,
    TIMEOUT_MAX_MS,
    A,
    B,
    Driver,
)

NAMES = ("x", "y")
names = st.sampled_from(NAMES)
versions = st.sampled_from([0, 2])
back = st.integers(0, 2)

Memory = dict[str, Transaction]


def memory_of(driver: Driver) -> Memory:
    found = {name: driver.coordinator.get(name) for name in NAMES}
    return {name: each for name, each in found.items() if each is not None}


def as_logged(memory: Memory) -> Memory:
    """The last epoch is what Kafka's records leave out."""
    return {name: replace(each, last_producer_epoch=-1) for name, each in memory.items()}


class TransactionMachine(RuleBasedStateMachine):
    """Producers with ids and epochs that are right, old or too new."""

    def __init__(self) -> None:
        super().__init__()
        self.driver = Driver()
        self.before: Memory = {}
        self.reader = Driver()
        self.replayed = 0

    def producer(self, name: str, epochs_back: int) -> tuple[int, int]:
        found = self.driver.coordinator.get(name)
        return (99, 0) if found is None else (found.producer_id, found.producer_epoch - epochs_back)

    @rule(name=names, timeout_ms=st.integers(1, TIMEOUT_MAX_MS), epochs_back=st.none() | back)
    def init(self, name: str, timeout_ms: int, epochs_back: int | None) -> None:
        expected = None if epochs_back is None else self.producer(name, epochs_back)
        self.driver.init(name, timeout_ms, expected)

    @rule(name=names, epochs_back=back, partition=st.sampled_from([A, B]), version=versions)
    def add(self, name: str, epochs_back: int, partition: tuple[str, int], version: int) -> None:
        self.driver.add(self.producer(name, epochs_back), partition, name=name, version=version)

    @rule(name=names, epochs_back=back, commit=st.booleans(), version=versions)
    def end(self, name: str, epochs_back: int, commit: bool, version: int) -> None:
        producer = self.producer(name, epochs_back)
        self.driver.end(producer, commit=commit, version=version, name=name)

    @rule(name=names)
    def complete(self, name: str) -> None:
        found = self.driver.coordinator.get(name)
        if found is not None and found.state in PREPARED:
            self.driver.complete(name)

    @rule(name=names)
    def use_up_the_epochs(self, name: str) -> None:
        found = self.driver.coordinator.get(name)
        if found is not None and found.state is ONGOING:
            self.driver.put(replace(found, producer_epoch=32766))

    @rule(step_ms=st.integers(0, TIMEOUT_MAX_MS) | st.just(EXPIRATION_MS))
    def pass_time(self, step_ms: int) -> None:
        self.driver.now_ms += step_ms
        for _, outcome in self.driver.coordinator.on_time(self.driver.now_ms, 9):
            self.driver.keep(outcome)

    @rule()
    def restart(self) -> None:
        self.driver.reload()
        assert memory_of(self.driver) == as_logged(self.before)

    @invariant()
    def only_transitions_of_kafka(self) -> None:
        memory = memory_of(self.driver)
        for name, now in memory.items():
            before = self.before.get(name)
            if before is None:
                assert now.state is TransactionState.EMPTY
                continue
            fits = before.state in PREVIOUS_STATES[now.state]
            assert fits or now == before or as_logged({"": before}) == {"": now}
            if before.producer_id == now.producer_id:
                assert now.producer_epoch >= before.producer_epoch
            else:
                assert (now.producer_epoch, before.producer_epoch >= 32766) == (0, True)
        for name in self.before.keys() - memory.keys():
            assert self.before[name].state in IDLE
        self.before = memory

    @invariant()
    def states_make_sense(self) -> None:
        for now in memory_of(self.driver).values():
            assert 0 <= now.producer_epoch <= 32767
            assert (now.state is ONGOING) <= bool(now.partitions)
            assert (now.started_ms == NO_TIME) == (now.state is TransactionState.EMPTY)
            assert now.next_producer_id < 0 or now.state in PREPARED

    @invariant()
    def every_timer_is_of_a_state_that_ends_by_time(self) -> None:
        deadlines = [
            now.started_ms + now.timeout_ms + 1
            if now.state is ONGOING
            else now.updated_ms + EXPIRATION_MS
            for now in memory_of(self.driver).values()
            if now.state not in PREPARED
        ]
        assert self.driver.coordinator.next_deadline_ms() == min(deadlines, default=None)

    @invariant()
    def replay_cut_anywhere_gives_that_state(self) -> None:
        """Whatever was written so far, a second coordinator that reads it knows the same."""
        log = self.driver.log
        for key, value in log[self.replayed :]:
            self.reader.coordinator.replay(key, value)
        self.replayed = len(log)
        assert memory_of(self.reader) == as_logged(memory_of(self.driver))


TestTransactionMachine = pytest.mark.filterwarnings("default")(TransactionMachine.TestCase)
TransactionMachine.TestCase.settings = settings(
    max_examples=60, stateful_step_count=30, deadline=None
)
