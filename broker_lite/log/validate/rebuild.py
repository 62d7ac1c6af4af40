"""Rebuilds a client's batch for a topic that stores another codec.

Kafka rewrites every such batch record by record: attributes 0, the shortest varints, header keys in
valid UTF-8. For the usual batch the bytes of the records would come out the same, so only the
header and the compression change here. It is a batch whose first record has the base timestamp,
whose offset deltas are 0, 1, 2 and so on, and whose records are in that form already. All other
batches are rewritten record by record.
"""

import mmap
import struct
from typing import Final

from broker_lite.errors import UnknownServerError
from broker_lite.log.validate import refusals
from broker_lite.log.validate.validated import (
    NO_TIMESTAMP,
    PlainRecords,
    RecordTotals,
    ValidatedRecords,
    ValidationConfig,
)
from broker_lite.record.batch import (
    ATTRIBUTES_OFFSET,
    CURRENT_MAGIC,
    HEADER,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    RECORD_BATCH_OVERHEAD,
    TRANSACTIONAL_FLAG,
    RecordBatch,
)
from broker_lite.record.codecs.compression import compress
from broker_lite.record.crc import crc32c
from broker_lite.record.loops.canonical import are_canonical
from broker_lite.record.loops.lending import LENT_BYTES_MIN
from broker_lite.record.loops.rewrite import RecordRewriter
from broker_lite.record.loops.scan import RecordCursor
from broker_lite.record.stopping import NEVER, Stop

_CRC: Final = struct.Struct(">I")
_CRC_OFFSET: Final = 17
_ALL: Final = memoryview(b"")
_NO_HEADER: Final = bytes(RECORD_BATCH_OVERHEAD)


def rebuild(
    batch: RecordBatch,
    plain: PlainRecords,
    totals: RecordTotals,
    codec: int,
    config: ValidationConfig,
    now_ms: int,
    stop: Stop = NEVER,
) -> ValidatedRecords:
    """Return the batch with another codec; keep the producer fields and the transactional bit.

    Args:
        batch: the batch; header and records have passed the checks.
        plain: its uncompressed records, with full_reader.
        totals: the totals of these records.
        codec: the topic's codec.
        config: the topic's configuration.
        now_ms: the append time.
        stop: checked between the steps.

    Raises:
        UnknownServerError: Kafka's builder refuses such a batch: a negative timestamp, a producer
            id without epoch or sequence, a transactional batch without producer id.
        MessageTooLarge: the new batch is above max_message_bytes.
        DecompressedTooLarge: the rewritten records take more than decompressed_bytes_max, and more
            than the client's did.
        WorkStopped: `stop` was stopped.

    Rule: V-42, V-50 (LogValidator.buildRecordsAndAssignOffsets, MemoryRecordsBuilder).
    See: R-50.
    """
    _check_buildable(batch, totals)
    if _can_keep_records(batch, plain, totals):
        base_timestamp = batch.base_timestamp
        records: memoryview = plain.buffer[plain.start : plain.end]
    else:
        bytes_max = max(config.decompressed_bytes_max, plain.end - plain.start)
        base_timestamp, records = _write_anew(batch, plain, bytes_max, stop)
    append_time_ms = now_ms if config.is_append_time else NO_TIMESTAMP
    max_timestamp = now_ms if config.is_append_time else totals.max_timestamp
    attributes = codec | (batch.attributes & TRANSACTIONAL_FLAG)
    if config.is_append_time:
        attributes |= LOG_APPEND_TIME_FLAG
    content = compress(
        codec, records, config.compression_level, stop, config.decompressed_bytes_max
    )
    size_bytes = RECORD_BATCH_OVERHEAD + len(content)
    if size_bytes > config.max_message_bytes:
        raise refusals.rebuilt_too_large(size_bytes, config.max_message_bytes)
    buffer = _assemble(batch, attributes, base_timestamp, max_timestamp, content)
    rebuilt = RecordBatch(buffer, 0, len(buffer))
    return ValidatedRecords(buffer, rebuilt, batch.record_count, max_timestamp, append_time_ms)


def _check_buildable(batch: RecordBatch, totals: RecordTotals) -> None:
    """See: R-50; every producer id except -1 counts as one here, even -2."""
    has_producer = batch.producer_id != NO_PRODUCER_ID
    if (
        totals.min_timestamp < 0
        or (batch.is_transactional and not has_producer)
        or (has_producer and batch.producer_epoch == NO_PRODUCER_EPOCH)
        or (has_producer and batch.base_sequence < 0)
    ):
        raise refusals.not_buildable(batch, totals.min_timestamp)


def _can_keep_records(batch: RecordBatch, plain: PlainRecords, totals: RecordTotals) -> bool:
    """Rule: V-42.

    See: R-30.
    """
    if not totals.is_sequential or batch.is_log_append_time:
        return False
    first = RecordCursor(plain.buffer, plain.start, plain.end, full_reader=True)
    # Read only the length, the attributes and the timestamp delta. To read all headers of a record
    # may take 0.4 s, and the interpreter lock is not released here.
    first.read_varint(first.end)
    first.position += 1  # the attributes
    return first.read_varlong(first.end) == 0 and are_canonical(
        plain.buffer, plain.start, plain.end, batch.record_count
    )


def _write_anew(
    batch: RecordBatch, plain: PlainRecords, bytes_max: int, stop: Stop
) -> tuple[int, memoryview]:
    """Rewrite all records, with deltas to the first record's timestamp and to offset 0.

    Returns:
        The first record's timestamp, and the new bytes.

    Raises:
        DecompressedTooLarge: longer deltas or header keys make the bytes more than bytes_max.
    """
    buffer, start, end, _, _ = plain
    rewriter = RecordRewriter(buffer, start, end, batch.record_count, _ALL, True)
    has_append_time = batch.is_log_append_time
    with stop.telling(rewriter.stop):
        status = rewriter.measure(
            batch.base_timestamp, has_append_time, batch.max_timestamp, NO_TIMESTAMP
        )
    if status:  # the records are valid, so the only reason left is that they are above 2 GB
        raise UnknownServerError
    if rewriter.size_bytes > bytes_max:
        raise refusals.rewritten_too_large(bytes_max)
    target = _memory(rewriter.size_bytes)
    with stop.telling(rewriter.stop):
        rewriter.write(target)
    return rewriter.base_timestamp, target


def _memory(size_bytes: int) -> memoryview:
    """Return memory to write to.

    Large memory comes from mmap, because a new bytearray is filled with zeros: for 100 MB, that
    would hold the interpreter lock for 50 ms.
    """
    return memoryview(
        bytearray(size_bytes) if size_bytes <= LENT_BYTES_MIN else mmap.mmap(-1, size_bytes)
    )


def _assemble(
    batch: RecordBatch, attributes: int, base_timestamp: int, max_timestamp: int, content: bytes
) -> memoryview:
    # join() copies many bytes without the interpreter lock
    buffer = memoryview(bytearray().join((_NO_HEADER, content)))
    HEADER.pack_into(
        buffer,
        0,
        0,
        len(buffer) - LOG_OVERHEAD,
        batch.leader_epoch,
        CURRENT_MAGIC,
        0,
        attributes,
        batch.last_offset_delta,
        base_timestamp,
        max_timestamp,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.record_count,
    )
    _CRC.pack_into(buffer, _CRC_OFFSET, crc32c(buffer[ATTRIBUTES_OFFSET:]))
    return buffer
