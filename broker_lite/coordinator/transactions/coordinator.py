"""The transaction coordinator: all transactional ids, and every event that concerns them.

An event changes the state in memory and returns the record to write; the response is sent only
after that. If the write fails, the event is undone. If it is not known whether the record was
written, the ids of the record's partition are forgotten and replayed from the log. A transaction
that is ending stays prepared until `completed` is called, after all its markers were written. Until
then other requests get a retriable error.
"""

from collections.abc import Callable, Collection
from contextlib import suppress
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
from broker_lite.coordinator.transactions.settings import TransactionSettings
from broker_lite.coordinator.transactions.terms import Terms
from broker_lite.coordinator.transactions.transaction import (
    EPOCH_BUMP_VERSION,
    IDLE,
    NO_TIMEOUT_MS,
    ONGOING,
    PREPARE_COMMIT,
    PREPARED,
    TopicPartition,
    Transaction,
)
from broker_lite.errors import BrokerError, ErrorCode
from broker_lite.record.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID

NO_PRODUCER: Final = (NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
# a longer id does not fit into a record; Kafka answers with UNKNOWN_SERVER_ERROR, too
_ID_BYTES_MAX: Final = 32767


class Ending(NamedTuple):
    """A prepared transaction, whose end markers have to be written to `partitions`.

    transaction_version decides whether the markers must have a higher epoch than the records.
    """

    transactional_id: str
    producer: Producer
    is_commit: bool
    partitions: frozenset[TopicPartition]
    transaction_version: int


class Outcome(NamedTuple):
    """The result of an event.

    Attributes:
        error: of the response, NONE for success.
        producer: the producer id and epoch for the client to use from now on, both -1 for none.
        record: has to be written first, None for none.
        ending: the markers to write after the record; then `completed` has to be called.
        before: if there is a record, the transaction before the event, for undo().
    """

    error: ErrorCode = ErrorCode.NONE
    producer: Producer = NO_PRODUCER
    record: StateRecord | None = None
    ending: Ending | None = None
    before: Transaction | None = None


class TransactionCoordinator:
    """The transactional ids of a cluster, as a state machine without I/O.

    Rule: T-07 to T-11, T-16, T-17, T-27, T-37, T-38, T-55, T-56, T-60 to T-62, T-64
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
            next_producer_id: returns a producer id that was never used; may raise BrokerError.
            transaction_version: returns the feature's current level, which decides on the version
                of the records and on the epoch after an abort by the coordinator.
        """
        self._settings = settings
        self._next_producer_id = next_producer_id
        self._transaction_version = transaction_version
        self._transactions: dict[str, Transaction] = {}
        # an id has at most one timer: for its transaction's timeout, or for its own expiration
        self._timers: Timers[str] = Timers()

    def get(self, transactional_id: str) -> Transaction | None:
        """Return the transaction of an id, or None if the id is unknown."""
        return self._transactions.get(transactional_id)

    def all(self) -> list[Transaction]:
        """Return the current transactions of all ids."""
        return [*self._transactions.values()]

    # -- requests

    def refused_init(self, transactional_id: str, terms: Terms) -> ErrorCode | None:
        """Return the error of an InitProducerId that does not depend on the id's state, else None.

        See: T-14, T-16, T-69.
        """
        return terms.refusal(transactional_id, self._settings)

    def init_producer_id(
        self, transactional_id: str, terms: Terms, *, expected: Producer | None, now_ms: int
    ) -> Outcome:
        """Assign a producer id and epoch to a producer, and fence the previous producer of the id.

        An open transaction is aborted first; the producer has to retry meanwhile.

        Args:
            transactional_id: of the producer.
            terms: of its transactions.
            expected: the producer id and epoch that it had before, None for a new producer.
            now_ms: the current time.

        Raises:
            BrokerError: there is no new producer id.

        Rule: T-16, T-17, T-27 (TransactionCoordinator.handleInitProducerId).
        See: T-14, T-19 to T-25, T-69.
        """
        refusal = self.refused_init(transactional_id, terms)
        if refusal is not None:
            return Outcome(refusal)
        if len(transactional_id.encode()) > _ID_BYTES_MAX:
            return Outcome(ErrorCode.UNKNOWN_SERVER_ERROR)
        transaction = self._transactions.get(transactional_id)
        if transaction is None:
            transaction = Transaction(
                transactional_id=transactional_id,
                producer_id=self._next_producer_id(),
                timeout_ms=terms.timeout_ms,
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
                timeout_ms=terms.timeout_ms,
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
        """Add partitions to a producer's transaction; the first partitions start it.

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
        """Return for each partition NONE if it is in the producer's transaction, else an error.

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
        """Commit or abort a transaction.

        Returns:
            The outcome. For a repeated request it is NONE without a record, with the producer id
            and epoch for the producer to use.

        Raises:
            BrokerError: a new producer id is needed, and there is none.

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
        """Complete a prepared transaction, after all its markers were written.

        See: T-05 (TransactionMarkerChannelManager.writeTxnCompletion).
        """
        return self._outcome(self._transactions[transactional_id].completed(now_ms=now_ms))

    def _known(self, transactional_id: str) -> Transaction | ErrorCode:
        if not transactional_id:
            return ErrorCode.INVALID_REQUEST
        found = self._transactions.get(transactional_id)
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING if found is None else found

    def _fence(self, transaction: Transaction, now_ms: int) -> Outcome:
        """Abort an open transaction for the coordinator, and fence its producer.

        Rule: T-60.
        See: T-21.
        """
        version = self._transaction_version()
        next_producer_id = NO_PRODUCER_ID
        if version >= EPOCH_BUMP_VERSION and transaction.is_exhausted:
            # without a new id the last epoch ends it, and the next producer gets another id
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
        """Return when on_time() has to be called next, or None for never."""
        return self._timers.next_deadline_ms()

    def on_time(self, now_ms: int, ids_max: int) -> list[tuple[str, Outcome]]:
        """Abort the transactions that have timed out, and remove the ids that were idle too long.

        Args:
            now_ms: the current time.
            ids_max: how many ids to handle now; the others stay due.

        Returns:
            The transactional ids, each with its outcome.

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
        if transaction.state is ONGOING and transaction.timeout_ms == NO_TIMEOUT_MS:
            self._timers.cancel(transactional_id)
        elif transaction.state is ONGOING:
            # 1 ms later, because a transaction may take exactly as long as its timeout
            self._timers.set(transactional_id, transaction.started_ms + transaction.timeout_ms + 1)
        elif transaction.state in IDLE:
            expiration_ms = self._settings.id_expiration_ms
            self._timers.set(transactional_id, transaction.updated_ms + expiration_ms)
        else:
            self._timers.cancel(transactional_id)

    # -- the state log

    def replay(self, key: bytes, value: bytes | None) -> Ending | None:
        """Apply a record of the state log; records of other types are skipped.

        Returns:
            The markers to write if the transaction is prepared, otherwise None.

        Raises:
            DecodeError: the record cannot be read.
            ValueError: its state is unknown.
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
        """Undo the change of an event, because its record was not written."""
        if outcome.before is None:
            self._forget(transactional_id)
        else:
            self._put(outcome.before)

    def hold(self, transactional_id: str, *, is_held: bool) -> None:
        """Stop the timer of an id while its record is not replicated, or start it again.

        See: C-73.
        """
        if is_held:
            self._timers.cancel(transactional_id)
        elif transactional_id in self._transactions:
            self._put(self._transactions[transactional_id])

    def forget(self, is_affected: Callable[[str], bool]) -> None:
        """Forget the ids for which `is_affected` is true, with their timers, to replay them."""
        for transactional_id in [*filter(is_affected, self._transactions)]:
            self._forget(transactional_id)

    def _forget(self, transactional_id: str) -> None:
        self._transactions.pop(transactional_id, None)
        self._timers.cancel(transactional_id)


def _producer(transaction: Transaction) -> Producer:
    return transaction.producer_id, transaction.producer_epoch


def _next_producer(transaction: Transaction) -> Producer:
    next_id = transaction.next_producer_id
    return _producer(transaction) if next_id == NO_PRODUCER_ID else (next_id, 0)


def _ending(transaction: Transaction) -> Ending:
    return Ending(
        transaction.transactional_id,
        _producer(transaction),
        transaction.state is PREPARE_COMMIT,
        transaction.partitions,
        transaction.client_version,
    )
