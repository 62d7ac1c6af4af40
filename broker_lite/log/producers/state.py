"""The producers of one partition: duplicates, sequences, open transactions, the last stable offset.

An append calls check() before the write and apply() after it. check() changes nothing; it raises,
or finds a duplicate. apply() changes the state and cannot fail. For markers there are
check_marker() and apply_marker(). Recovery replays the batches of the file without any check.

An empty instance holds four references, because a broker has many partitions without producers.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from broker_lite.log.producers.checks import (
    check_epoch,
    check_guard,
    check_marker,
    check_plain_batch,
    check_sequence,
    find_duplicate,
)
from broker_lite.log.producers.entry import (
    NO_OFFSET,
    NO_PRODUCER_EPOCH,
    ActiveProducer,
    AppendOrigin,
    BatchMetadata,
    CompletedTransaction,
    DuplicateBatch,
    ProducerEntry,
    VerificationEntry,
)
from broker_lite.log.producers.snapshot import decode_snapshot, encode_snapshot
from broker_lite.record.batch import RecordBatch
from broker_lite.record.control import EndTransactionMarker, read_end_transaction_marker

# Names of the module, because to look up a member of an enum on each append is slower.
CLIENT: Final = AppendOrigin.CLIENT
REPLICATION: Final = AppendOrigin.REPLICATION


class ProducerStateManager:
    """The producer state of one partition.

    Rule: V-59, V-61 to V-65 (ProducerStateManager, ProducerAppendInfo).
    See: V-54 to V-58, V-60.
    """

    __slots__ = ("_ongoing", "_producers", "_unreplicated", "_verification")

    def __init__(self) -> None:
        self._producers: dict[int, ProducerEntry] | None = None
        # First offsets of open transactions, in their order, so that the first one is the lowest.
        self._ongoing: dict[int, None] | None = None
        # First offset -> marker offset, of transactions whose marker is not below the high
        # watermark.
        self._unreplicated: dict[int, int] | None = None
        self._verification: dict[int, VerificationEntry] | None = None

    def __len__(self) -> int:
        return len(self._producers) if self._producers is not None else 0

    def __iter__(self) -> Iterator[ProducerEntry]:
        return iter(self._producers.values() if self._producers is not None else ())

    def get(self, producer_id: int) -> ProducerEntry | None:
        """Give the entry of a producer, None if it is unknown here."""
        return self._producers.get(producer_id) if self._producers is not None else None

    def describe(self) -> list[ActiveProducer]:
        """List all producers as DescribeProducers shows them.

        See: P-143 (DescribeProducers).
        """
        return [entry.describe() for entry in self]

    # -- batches

    def check(
        self,
        batch: RecordBatch,
        origin: AppendOrigin = CLIENT,
        *,
        verification_enabled: bool = False,
        verification_guard: object | None = None,
    ) -> DuplicateBatch | None:
        """Decide whether a data batch may be appended; changes nothing.

        Args:
            batch: validated; its base offset does not matter.
            origin: every replicated batch may be appended; markers have check_marker().
            verification_enabled: the first batch of a transaction needs the verification's guard.
            verification_guard: of the verification that this request has begun, None without one.

        Returns:
            Where a duplicate was written before; None if the batch is to be appended.

        Raises:
            InvalidTxnState: the transaction is not verified; or a plain batch comes inside an open
                transaction.
            InvalidProducerEpoch: the epoch is below the known one.
            OutOfOrderSequenceNumber: there is a gap, or a new epoch does not begin with 0.

        See: V-54 to V-58 (UnifiedLog.analyzeAndValidateProducerState, ProducerAppendInfo).
        """
        producer_id = batch.producer_id
        if producer_id < 0:
            return None
        entry = self._producers.get(producer_id) if self._producers is not None else None
        if (
            entry is not None
            and batch.base_sequence == entry.last_sequence + 1
            and batch.producer_epoch == entry.epoch != NO_PRODUCER_EPOCH
            and batch.is_transactional == (entry.transaction_first_offset >= 0)
            and self._verification is None
            and origin is CLIENT
        ):
            # The batch is the next one in order, so it cannot be a duplicate within its epoch.
            return None
        if origin is REPLICATION:
            return None
        if origin is CLIENT and (duplicate := find_duplicate(batch, entry)) is not None:
            return duplicate
        verification = self.verification(producer_id)
        if verification_enabled:
            check_guard(batch, entry, verification, verification_guard)
        check_epoch(batch, entry)
        if origin is CLIENT:
            check_sequence(batch, entry, verification)
        check_plain_batch(batch, entry)
        return None

    def apply(self, batch: RecordBatch, base_offset: int) -> None:
        """Note a batch that was written at base_offset.

        Rule: V-59 (ProducerStateManager.update).
        """
        producer_id = batch.producer_id
        if producer_id < 0:
            return
        entry = self._entry(producer_id)
        if batch.producer_epoch != entry.epoch:
            entry.move_to_epoch(batch.producer_epoch)
        delta = batch.last_offset_delta
        entry.add_batch(
            BatchMetadata(
                batch.base_sequence,
                batch.last_sequence,
                base_offset + delta,
                delta,
                batch.max_timestamp,
            )
        )
        if batch.is_transactional:
            self._note_transactional(entry, base_offset)

    def _note_transactional(self, entry: ProducerEntry, base_offset: int) -> None:
        if not entry.is_in_transaction:
            entry.transaction_first_offset = base_offset
            if self._ongoing is None:
                self._ongoing = {}
            self._ongoing[base_offset] = None
        self._forget_verification(entry.producer_id)

    def _entry(self, producer_id: int) -> ProducerEntry:
        if self._producers is None:
            self._producers = {}
        entry = self._producers.get(producer_id)
        if entry is None:
            entry = self._producers[producer_id] = ProducerEntry(producer_id)
        return entry

    # -- verification of transactions

    def verification(self, producer_id: int) -> VerificationEntry | None:
        """Give the verification entry of a producer, None if nothing is being verified."""
        return self._verification.get(producer_id) if self._verification is not None else None

    def begin_verification(
        self,
        producer_id: int,
        *,
        sequence: int,
        epoch: int,
        now_ms: int,
        supports_epoch_bump: bool = False,
    ) -> VerificationEntry:
        """Make or reuse the verification entry of a producer.

        Rule: V-61 (ProducerStateManager.maybeCreateVerificationStateEntry).
        """
        if self._verification is None:
            self._verification = {}
        entry = self._verification.get(producer_id)
        if entry is None:
            entry = self._verification[producer_id] = VerificationEntry(
                timestamp_ms=now_ms,
                sequence=sequence,
                epoch=epoch,
                supports_epoch_bump=supports_epoch_bump,
            )
        else:
            entry.note(sequence, epoch)
        return entry

    def _forget_verification(self, producer_id: int) -> None:
        if self._verification is not None:
            self._verification.pop(producer_id, None)
            if not self._verification:
                self._verification = None

    # -- end markers

    def check_marker(
        self,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        *,
        transaction_version: int = 0,
    ) -> None:
        """Decide whether an end marker may be written; changes nothing.

        Raises:
            InvalidProducerEpoch: the epoch is too low.
            TransactionCoordinatorFenced: the coordinator epoch is below the known one.

        Rule: V-62 (ProducerAppendInfo.appendEndTxnMarker).
        """
        check_marker(self.get(producer_id), producer_epoch, coordinator_epoch, transaction_version)

    def apply_marker(
        self,
        producer_id: int,
        producer_epoch: int,
        marker: EndTransactionMarker,
        *,
        offset: int,
        timestamp_ms: int,
    ) -> CompletedTransaction | None:
        """Note an end marker that was written at offset.

        Returns:
            The transaction that it ended, None if none was open here.

        Rule: V-62 (ProducerAppendInfo.appendEndTxnMarker, ProducerStateManager.completeTxn).
        """
        entry = self._entry(producer_id)
        entry.move_to_epoch(producer_epoch)
        entry.coordinator_epoch = marker.coordinator_epoch
        entry.last_timestamp_ms = timestamp_ms
        first_offset = entry.transaction_first_offset
        entry.transaction_first_offset = NO_OFFSET
        self._forget_verification(producer_id)
        if first_offset < 0:
            return None
        assert self._ongoing is not None, "an open transaction is always among the ongoing"
        del self._ongoing[first_offset]
        if self._unreplicated is None:
            self._unreplicated = {}
        self._unreplicated[first_offset] = offset
        return CompletedTransaction(producer_id, first_offset, offset, not marker.is_commit)

    # -- offsets

    @property
    def first_unstable_offset(self) -> int | None:
        """The first offset of a transaction that has no marker below the high watermark.

        Rule: V-64 (ProducerStateManager.firstUnstableOffset).
        """
        first = next(iter(self._ongoing)) if self._ongoing else None
        if self._unreplicated:
            undecided = min(self._unreplicated)
            return undecided if first is None else min(first, undecided)
        return first

    def last_stable_offset(self, high_watermark: int) -> int:
        """The offset that readers of committed records may not reach.

        Rule: V-64 (UnifiedLog.lastStableOffset).
        """
        if not self._ongoing and not self._unreplicated:
            return high_watermark
        first_unstable = self.first_unstable_offset
        if first_unstable is not None and first_unstable < high_watermark:
            return first_unstable
        return high_watermark

    def last_stable_offset_after(self, completed: CompletedTransaction) -> int:
        """Give the last stable offset that the transaction index stores for a transaction.

        Args:
            completed: the result of the last apply_marker() or replay().

        See: S-16 (ProducerStateManager.lastStableOffset).
        """
        return next(iter(self._ongoing)) if self._ongoing else completed.last_offset + 1

    def high_watermark_moved(self, high_watermark: int) -> None:
        """Forget the completed transactions whose marker is now below the high watermark.

        Rule: V-64 (ProducerStateManager.onHighWatermarkUpdated).
        """
        if self._unreplicated is not None:
            left = {f: m for f, m in self._unreplicated.items() if m >= high_watermark}
            self._unreplicated = left or None

    def expire(self, now_ms: int, expiration_ms: int) -> list[int]:
        """Forget producers that wrote nothing for expiration_ms and have no open transaction.

        Returns:
            The ids of the forgotten producers.

        Rule: V-65 (ProducerStateManager.removeExpiredProducers).
        """
        dropped = [e.producer_id for e in self if _is_expired(e, now_ms, expiration_ms)]
        if self._producers is not None:
            for producer_id in dropped:
                del self._producers[producer_id]
            if not self._producers:
                self._producers = None
        for producer_id, verification in list((self._verification or {}).items()):
            if now_ms - verification.timestamp_ms >= expiration_ms:
                self._forget_verification(producer_id)
        return dropped

    # -- recovery

    def replay(self, batch: RecordBatch) -> CompletedTransaction | None:
        """Note a batch of the log file, data or marker, without any check.

        Returns:
            The transaction that the marker ended, None if the batch ended none.

        See: S-43 (LogSegment.updateProducerState).
        """
        if batch.producer_id < 0:
            return None
        if not batch.is_control:
            self.apply(batch, batch.base_offset)
            return None
        marker = read_end_transaction_marker(batch)
        if marker is None:
            return None
        return self.apply_marker(
            batch.producer_id,
            batch.producer_epoch,
            marker,
            offset=batch.base_offset,
            timestamp_ms=batch.max_timestamp,
        )

    def clear(self) -> None:
        """Forget everything except the verifications."""
        self._producers = self._ongoing = self._unreplicated = None

    def to_snapshot(self) -> bytes:
        """Make the content of a .snapshot file.

        See: S-17 (ProducerStateManager.writeSnapshot).
        """
        return encode_snapshot(self)

    def load_snapshot(self, data: bytes, now_ms: int, expiration_ms: int) -> None:
        """Replace the state by that of a snapshot, without expired producers.

        Raises:
            CorruptSnapshot: the data cannot be read; the state is as before.

        See: S-17 (ProducerStateManager.loadFromSnapshot).
        """
        self.load(decode_snapshot(data), now_ms, expiration_ms)

    def load(self, entries: Iterable[ProducerEntry], now_ms: int, expiration_ms: int) -> None:
        """Replace the state by these entries, without expired ones."""
        kept = [entry for entry in entries if not _is_expired(entry, now_ms, expiration_ms)]
        self.clear()
        if kept:
            self._producers = {entry.producer_id: entry for entry in kept}
        ongoing = sorted(e.transaction_first_offset for e in kept if e.is_in_transaction)
        if ongoing:
            self._ongoing = dict.fromkeys(ongoing)


def _is_expired(entry: ProducerEntry, now_ms: int, expiration_ms: int) -> bool:
    return not entry.is_in_transaction and now_ms - entry.last_timestamp_ms >= expiration_ms
