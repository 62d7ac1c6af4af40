"""What a compaction leaves of one v2 batch, whoever says which records are the newest.

A broker asks the map of keys that it has just filled; a job over files that no broker has open asks
for offsets, found by other means. All else is the same, and is here.

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
    """What a partition remembers of a producer.

    Attributes:
        last_data_offset: -1 when only a marker is known of this epoch.

    Rule: S-87 (LastRecord).
    """

    last_data_offset: int
    producer_epoch: int


class Newest(Protocol):
    """Knows which records are the newest of their keys."""

    def may_have_any(self, batch: RecordBatch) -> bool:
        """Whether some record of a batch may be; if not, it is not even decompressed."""

    def judge(
        self, judgement: Judgement, batch: RecordBatch, data: memoryview, drops_null: bool
    ) -> int:
        """Judge the records of a batch, given as plain bytes; give the status of the walk."""


class Round(NamedTuple):
    """What a compaction of a partition goes by.

    Attributes:
        can_discard: whether a batch belongs to an aborted transaction, or is a marker that is over;
            asked once for each batch, in their order.
        newest: which records stay.
        last_record: what is known of a producer, None of one that is not.
        end_offset: the first one that cannot be cleaned.
        now_ms: when it is.
        delete_retention_ms: how long tombstones and markers stay after they were first seen.
    """

    can_discard: Callable[[RecordBatch], bool]
    newest: Newest
    last_record: Callable[[int], LastRecord | None]
    end_offset: int
    now_ms: int
    delete_retention_ms: int


class NewestByKey:
    """The newest records by the keys of a log's dirty part.

    Args:
        keys: newest offset of each key.
        latest_offset: what comes after it was not looked at, and stays.
    """

    __slots__ = ("_keys", "_latest_offset")

    def __init__(self, keys: KeyMap, latest_offset: int) -> None:
        self._keys = keys
        self._latest_offset = latest_offset

    def may_have_any(self, batch: RecordBatch) -> bool:
        """Only the records tell."""
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
    """Give what is left of a batch: itself, as a view, a smaller one, or None.

    Raises:
        BrokerError: its records cannot be read, or would not be written.

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
    """Keep a marker; one that is over gets its horizon first.

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
    if not 0 <= count <= len(data):  # before anything is allocated for them
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
    """Write a batch anew with some of its records.

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
    """Whether a batch without records is still of use.

    It is, if a producer goes on behind its sequence or epoch, or if the round ends with it.

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
