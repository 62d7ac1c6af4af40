"""A transaction coordinator without I/O, and the log that its records make."""

from collections.abc import Iterator
from itertools import count

from broker_lite.coordinator.transactions.coordinator import Outcome, TransactionCoordinator
from broker_lite.coordinator.transactions.records import encode
from broker_lite.coordinator.transactions.rules import Producer
from broker_lite.coordinator.transactions.settings import TransactionSettings
from broker_lite.coordinator.transactions.terms import Terms
from broker_lite.coordinator.transactions.transaction import Transaction, TransactionState

S = TransactionState
A, B = ("a", 0), ("b", 1)
TIMEOUT_MAX_MS = 900
EXPIRATION_MS = 10_000


class Driver:
    """A coordinator whose records are kept, as the state log would."""

    def __init__(self, version: int = 2, *, has_two_phases: bool = False) -> None:
        self.version = version
        self.has_two_phases = has_two_phases
        self.now_ms = 1000
        self.log: list[tuple[bytes, bytes | None]] = []
        self.ids: Iterator[int] = count()
        self.coordinator = self.make()

    def make(self) -> TransactionCoordinator:
        settings = TransactionSettings(
            timeout_max_ms=TIMEOUT_MAX_MS,
            has_two_phases=self.has_two_phases,
            id_expiration_ms=EXPIRATION_MS,
        )
        return TransactionCoordinator(
            settings,
            next_producer_id=lambda: next(self.ids),
            transaction_version=lambda: self.version,
        )

    def reload(self) -> None:
        self.coordinator = self.make()
        for key, value in self.log:
            self.coordinator.replay(key, value)

    def put(self, transaction: Transaction) -> None:
        record = encode(transaction, 1)
        self.log.append((record.key, record.value))
        self.coordinator.replay(record.key, record.value)

    def keep(self, outcome: Outcome) -> Outcome:
        if outcome.record is not None:
            self.log.append((outcome.record.key, outcome.record.value))
        return outcome

    def init(
        self,
        name: str = "x",
        timeout_ms: int = 100,
        expected: Producer | None = None,
        *,
        is_two_phase: bool = False,
        keeps_prepared: bool = False,
    ) -> tuple[int, Producer]:
        outcome = self.keep(
            self.coordinator.init_producer_id(
                name,
                Terms(timeout_ms, is_two_phase, keeps_prepared),
                expected=expected,
                now_ms=self.now_ms,
            )
        )
        return outcome.error, outcome.producer

    def add(
        self, producer: Producer, *partitions: tuple[str, int], name: str = "x", version: int = 2
    ) -> int:
        outcome = self.coordinator.add_partitions(
            name, producer, partitions or [A], client_version=version, now_ms=self.now_ms
        )
        return self.keep(outcome).error

    def end(
        self, producer: Producer, *, commit: bool = True, version: int = 2, name: str = "x"
    ) -> Outcome:
        return self.keep(
            self.coordinator.end(
                name, producer, is_commit=commit, client_version=version, now_ms=self.now_ms
            )
        )

    def complete(self, name: str = "x") -> Outcome:
        return self.keep(self.coordinator.completed(name, self.now_ms))

    def of(self, name: str = "x") -> Transaction:
        found = self.coordinator.get(name)
        assert found is not None
        return found

    def in_state(self, state: TransactionState, epoch: int = 5) -> Producer:
        """Id "x" of producer 7, in any state."""
        partitions = frozenset() if state is S.EMPTY else frozenset({A})
        self.put(
            Transaction(
                transactional_id="x",
                producer_id=7,
                producer_epoch=epoch,
                previous_producer_id=7,
                timeout_ms=100,
                state=state,
                partitions=partitions,
                started_ms=-1 if state is S.EMPTY else self.now_ms,
                updated_ms=self.now_ms,
            )
        )
        return 7, epoch
