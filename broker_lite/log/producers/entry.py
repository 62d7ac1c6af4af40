"""What a partition remembers of one producer: plain values, and the arithmetic of sequences.

A sequence counts a producer's records on one partition, from 0 to 2147483647 and then from 0 again.
The newest five batches of each producer are kept, to recognise a batch that is sent again.
"""

from enum import IntEnum
from typing import Final, NamedTuple

SEQUENCE_MAX: Final = 2147483647
CACHED_BATCHES_MAX: Final = 5
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_OFFSET: Final = -1
NO_COORDINATOR_EPOCH: Final = -1


class AppendOrigin(IntEnum):
    """Who wrote the records of an append; that decides which checks are made.

    Rule: V-80 (AppendOrigin).
    """

    CLIENT = 0
    COORDINATOR = 1
    REPLICATION = 2


class BatchMetadata(NamedTuple):
    """One of a producer's newest batches."""

    first_sequence: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_offset(self) -> int:
        """The base offset of the batch."""
        return self.last_offset - self.offset_delta


class DuplicateBatch(NamedTuple):
    """Where a batch that was sent again was written before; timestamp_ms is its max timestamp.

    See: V-54 (ProducerStateEntry.findDuplicateBatch).
    """

    base_offset: int
    last_offset: int
    timestamp_ms: int


class CompletedTransaction(NamedTuple):
    """A transaction whose end marker was written at last_offset.

    See: V-62 (CompletedTxn).
    """

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


class ActiveProducer(NamedTuple):
    """A producer as DescribeProducers shows it; -1 stands for none.

    See: P-143 (DescribeProducers).
    """

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp_ms: int
    coordinator_epoch: int
    current_transaction_first_offset: int


class VerificationEntry:
    """A producer about whose transaction the coordinator is asked before its first batch here.

    See: V-61 (VerificationStateEntry).
    """

    __slots__ = ("epoch", "guard", "lowest_sequence", "supports_epoch_bump", "timestamp_ms")

    def __init__(
        self, *, timestamp_ms: int, sequence: int, epoch: int, supports_epoch_bump: bool
    ) -> None:
        self.guard = object()
        self.timestamp_ms = timestamp_ms
        self.lowest_sequence = sequence
        self.epoch = epoch
        self.supports_epoch_bump = supports_epoch_bump

    def note(self, sequence: int, epoch: int) -> None:
        """Note a batch: keep the lowest sequence of the epoch; a higher epoch begins anew."""
        if epoch > self.epoch:
            self.epoch = epoch
            self.lowest_sequence = sequence
        elif epoch == self.epoch and sequence < self.lowest_sequence:
            self.lowest_sequence = sequence


class ProducerEntry:
    """The state of one producer on one partition; mutable, owned by its ProducerStateManager."""

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "epoch",
        "last_sequence",
        "last_timestamp_ms",
        "producer_id",
        "transaction_first_offset",
    )

    def __init__(
        self,
        producer_id: int,
        *,
        epoch: int = NO_PRODUCER_EPOCH,
        coordinator_epoch: int = NO_COORDINATOR_EPOCH,
        last_timestamp_ms: int = -1,
        transaction_first_offset: int = NO_OFFSET,
    ) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp_ms = last_timestamp_ms
        self.transaction_first_offset = transaction_first_offset
        self.batches: list[BatchMetadata] = []
        # A copy of batches[-1].last_sequence, so that the usual check is one comparison.
        self.last_sequence = NO_SEQUENCE

    @property
    def is_in_transaction(self) -> bool:
        """True while a transaction of the producer is open on this partition."""
        return self.transaction_first_offset >= 0

    def move_to_epoch(self, epoch: int) -> None:
        """Take the epoch of a batch or marker, and forget the batches of any other epoch."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.batches.clear()
            self.last_sequence = NO_SEQUENCE

    def add_batch(self, batch: BatchMetadata) -> None:
        """Remember a batch as the newest, and forget the oldest of six.

        See: V-59 (ProducerStateEntry.addBatch).
        """
        batches = self.batches
        batches.append(batch)
        if len(batches) > CACHED_BATCHES_MAX:
            del batches[0]
        self.last_sequence = batch.last_sequence
        self.last_timestamp_ms = batch.timestamp

    def find_duplicate(
        self, epoch: int, first_sequence: int, last_sequence: int
    ) -> DuplicateBatch | None:
        """Find a cached batch of this epoch with exactly these first and last sequences.

        See: V-54 (ProducerStateEntry.findDuplicateBatch).
        """
        if epoch != self.epoch:
            return None
        for batch in self.batches:
            if batch.first_sequence == first_sequence and batch.last_sequence == last_sequence:
                return DuplicateBatch(batch.first_offset, batch.last_offset, batch.timestamp)
        return None

    def describe(self) -> ActiveProducer:
        """Show the entry as DescribeProducers does."""
        return ActiveProducer(
            self.producer_id,
            self.epoch,
            self.last_sequence,
            self.last_timestamp_ms,
            self.coordinator_epoch,
            self.transaction_first_offset,
        )


def decrement_sequence(sequence: int, count: int) -> int:
    """Go back by count (0 to 2147483647); the sequence before 0 is 2147483647.

    See: R-14 (DefaultRecordBatch.decrementSequence).
    """
    if sequence < count:
        return SEQUENCE_MAX - (count - sequence) + 1
    return sequence - count


def follows_in_sequence(last_sequence: int, sequence: int) -> bool:
    """Tell whether a batch may begin with a sequence after last_sequence.

    See: V-57row 4 (ProducerAppendInfo.inSequence).
    """
    return sequence == next_sequence(last_sequence)


def next_sequence(last_sequence: int) -> int:
    """Give the sequence after another one; 0 follows the largest."""
    return 0 if last_sequence == SEQUENCE_MAX else last_sequence + 1
