"""Compaction of one v2 batch: keeps the records that are the newest of their keys.

Two callers share this code. The broker's cleaner looks keys up in a map that it has just filled. A
job over files that no broker has open finds the newest offsets by other means. Both pass their way
as a Newest.

Rule: S-84, S-85, S-87, R-90, R-91 (Cleaner, MemoryRecords.filterTo).
See: S-86, S-88, R-16.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from broker_lite.errors import InvalidRecord, UnknownServerError
from broker_lite.record.batch import RecordBatch
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.codecs.decompressed import Decompressed
from broker_lite.record.emptied import emptied
from broker_lite.record.loops.compaction import Judgement
from broker_lite.record.loops.key_map import KeyMap
from broker_lite.record.loops.rewrite import RecordRewriter
from broker_lite.record.loops.scan_status import scan_error
from broker_lite.record.records import read_content

_ALL = memoryview(b"")


class LastRecord(NamedTuple):
    """The last record of a producer, as the partition remembers it.

    Attributes:
        last_data_offset: -1 if the producer wrote only a marker with this epoch.
        producer_epoch: the producer's current epoch.

    Rule: S-87 (LastRecord).
    """

    last_data_offset: int
    producer_epoch: int


class Newest(Protocol):
    """Knows which records are the newest of their keys."""

    def may_have_any(self, batch: RecordBatch) -> bool:
        """Whether the batch may hold such a record; if not, it is not even decompressed."""

    def judge(
        self, judgement: Judgement, batch: RecordBatch, data: memoryview, drops_null: bool
    ) -> int:
        """Note in `judgement` which records of a batch stay; return the scan status.

        Args:
            judgement: gets the result.
            batch: the batch.
            data: its records, decompressed.
            drops_null: whether tombstones are removed.
        """


class Round(NamedTuple):
    """Decides which batches and records of a partition stay.

    Attributes:
        can_discard: whether a batch belongs to an aborted transaction, or is a marker whose
            transaction has no data left; must be called once for each batch, in their order.
        newest: knows which records are the newest of their keys.
        last_record: returns the last record of a producer, None for an unknown producer.
        end_offset: the first offset that cannot be cleaned.
        now_ms: the time at which the cleaning began.
        delete_retention_ms: how long tombstones and markers stay after the first cleaning that
            meets them.
    """

    can_discard: Callable[[RecordBatch], bool]
    newest: Newest
    last_record: Callable[[int], LastRecord | None]
    end_offset: int
    now_ms: int
    delete_retention_ms: int


class NewestByKey:
    """Finds the newest records with a map of the keys of a log's dirty part.

    Args:
        keys: newest offset of each key.
        latest_offset: records after this offset are not in `keys`, and stay.
    """

    __slots__ = ("_keys", "_latest_offset")

    def __init__(self, keys: KeyMap, latest_offset: int) -> None:
        self._keys = keys
        self._latest_offset = latest_offset

    def may_have_any(self, batch: RecordBatch) -> bool:
        """Return True unless the batch is empty: keys can only be judged record by record."""
        return batch.record_count != 0

    def judge(
        self, judgement: Judgement, batch: RecordBatch, data: memoryview, drops_null: bool
    ) -> int:
        """Rule: S-84 (Cleaner.shouldRetainRecord)."""
        status: int = judgement.by_key(
            self._keys,
            self._latest_offset,
            drops_null,
            data,
            0,
            len(data),
            batch.record_count,
            batch.base_offset,
        )
        return status


def compacted(batch: RecordBatch, given: Round) -> bytes | memoryview | None:
    """Return what stays of a batch.

    Returns:
        A view of the batch itself if all of it stays; else the bytes of a smaller batch; None if
        nothing stays.

    Raises:
        BrokerError: the records cannot be read, or cannot be written to a new batch.

    Rule: S-84, S-87 (Cleaner.cleanInto, MemoryRecords.filterTo).
    See: S-86.
    """
    can_discard = given.can_discard(batch)
    horizon_ms = batch.delete_horizon_ms
    is_due = horizon_ms is not None and given.now_ms >= horizon_ms
    left: bytes | memoryview | None = None
    if batch.is_control:
        if not (can_discard and is_due) and batch.record_count:
            left = _marker(batch, given, can_discard)
    elif not can_discard and given.newest.may_have_any(batch):
        left = _data(batch, given, is_due)
    return emptied(batch) if left is None and _stays_empty(batch, given) else left


def _marker(batch: RecordBatch, given: Round, is_over: bool) -> bytes | memoryview:
    """Return a marker that stays; add a delete horizon if its transaction has no data left.

    Rule: R-91.
    See: S-86.
    """
    if not is_over or batch.has_delete_horizon:
        return batch.data
    horizon_ms = given.now_ms + given.delete_retention_ms
    return _rebuilt(batch, read_content(batch), _ALL, batch.record_count, horizon_ms)


def _data(batch: RecordBatch, given: Round, is_due: bool) -> bytes | memoryview | None:
    """Rule: S-84, R-90, R-91 (MemoryRecords.filterTo).

    See: S-88.
    """
    content = read_content(batch)
    data, count = memoryview(content.data), batch.record_count
    if not 0 <= count <= len(data):  # checked before memory is allocated for the records
        raise InvalidRecord(f"{count} records in {len(data)} bytes")
    kept = memoryview(bytearray(count))
    judgement = Judgement(kept)
    status = given.newest.judge(judgement, batch, data, is_due)
    error = scan_error(status, compressed=batch.is_compressed, codec_failed=content.failed)
    if error is not None:
        raise error
    if not judgement.kept_count:
        return None
    horizon_ms = batch.delete_horizon_ms
    needs_horizon = horizon_ms is None and judgement.has_kept_null
    if judgement.kept_count == batch.record_count and not needs_horizon:
        return batch.data
    if needs_horizon:
        horizon_ms = given.now_ms + given.delete_retention_ms
    return _rebuilt(batch, content, kept, judgement.kept_count, horizon_ms)


def _rebuilt(
    batch: RecordBatch,
    content: Decompressed,
    kept: memoryview,
    kept_count: int,
    horizon_ms: int | None,
) -> bytes:
    """Return a new batch with some of a batch's records.

    Rule: R-90, R-91 (MemoryRecords.buildRetainedRecordsInto).
    """
    data = memoryview(content.data)
    count = batch.record_count
    rewriter = RecordRewriter(data, 0, len(data), count, kept, False)
    new_base = horizon_ms if horizon_ms is not None else -1
    status = rewriter.measure(
        batch.base_timestamp, batch.is_log_append_time, batch.max_timestamp, new_base
    )
    if status:
        raise UnknownServerError("a timestamp below -1, or offsets that do not rise")
    target = memoryview(bytearray(rewriter.size_bytes))
    rewriter.write(target)
    builder = BatchBuilder.like(batch, delete_horizon_ms=horizon_ms)
    builder.take(
        target,
        record_count=kept_count,
        base_timestamp=rewriter.base_timestamp,
        max_timestamp=rewriter.max_timestamp,
    )
    builder.override_last_offset(batch.last_offset)
    return builder.build()


def _stays_empty(batch: RecordBatch, given: Round) -> bool:
    """Whether a batch must stay even without records.

    It must, if a producer continues from its sequence number or epoch, or if the round ends with
    this batch.

    Rule: S-87 (Cleaner.cleanInto).
    """
    if batch.next_offset == given.end_offset:
        return True
    last = given.last_record(batch.producer_id) if batch.has_producer_id else None
    if last is None:
        return False
    if last.last_data_offset >= 0:
        return batch.last_offset == last.last_data_offset
    return batch.is_control and batch.producer_epoch == last.producer_epoch
