"""How a transaction handles the requests of its producer, with Kafka's order of checks.

Every function takes a transaction and returns the changed transaction, or the error to answer the
request with. The given transaction is not modified.
"""

from collections.abc import Callable, Collection
from typing import Final, TypeAlias

from broker_lite.coordinator.transactions.transaction import (
    CLIENT_EPOCH_MAX,
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    EMPTY,
    EPOCH_BUMP_VERSION,
    EPOCH_MAX,
    IDLE,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    PREPARED,
    TopicPartition,
    Transaction,
    is_exhausted,
)
from broker_lite.errors import ErrorCode
from broker_lite.record.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID

Producer: TypeAlias = tuple[int, int]
"""Producer id and epoch."""

_NONE: Final = ErrorCode.NONE
_INVALID_TXN_STATE: Final = ErrorCode.INVALID_TXN_STATE
_INVALID_PRODUCER_ID_MAPPING: Final = ErrorCode.INVALID_PRODUCER_ID_MAPPING
_CONCURRENT_TRANSACTIONS: Final = ErrorCode.CONCURRENT_TRANSACTIONS
_PRODUCER_FENCED: Final = ErrorCode.PRODUCER_FENCED


def initialise(
    transaction: Transaction,
    expected: Producer | None,
    *,
    timeout_ms: int,
    next_producer_id: Callable[[], int],
    now_ms: int,
) -> Transaction | ErrorCode:
    """Assign the transactional id to a producer; the caller has to abort an open transaction first.

    Args:
        transaction: in any state except Ongoing.
        expected: the producer id and epoch before, None for a new producer.
        timeout_ms: of its transactions.
        next_producer_id: returns a new producer id.
        now_ms: the current time.

    Rule: T-19 to T-21 (TransactionCoordinator.prepareInitProducerIdTransit).
    See: T-22 to T-25.
    """
    refusal = refused_producer(transaction, expected)
    if refusal is not None:
        return refusal
    if expected is None:
        last_epoch = NO_PRODUCER_EPOCH
    elif expected[1] == transaction.producer_epoch or _is_new(transaction):
        last_epoch = transaction.producer_epoch
    elif expected[1] == transaction.last_producer_epoch:
        if transaction.producer_epoch < EPOCH_MAX:
            return transaction.repeated(timeout_ms=timeout_ms, now_ms=now_ms)
        # a fence used the last epoch: a client with it could never be fenced (Kafka fails here)
        last_epoch = transaction.last_producer_epoch
    else:
        return _PRODUCER_FENCED
    if transaction.is_exhausted:
        return transaction.rotated(
            next_producer_id(), timeout_ms=timeout_ms, last_epoch=last_epoch, now_ms=now_ms
        )
    return transaction.incremented(timeout_ms=timeout_ms, last_epoch=last_epoch, now_ms=now_ms)


def refused_producer(transaction: Transaction, expected: Producer | None) -> ErrorCode | None:
    """Return the error if a producer may not get the id now, None if it may.

    Rule: T-19, T-20.
    """
    if expected is not None and not _is_known(transaction, expected):
        return _PRODUCER_FENCED
    return _CONCURRENT_TRANSACTIONS if transaction.state in PREPARED else None


def _is_known(transaction: Transaction, expected: Producer) -> bool:
    producer_id, producer_epoch = expected
    return (
        _is_new(transaction)
        or producer_id == transaction.producer_id
        or (producer_id == transaction.previous_producer_id and is_exhausted(producer_epoch))
    )


def _is_new(transaction: Transaction) -> bool:
    return transaction.producer_epoch == NO_PRODUCER_EPOCH


def add(
    transaction: Transaction,
    producer: Producer,
    partitions: Collection[TopicPartition],
    *,
    client_version: int,
    now_ms: int,
) -> Transaction | ErrorCode:
    """Add partitions; returns NONE if the transaction has all of them already.

    Rule: T-29 (TransactionCoordinator.handleAddPartitionsToTransaction).
    """
    refusal = _refused_access(transaction, producer)
    if refusal is not None:
        return refusal
    if transaction.state is ONGOING and transaction.partitions.issuperset(partitions):
        return _NONE
    return transaction.added(partitions, client_version=client_version, now_ms=now_ms)


