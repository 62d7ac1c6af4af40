"""The coordinator of transactions: all transactional ids, and every event that concerns them.

An event changes what is in memory and says which record is to be written, before anything is
answered. When that fails, the event is undone; where it is not known whether it was written, the
ids of the record's partition are forgotten and replayed from the log. A transaction that is ending
stays prepared until `completed` is told that its markers are written; everybody else is asked to
come again meanwhile.
"""

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple

from broker_lite.coordinator.effects import StateRecord
from broker_lite.coordinator.timers import Timers
from broker_lite.coordinator.transactions import rules
from broker_lite.coordinator.transactions.records import (
    decode_key,
    decode_value,
    encode,
    encode_key,
)
from broker_lite.coordinator.transactions.rules import Producer
from broker_lite.coordinator.transactions.transaction import (
    EPOCH_BUMP_VERSION,
    IDLE,
    ONGOING,
    PREPARE_COMMIT,
    PREPARED,
    TopicPartition,
    Transaction,
)
from broker_lite.errors import BrokerError, ErrorCode
from broker_lite.record.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID

NO_PRODUCER: Final = (NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
# a longer one has no record; Kafka fails as unforeseen as well
_ID_BYTES_MAX: Final = 32767


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionSettings:
    """What is decided for all transactional ids.

    Attributes:
        timeout_max_ms: the longest timeout of a transaction.
        id_expiration_ms: after how much idle time an id is forgotten.
    """

    timeout_max_ms: int
    id_expiration_ms: int


class Ending(NamedTuple):
    """The markers that a prepared transaction still needs, and whose they are.

    transaction_version decides whether they must have a higher epoch than the records.
    """

    transactional_id: str
    producer: Producer
    is_commit: bool
    partitions: frozenset[TopicPartition]
    transaction_version: int


class Outcome(NamedTuple):
    """What an event leads to.

    Attributes:
        error: the answer, NONE for success.
        producer: the producer id and epoch that the client goes on with, both -1 for none.
        record: to be written before anything else is done.
        ending: markers to write then, after which `completed` is to be called.
        before: of an outcome with a record, what undo() goes back to.
    """

    error: ErrorCode = ErrorCode.NONE
    producer: Producer = NO_PRODUCER
    record: StateRecord | None = None
    ending: Ending | None = None
    before: Transaction | None = None


class TransactionCoordinator:
    """The transactional ids of a cluster, as a state machine without I/O.

    Rule: T-07 to T-11, T-16 to T-18, T-27, T-37, T-38, T-55, T-56, T-60 to T-62, T-64
    (TransactionCoordinator, TransactionStateManager).
    See: T-01 to T-65.
    """

    def __init__(
        self,
        settings: TransactionSettings,
        *,
        next_producer_id: Callable[[], int],
        transaction_version: Callable[[], int],
    ) -> None:
        """Start without any id.

        Args:
            settings: for all ids.
            next_producer_id: makes an id that was never given before; may raise BrokerError.
            transaction_version: the feature's level of the moment: the form of the records, and
                how an abort by the coordinator raises the epoch.
        """
        self._settings = settings
        self._next_producer_id = next_producer_id
        self._transaction_version = transaction_version
        self._transactions: dict[str, Transaction] = {}
        # an id has one timer at most: its transaction's end, or its own
        self._timers: Timers[str] = Timers()

    def get(self, transactional_id: str) -> Transaction | None:
        """The transaction of an id, None when the id is not known."""
        return self._transactions.get(transactional_id)

    def all(self) -> list[Transaction]:
        """The transactions of all ids, as they are now."""
        return [*self._transactions.values()]

    # -- requests

    def init_producer_id(
        self, transactional_id: str, *, timeout_ms: int, expected: Producer | None, now_ms: int
    ) -> Outcome:
        """Give an id to a producer, and fence the one that had it.

        An open transaction is aborted first, for which the producer comes again.

        Args:
            transactional_id: of the producer.
            timeout_ms: of its transactions.
            expected: the producer id and epoch that it had before, None for a new one.
            now_ms: the time.

        Raises:
            BrokerError: no producer id can be given.

        Rule: T-16 to T-18, T-27 (TransactionCoordinator.handleInitProducerId).
        See: T-14, T-19 to T-25.
        """
        if not transactional_id:
            return Outcome(ErrorCode.INVALID_REQUEST)
        if len(transactional_id.encode()) > _ID_BYTES_MAX:
            return Outcome(ErrorCode.UNKNOWN_SERVER_ERROR)
        if not 0 < timeout_ms <= self._settings.timeout_max_ms:
            return Outcome(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
        transaction = self._transactions.get(transactional_id)
        if transaction is None:
            transaction = Transaction(
                transactional_id=transactional_id,
                producer_id=self._next_producer_id(),
                timeout_ms=timeout_ms,
                updated_ms=now_ms,
            )
        elif transaction.state is ONGOING:
            refusal = rules.refused_producer(transaction, expected)
            if refusal is not None:
                return Outcome(refusal)
            return self._fence(transaction, now_ms)._replace(
                error=ErrorCode.CONCURRENT_TRANSACTIONS
            )
        return self._outcome(
            rules.initialise(
                transaction,
                expected,
                timeout_ms=timeout_ms,
                next_producer_id=self._next_producer_id,
                now_ms=now_ms,
            )
        )

    def add_partitions(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Collection[TopicPartition],
        *,
        client_version: int,
        now_ms: int,
    ) -> Outcome:
        """Add partitions to the transaction of a producer; the first ones begin it.

        See: T-29, T-32, T-35, T-42 (TransactionCoordinator.handleAddPartitionsToTransaction).
        """
        transaction = self._known(transactional_id)
        if not isinstance(transaction, Transaction):
            return Outcome(transaction)
        return self._outcome(
            rules.add(
                transaction, producer, partitions, client_version=client_version, now_ms=now_ms
            )
        )

    def verify(
        self, transactional_id: str, producer: Producer, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Tell of each partition whether it is in the transaction of a producer.

        See: T-31, T-34 (TransactionCoordinator.handleVerifyPartitionsInTransaction).
        """
        transaction = self._known(transactional_id)
        if not isinstance(transaction, Transaction):
            return dict.fromkeys(partitions, transaction)
        return rules.verify(transaction, producer, partitions)

    def end(
        self,
        transactional_id: str,
        producer: Producer,
        *,
        is_commit: bool,
        client_version: int,
        now_ms: int,
    ) -> Outcome:
        """Commit or abort.

        Returns:
            NONE without a record when it came again: with what the producer goes on with then.

        Raises:
            BrokerError: a new producer id is needed and cannot be given.

        See: T-46 to T-49 (TransactionCoordinator.handleEndTransaction).
        """
        transaction = self._known(transactional_id)
        if not isinstance(transaction, Transaction):
            return Outcome(transaction)
        decided = rules.end(
            transaction,
            producer,
            is_commit=is_commit,
            client_version=client_version,
            next_producer_id=self._next_producer_id,
            now_ms=now_ms,
        )
        if decided is ErrorCode.NONE:
            return Outcome(producer=_producer(transaction))
        return self._outcome(decided)

    def completed(self, transactional_id: str, now_ms: int) -> Outcome:
        """Note that all markers of a prepared transaction are written.

        See: T-05 (TransactionMarkerChannelManager.writeTxnCompletion).
        """
        transaction = self._transactions[transactional_id]
        return self._outcome(transaction.completed(now_ms=now_ms))

    def _known(self, transactional_id: str) -> Transaction | ErrorCode:
        if not transactional_id:
            return ErrorCode.INVALID_REQUEST
        found = self._transactions.get(transactional_id)
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING if found is None else found

    def _fence(self, transaction: Transaction, now_ms: int) -> Outcome:
        """Abort an open transaction in its producer's stead.

        Rule: T-60.
        See: T-21.
        """
        version = self._transaction_version()
        next_producer_id = NO_PRODUCER_ID
        if version >= EPOCH_BUMP_VERSION and transaction.is_exhausted:
            # without one, the last epoch ends it, and whoever comes next gets another id
            with suppress(BrokerError):
                next_producer_id = self._next_producer_id()
        return self._outcome(
            transaction.fenced(
                server_version=version, next_producer_id=next_producer_id, now_ms=now_ms
            )
        )

    def _outcome(self, decided: Transaction | ErrorCode) -> Outcome:
        if not isinstance(decided, Transaction):
            return Outcome(decided)
        before = self._transactions.get(decided.transactional_id)
        self._put(decided)
        return Outcome(
            before=before,
            producer=_next_producer(decided),
            record=encode(decided, self._transaction_version()),
            ending=_ending(decided) if decided.state in PREPARED else None,
        )

    # -- time

    def next_deadline_ms(self) -> int | None:
        """When on_time() has something to do, None for never."""
        return self._timers.next_deadline_ms()

    def on_time(self, now_ms: int, ids_max: int) -> list[tuple[str, Outcome]]:
        """Abort the transactions that took too long, forget the ids that were idle too long.

        Args:
            now_ms: the time.
            ids_max: how many at once; the others stay due.

        Returns:
            The transactional ids, each with what is to be done.

        Rule: T-60 to T-62, T-64 (TransactionCoordinator.abortTimedOutTransactions,
        TransactionStateManager.removeExpiredTransactionalIds).
        See: T-63.
        """
        outcomes: list[tuple[str, Outcome]] = []
        while (
            len(outcomes) < ids_max
            and (transactional_id := self._timers.pop_due(now_ms)) is not None
        ):
            transaction = self._transactions[transactional_id]
            if transaction.state is ONGOING:
                outcome = self._fence(transaction, now_ms)
            else:
                del self._transactions[transactional_id]
                tombstone = StateRecord(encode_key(transactional_id), None)
                outcome = Outcome(record=tombstone, before=transaction)
            outcomes.append((transactional_id, outcome))
        return outcomes

    def _put(self, transaction: Transaction) -> None:
        transactional_id = transaction.transactional_id
        self._transactions[transactional_id] = transaction
        if transaction.state is ONGOING:
            # one later than the timeout: it may be used up
            self._timers.set(transactional_id, transaction.started_ms + transaction.timeout_ms + 1)
        elif transaction.state in IDLE:
            expiration_ms = self._settings.id_expiration_ms
            self._timers.set(transactional_id, transaction.updated_ms + expiration_ms)
        else:
            self._timers.cancel(transactional_id)

    # -- the state log

    def replay(self, key: bytes, value: bytes | None) -> Ending | None:
        """Take in a record of the state log; what is no transaction's is passed over.

        Returns:
            What a prepared transaction still needs.

        Raises:
            DecodeError: the record cannot be read.
            ValueError: it has a state that there is not.
        """
        transactional_id = decode_key(key)
        if transactional_id is None:
            return None
        if value is None:
            self._forget(transactional_id)
            return None
        transaction = decode_value(transactional_id, value)
        self._put(transaction)
        return _ending(transaction) if transaction.state in PREPARED else None

    def undo(self, transactional_id: str, outcome: Outcome) -> None:
        """Let an event have changed nothing: its record was not written."""
        if outcome.before is None:
            self._forget(transactional_id)
        else:
            self._put(outcome.before)

    def forget(self, is_affected: Callable[[str], bool]) -> None:
        """Forget ids, to replay them; their timers are gone with them."""
        for transactional_id in [*filter(is_affected, self._transactions)]:
            self._forget(transactional_id)

    def _forget(self, transactional_id: str) -> None:
        self._transactions.pop(transactional_id, None)
        self._timers.cancel(transactional_id)


def _producer(transaction: Transaction) -> Producer:
    return transaction.producer_id, transaction.producer_epoch


def _next_producer(transaction: Transaction) -> Producer:
    if transaction.next_producer_id != NO_PRODUCER_ID:
        return transaction.next_producer_id, 0
    return _producer(transaction)


def _ending(transaction: Transaction) -> Ending:
    return Ending(
        transaction.transactional_id,
        _producer(transaction),
        transaction.state is PREPARE_COMMIT,
        transaction.partitions,
        transaction.client_version,
    )
