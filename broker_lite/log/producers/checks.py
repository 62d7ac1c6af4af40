"""The rules that a producer's batch or marker has to keep, in Kafka's order; they change nothing.

Each function gets the producer's entry and verification entry of this partition, None where there
is none. Kafka sends no text with these errors (V-14); the text is for the broker's own log.
"""

from broker_lite.errors import (
    InvalidProducerEpoch,
    InvalidTxnState,
    OutOfOrderSequenceNumber,
    TransactionCoordinatorFenced,
)
from broker_lite.log.producers.entry import (
    NO_PRODUCER_EPOCH,
    DuplicateBatch,
    ProducerEntry,
    VerificationEntry,
    follows_in_sequence,
    next_sequence,
)
from broker_lite.record.batch import RecordBatch

PRODUCER_EPOCH_MAX = 32767


def find_duplicate(batch: RecordBatch, entry: ProducerEntry | None) -> DuplicateBatch | None:
    """Find a batch of the same epoch with exactly the same first and last sequence.

    Rule: V-54 (ProducerStateEntry.findDuplicateBatch).
    """
    if entry is None:
        return None
    return entry.find_duplicate(batch.producer_epoch, batch.base_sequence, batch.last_sequence)


def check_guard(
    batch: RecordBatch,
    entry: ProducerEntry | None,
    verification: VerificationEntry | None,
    verification_guard: object | None,
) -> None:
    """Refuse the first batch of a transaction unless this request has verified the transaction.

    Raises:
        InvalidTxnState: it has not.

    Rule: V-55 (UnifiedLog.batchMissingRequiredVerification).
    """
    if not batch.is_transactional or batch.is_control:
        return
    if entry is not None and entry.is_in_transaction and entry.epoch == batch.producer_epoch:
        return
    if verification is None or verification.guard is not verification_guard:
        raise InvalidTxnState().because(
            "V-55",
            "producer {producer_id} epoch {producer_epoch} writes in a transaction to which the"
            " partition was not added",
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
        )


def check_epoch(batch: RecordBatch, entry: ProducerEntry | None) -> None:
    """Refuse a batch of an older epoch.

    Raises:
        InvalidProducerEpoch: the batch's epoch is below the known one.

    Rule: V-56 (ProducerAppendInfo.checkProducerEpoch).
    """
    known_epoch = NO_PRODUCER_EPOCH if entry is None else entry.epoch
    if batch.producer_epoch < known_epoch:
        raise _old_epoch("V-56", batch.producer_id, batch.producer_epoch, known_epoch)


def check_sequence(
    batch: RecordBatch, entry: ProducerEntry | None, verification: VerificationEntry | None
) -> None:
    """Refuse a client's batch that does not go on where the last one ended.

    Raises:
        OutOfOrderSequenceNumber: there is a gap, or a new epoch does not begin with 0.

    Rule: V-57 (ProducerAppendInfo.checkSequence).
    """
    first_sequence = batch.base_sequence
    if verification is not None:
        is_new = entry is None or not entry.batches
        if is_new and first_sequence != 0 and verification.supports_epoch_bump:
            raise _wrong_sequence(batch, 0)
        if first_sequence > verification.lowest_sequence:
            raise _wrong_sequence(batch, verification.lowest_sequence)
    if entry is None or entry.epoch == NO_PRODUCER_EPOCH:
        return
    if batch.producer_epoch != entry.epoch:
        if first_sequence != 0:
            raise _wrong_sequence(batch, 0)
    elif not follows_in_sequence(entry.last_sequence, first_sequence):
        raise _wrong_sequence(batch, next_sequence(entry.last_sequence))


def check_plain_batch(batch: RecordBatch, entry: ProducerEntry | None) -> None:
    """Refuse a plain batch while a transaction of its producer is open here.

    Raises:
        InvalidTxnState: a transaction is open.

    Rule: V-58 (ProducerAppendInfo.appendDataBatch).
    """
    if entry is not None and entry.is_in_transaction and not batch.is_transactional:
        raise InvalidTxnState().because(
            "V-58",
            "producer {producer_id} epoch {producer_epoch} writes outside of its transaction, which"
            " is open here since offset {first_offset}",
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            first_offset=entry.transaction_first_offset,
        )


def check_marker(
    entry: ProducerEntry | None,
    producer_epoch: int,
    coordinator_epoch: int,
    transaction_version: int,
) -> None:
    """Refuse an end marker whose epochs are too low.

    With transaction version 2 every marker has a new epoch. The known epoch is refused while the
    transaction is open; after that, it is the same marker once more.

    Raises:
        InvalidProducerEpoch: the epoch is too low.
        TransactionCoordinatorFenced: the coordinator epoch is below the known one.

    See: V-62 (ProducerAppendInfo.checkProducerEpoch, checkCoordinatorEpoch).
    """
    if entry is None:
        return
    producer_id = entry.producer_id
    if producer_epoch < entry.epoch:
        raise _old_epoch("V-62", producer_id, producer_epoch, entry.epoch)
    if (
        transaction_version >= 2
        and producer_epoch == entry.epoch != PRODUCER_EPOCH_MAX
        and entry.is_in_transaction
    ):
        raise _old_epoch("V-62", producer_id, producer_epoch, entry.epoch + 1)
    if coordinator_epoch < entry.coordinator_epoch:
        raise TransactionCoordinatorFenced().because(
            "V-62",
            "a marker for producer {producer_id} of coordinator epoch {coordinator_epoch}, where"
            " {known_epoch} was expected or more",
            producer_id=producer_id,
            coordinator_epoch=coordinator_epoch,
            known_epoch=entry.coordinator_epoch,
        )


def _old_epoch(rule: str, producer_id: int, epoch: int, known_epoch: int) -> InvalidProducerEpoch:
    return InvalidProducerEpoch().because(
        rule,
        "producer {producer_id} writes with epoch {producer_epoch}, where {expected_epoch} was"
        " expected or more: it is fenced",
        producer_id=producer_id,
        producer_epoch=epoch,
        expected_epoch=known_epoch,
    )


def _wrong_sequence(batch: RecordBatch, expected: int) -> OutOfOrderSequenceNumber:
    return OutOfOrderSequenceNumber().because(
        "V-57",
        "sequence {sequence} where {expected_sequence} was expected of producer {producer_id} epoch"
        " {producer_epoch}",
        sequence=batch.base_sequence,
        expected_sequence=expected,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
    )