def verify(
    transaction: Transaction, producer: Producer, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, ErrorCode]:
    """Return for each partition NONE if it is in the transaction, else an error.

    Rule: T-31 (TransactionCoordinator.handleVerifyPartitionsInTransaction).
    """
    refusal = _refused_access(transaction, producer)
    if refusal is not None:
        return dict.fromkeys(partitions, refusal)
    return {
        partition: _NONE if partition in transaction.partitions else ErrorCode.TRANSACTION_ABORTABLE
        for partition in partitions
    }


def _refused_access(transaction: Transaction, producer: Producer) -> ErrorCode | None:
    producer_id, producer_epoch = producer
    if producer_id != transaction.producer_id:
        return _INVALID_PRODUCER_ID_MAPPING
    if producer_epoch != transaction.producer_epoch:
        return _PRODUCER_FENCED
    return _CONCURRENT_TRANSACTIONS if transaction.state in PREPARED else None


def end(
    transaction: Transaction,
    producer: Producer,
    *,
    is_commit: bool,
    client_version: int,
    next_producer_id: Callable[[], int],
    now_ms: int,
) -> Transaction | ErrorCode:
    """Prepare the commit or abort of a transaction; returns NONE if it has ended so already.

    Rule: T-46 to T-48 (TransactionCoordinator.endTransaction).
    See: T-49.
    """
    bumps_epoch = client_version >= EPOCH_BUMP_VERSION
    refused = _refused_end_with_bump if bumps_epoch else _refused_end
    refusal = refused(transaction, producer, is_commit)
    if refusal is not None:
        return refusal
    needs_id = bumps_epoch and transaction.is_exhausted
    return transaction.ending(
        is_commit=is_commit,
        client_version=client_version,
        next_producer_id=next_producer_id() if needs_id else NO_PRODUCER_ID,
        now_ms=now_ms,
    )


def _refused_end(transaction: Transaction, producer: Producer, is_commit: bool) -> ErrorCode | None:
    """Rule: T-47 (TransactionCoordinator.endTransactionWithTV1)."""
    producer_id, producer_epoch = producer
    state = transaction.state
    if producer_id != transaction.producer_id:
        return _INVALID_PRODUCER_ID_MAPPING
    if producer_epoch != transaction.producer_epoch:
        return _PRODUCER_FENCED
    if state is ONGOING:
        return None
    if state is (COMPLETE_COMMIT if is_commit else COMPLETE_ABORT):
        return _NONE
    return _refused_while_ending(transaction, is_commit)


def _refused_end_with_bump(
    transaction: Transaction, producer: Producer, is_commit: bool
) -> ErrorCode | None:
    """Rule: T-48 (TransactionCoordinator.endTransaction)."""
    producer_id, producer_epoch = producer
    state = transaction.state
    overflowed = (
        transaction.previous_producer_id == producer_id
        and producer_epoch == CLIENT_EPOCH_MAX
        and transaction.producer_epoch == 0
    )
    is_retry = overflowed or transaction.producer_epoch == producer_epoch + 1
    if producer_id != transaction.producer_id and not overflowed:
        return _INVALID_PRODUCER_ID_MAPPING
    if not _is_valid_epoch(transaction, producer_epoch, overflowed):
        return _PRODUCER_FENCED
    if state is ONGOING:
        return None
    if state in IDLE and is_retry:
        return (
            _NONE
            if state is (COMPLETE_COMMIT if is_commit else COMPLETE_ABORT)
            else (_INVALID_TXN_STATE)
        )
    if state in IDLE and not is_commit:
        return None  # there is nothing to abort, but the epoch has to be raised
    return _refused_while_ending(transaction, is_commit)


def _is_valid_epoch(transaction: Transaction, producer_epoch: int, overflowed: bool) -> bool:
    bumped = transaction.producer_epoch == producer_epoch + 1
    equal = transaction.producer_epoch == producer_epoch
    if transaction.state in PREPARED:
        return bumped
    if transaction.state in (EMPTY, ONGOING):
        return equal
    return bumped or overflowed or equal


def _refused_while_ending(transaction: Transaction, is_commit: bool) -> ErrorCode:
    if transaction.state is (PREPARE_COMMIT if is_commit else PREPARE_ABORT):
        return _CONCURRENT_TRANSACTIONS
    return _INVALID_TXN_STATE
