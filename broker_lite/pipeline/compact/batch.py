"""What a compaction leaves of one batch: the rules of Kafka's cleaner, but for magic 0 and 1.

Rule: S-84 to S-88, R-16, R-90, R-91 (Cleaner, MemoryRecords.filterTo).
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from broker_lite.log.producer_entry import ProducerEntry
from broker_lite.pipeline.compact.survivors import OffsetSet
from broker_lite.pipeline.read.transactions import AbortedRanges
from broker_lite.record.batch import (
    ATTRIBUTES_OFFSET,
    CODEC_MASK,
    DELETE_HORIZON_FLAG,
    HEADER,
    LOG_OVERHEAD,
    NO_TIMESTAMP,
    RECORD_BATCH_OVERHEAD,
    RecordBatch,
)
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.crc import crc32c
from broker_lite.record.records import Record, iterate_records

_CRC_POSITION: Final = 17


class Round(NamedTuple):
    """What a compaction of a partition goes by.

    Attributes:
        survivors: offsets of the newest record of each key, tombstones too, within the round.
        emptied_markers: offsets of the markers whose transactions have no data batch in it.
        aborted: transactions whose records go.
        producers: those that a broker still knows.
        end_offset: of the round: what lies behind is not touched.
        now_ms: when it is.
        delete_retention_ms: how long tombstones and markers stay after they were first seen.
    """

    survivors: OffsetSet
    emptied_markers: OffsetSet
    aborted: AbortedRanges
    producers: Mapping[int, ProducerEntry]
    end_offset: int
    now_ms: int
    delete_retention_ms: int


def compacted(batch: RecordBatch, given: Round) -> bytes | memoryview | None:
    """Give what is left of a batch: itself, as a view, a smaller one, or None.

    Raises:
        BrokerError: its records cannot be read.
    """
    is_emptied_marker = batch.is_control and (
        batch.record_count == 0 or batch.base_offset in given.emptied_markers
    )
    kept = _kept_records(batch, given, is_emptied_marker)
    if not kept:
        return _empty(batch) if _stays_empty(batch, given) else None
    has_null = any(record.value is None for record in kept)
    needs_horizon = not batch.has_delete_horizon and (has_null or is_emptied_marker)
    if len(kept) == batch.record_count and not needs_horizon:
        return batch.data
    horizon_ms = batch.delete_horizon_ms
    if needs_horizon:
        horizon_ms = given.now_ms + given.delete_retention_ms
    return _rebuilt(batch, kept, horizon_ms)


def _kept_records(batch: RecordBatch, given: Round, is_emptied_marker: bool) -> list[Record]:
    """Rule: S-84, S-86 (Cleaner.shouldRetainRecord, shouldDiscardBatch)."""
    horizon_ms = batch.delete_horizon_ms
    is_due = horizon_ms is not None and given.now_ms >= horizon_ms
    if batch.is_control:
        return [] if is_emptied_marker and is_due else list(iterate_records(batch))
    if given.aborted.hides(batch):
        return []
    if not given.survivors.has_any(batch.base_offset, batch.last_offset):
        return []  # nothing has to be decompressed
    return [
        record
        for record in iterate_records(batch)
        if record.offset in given.survivors and not (is_due and record.value is None)
    ]


def _stays_empty(batch: RecordBatch, given: Round) -> bool:
    """Whether a batch without records is still of use.

    It is, if a producer goes on behind its sequence or epoch, or if the round ends with it.

    Rule: S-87 (Cleaner.cleanInto).
    """
    if batch.next_offset == given.end_offset:
        return True
    entry = given.producers.get(batch.producer_id) if batch.has_producer_id else None
    if entry is None:
        return False
    if entry.batches:
        return bool(batch.last_offset == entry.batches[-1].last_offset)
    return batch.is_control and batch.producer_epoch == entry.epoch


def _rebuilt(batch: RecordBatch, kept: list[Record], horizon_ms: int | None) -> bytes:
    """Write a batch anew with some of its records.

    Rule: R-90, R-91 (MemoryRecords.buildRetainedRecordsInto).
    """
    builder = BatchBuilder(
        base_offset=batch.base_offset,
        codec=batch.codec,
        log_append_time_ms=batch.max_timestamp if batch.is_log_append_time else None,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        is_transactional=batch.is_transactional,
        is_control=batch.is_control,
        leader_epoch=batch.leader_epoch,
        delete_horizon_ms=horizon_ms,
    )
    for record in kept:
        builder.append(
            record.timestamp, record.key, record.value, record.headers, offset=record.offset
        )
    builder.override_last_offset(batch.last_offset)
    return builder.build()


def _empty(batch: RecordBatch) -> bytes:
    """Write the header of a batch without records.

    Rule: R-16 (DefaultRecordBatch.writeEmptyHeader).
    """
    data = bytearray(RECORD_BATCH_OVERHEAD)
    HEADER.pack_into(
        data,
        0,
        batch.base_offset,
        RECORD_BATCH_OVERHEAD - LOG_OVERHEAD,
        batch.leader_epoch,
        batch.magic,
        0,
        batch.attributes & ~(CODEC_MASK | DELETE_HORIZON_FLAG),
        batch.last_offset_delta,
        NO_TIMESTAMP,
        batch.max_timestamp,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        0,
    )
    checksum = crc32c(memoryview(data)[ATTRIBUTES_OFFSET:])
    data[_CRC_POSITION:ATTRIBUTES_OFFSET] = checksum.to_bytes(4, "big")
    return bytes(data)
