"""Finds the batches that compaction may discard: data of aborted transactions, and their markers.

Rule: S-86 (CleanedTransactionMetadata).
"""

from collections.abc import Callable, Iterable

from broker_lite.log.files.txn_index import AbortedTransaction
from broker_lite.record.batch import RecordBatch
from broker_lite.record.control import ControlType, decode_control_key
from broker_lite.record.records import iterate_records


class CleanedTransactions:
    """Follows the transactions of a log through its batches, which must come in order.

    A marker is of no use any more once its transaction has no data left in the log.

    Args:
        aborted: from the indexes, all aborted transactions that have data or their marker in these
            batches.
        keep: called with each aborted transaction that has data in these batches, so that the
            caller can list it in the new segment's index.
    """

    __slots__ = ("_aborted", "_committed", "_keep", "_ongoing")

    def __init__(
        self, aborted: Iterable[AbortedTransaction], keep: Callable[[AbortedTransaction], None]
    ) -> None:
        # Sorted in reverse, because pop() takes the next transaction from the end.
        self._aborted = sorted(aborted, key=lambda each: each.first_offset, reverse=True)
        self._keep = keep
        # By producer id: its open aborted transaction, and whether a batch of its data was seen.
        self._ongoing: dict[int, tuple[AbortedTransaction, bool]] = {}
        self._committed: set[int] = set()

    def can_discard(self, batch: RecordBatch) -> bool:
        """Whether a batch, data or marker, may be discarded.

        Raises:
            InvalidRecord: a marker cannot be read.

        Rule: S-86 (Cleaner.shouldDiscardBatch).
        """
        while self._aborted and self._aborted[-1].first_offset <= batch.last_offset:
            one = self._aborted.pop()
            self._ongoing.setdefault(one.producer_id, (one, False))
        if batch.is_control:
            return self._is_over(batch)
        if not batch.is_transactional:
            return False
        found = self._ongoing.get(batch.producer_id)
        if found is None:
            self._committed.add(batch.producer_id)
            return False
        self._ongoing[batch.producer_id] = found[0], True
        return True

    def _is_over(self, marker: RecordBatch) -> bool:
        """Whether a marker's transaction has no data left.

        An empty batch counts, because only a marker without data is emptied.
        """
        record = next(iterate_records(marker), None)
        if record is None:
            return True
        control_type = decode_control_key(record.key)
        producer_id = marker.producer_id
        if control_type is ControlType.COMMIT:
            has_data = producer_id in self._committed
            self._committed.discard(producer_id)
            return not has_data
        if control_type is not ControlType.ABORT:
            return False
        found = self._ongoing.pop(producer_id, None)
        if found is None or not found[1]:
            return True
        self._keep(found[0])
        return False
