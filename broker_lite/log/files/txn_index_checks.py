"""Compares the index of aborted transactions with the batches of its segment.

A file may have the right form, but a wrong entry. Then a consumer with read_committed would get
records of aborted transactions. What these checks cannot find is a missing entry at the end.
"""

from collections.abc import Sequence
from typing import Final

from broker_lite.errors import CorruptMessage
from broker_lite.log.files.segment import LogSegment
from broker_lite.log.files.txn_index import AbortedTransaction, CorruptTransactionIndex
from broker_lite.record.batch import RECORD_BATCH_OVERHEAD, RecordBatch

# An index may have a million entries. To check all of them would make a start too slow.
LOOKED_AT_MAX: Final = 1000


def is_true(segments: Sequence[LogSegment], index: int) -> bool:
    """Whether the entries rise, and the newest ones lead to batches of their producers.

    Args:
        segments: all segments of the log.
        index: the position of the segment in this list.

    Raises:
        OSError: a file cannot be read.

    See: S-15, S-16 (TransactionIndex.sanityCheck).
    """
    segment = segments[index]
    transactions = segment.transaction_index
    if not transactions.exists:
        return True
    try:
        transactions.check(segment.base_offset)
        newest = transactions.entries()[-LOOKED_AT_MAX:]
        return not transactions.has_fragment and all(
            _is_entry_true(segments, index, entry) for entry in newest
        )
    except (CorruptTransactionIndex, CorruptMessage):
        return False


def _is_entry_true(segments: Sequence[LogSegment], index: int, entry: AbortedTransaction) -> bool:
    producer_id, first, last, stable = entry
    marker = _batch_at(segments[index], last)
    if marker is None or not marker.is_control or marker.producer_id != producer_id:
        return False
    if not 0 <= stable <= last + 1 or first > last:
        return False
    opened = _batch_of(segments, first)
    return opened is None or (opened.producer_id == producer_id and opened.is_transactional)


def _batch_of(segments: Sequence[LogSegment], offset: int) -> RecordBatch | None:
    """Read the header of the batch that begins at an offset; None if compaction removed it."""
    below = [segment for segment in segments if segment.base_offset <= offset]
    return _batch_at(below[-1], offset) if below else None


def _batch_at(segment: LogSegment, offset: int) -> RecordBatch | None:
    found = segment.find(offset)
    if found is None or found[1] < RECORD_BATCH_OVERHEAD:
        return None
    head = segment.file().read_at(found[0], RECORD_BATCH_OVERHEAD)
    batch = RecordBatch(memoryview(head), 0, len(head))
    return batch if batch.base_offset == offset else None
