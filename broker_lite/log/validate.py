"""From the bytes a client sent for a partition to one batch that may be appended.

The order of the checks is Kafka's: base offset, size, checksum and codec first, then the batch's
header fields, then the structure of all its records, then keys and timestamps. The records are
walked once, by the compiled scan; Python looks at single records only to list the refused ones or
to build a batch anew for another codec.

Pure: no log state, no clock, no file; may run in a worker thread. Offsets and leader epoch are
stamped later by the log, which costs no new checksum.

Not done: magic 0 and 1, which the served versions of Produce refuse before (V-09).
A difference to Kafka: a batch that decompresses to more than broker.lite.decompressed.max.bytes is
refused (V-45). A batch with more than 10,000 bad records is answered with the first 10,000 (V-44).
"""

from typing import Final

from broker_lite.log import refusals
from broker_lite.log.validate_rebuild import rebuild
from broker_lite.log.validate_records import PlainRecords, check_records
from broker_lite.log.validated import NO_TIMESTAMP, ValidatedRecords, ValidationConfig
from broker_lite.record.batch import (
    ATTRIBUTES_OFFSET,
    CODEC_MASK,
    CONTROL_FLAG,
    CURRENT_MAGIC,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    RECORD_BATCH_OVERHEAD,
    RecordBatch,
    walk,
)
from broker_lite.record.compression import decompress
from broker_lite.record.crc import crc32c

# a NamedTuple's own constructor is a Python function and takes 100 ns more
_make: Final = tuple.__new__

CODEC_MAX: Final = 4
NO_CODEC: Final = 0


def validate_records(
    records: memoryview,
    config: ValidationConfig,
    *,
    now_ms: int,
    partition: int = 0,
    decompressed_bytes_max: int | None = None,
) -> ValidatedRecords:
    """Check the records of one partition of a produce request, from a client.

    Args:
        records: writable; timestamp type, max timestamp and checksum are corrected in place where
            the topic demands it.
        config: the topic's.
        now_ms: the append time, and the middle of the range of CreateTime timestamps.
        partition: for texts only.
        decompressed_bytes_max: a bound below the topic's, for who has little time.

    Raises:
        RejectedAsInvalid: records were refused, the error lists all of them.
        RejectedByTimestamp: the same, and one at least for its timestamp.
        InvalidRecord: structure of the batch or its records, or not exactly one batch.
        MessageTooLarge: above max_message_bytes before or after a rebuild.
        DecompressedTooLarge: decompressed above decompressed_bytes_max; nothing was changed.
        CorruptMessage: shorter than its header, or a wrong checksum.
        UnknownServerError: a codec id above 4, a codec that fails, or what Kafka cannot rebuild.

    Rule: V-20, V-22, V-30 to V-36, V-40, V-42, V-44, V-45, V-50 (UnifiedLog, LogValidator).
    """
    batch = _only_batch(records, config)
    attributes = batch.attributes
    count = batch.record_count
    if (
        count <= 0
        or batch.last_offset_delta + 1 != count
        or attributes & CONTROL_FLAG
        or (batch.producer_id >= 0 and batch.base_sequence < 0)
    ):
        raise refusals.wrong_header(batch)  # V-32
    codec = attributes & CODEC_MASK
    target = codec if config.codec is None else config.codec
    in_place = codec == target
    if codec == NO_CODEC:
        plain = _make(
            PlainRecords, (batch.buffer, RECORD_BATCH_OVERHEAD, batch.size_bytes, True, False)
        )
    else:
        bytes_max = config.decompressed_bytes_max
        if decompressed_bytes_max is not None:
            bytes_max = min(bytes_max, decompressed_bytes_max)
        plain = _decompress(batch, codec, bytes_max, full_reader=not in_place)
    totals = check_records(batch, plain, config, now_ms, partition)
    if not in_place:
        return rebuild(batch, plain, totals, target, config, now_ms)
    if codec != NO_CODEC and not totals.is_sequential:
        # V-42: Kafka would build the batch anew, but has skipped over the keys and values.
        raise refusals.unordered_offsets()
    append_time_ms = NO_TIMESTAMP
    max_timestamp = totals.max_timestamp
    if config.is_append_time:
        append_time_ms = max_timestamp = now_ms
        batch.set_max_timestamp(True, now_ms)
    elif max_timestamp != batch.max_timestamp or attributes & LOG_APPEND_TIME_FLAG:
        batch.set_max_timestamp(False, max_timestamp)
    return _make(ValidatedRecords, (batch.buffer, batch, count, max_timestamp, append_time_ms))


def _only_batch(records: memoryview, config: ValidationConfig) -> RecordBatch:
    """Give a view of the only batch, over a buffer that holds nothing else.

    Rule: V-20, V-22 (UnifiedLog.analyzeAndValidateRecords), V-31.
    """
    size_bytes = len(records)
    if size_bytes < RECORD_BATCH_OVERHEAD:
        return _trimmed_batch(records, config)
    batch = RecordBatch(records, 0, size_bytes)
    if batch.length != size_bytes - LOG_OVERHEAD or batch.magic != CURRENT_MAGIC:
        return _trimmed_batch(records, config)
    _check_shallow(batch, config)
    return batch


def _check_shallow(batch: RecordBatch, config: ValidationConfig) -> None:
    if batch.base_offset != 0:
        raise refusals.wrong_base_offset(batch.base_offset)
    if batch.size_bytes > config.max_message_bytes:
        raise refusals.too_large(batch.size_bytes, config.max_message_bytes)
    start = batch.position + ATTRIBUTES_OFFSET
    crc = crc32c(batch.buffer[start : batch.position + batch.size_bytes])
    if batch.crc != crc:
        raise refusals.wrong_crc(batch.crc, crc)
    if batch.attributes & CODEC_MASK > CODEC_MAX:
        raise refusals.unknown_codec(batch.attributes & CODEC_MASK)


def _trimmed_batch(records: memoryview, config: ValidationConfig) -> RecordBatch:
    """Handle a set that is not exactly one batch: check all, cut the rest, refuse a second one."""
    sizes = []
    for position, size_bytes, magic in walk(records):
        if magic != CURRENT_MAGIC:
            raise refusals.old_magic(magic)
        base_offset = int.from_bytes(records[position : position + 8], "big", signed=True)
        if base_offset:
            raise refusals.wrong_base_offset(base_offset)
        if size_bytes > config.max_message_bytes:
            raise refusals.too_large(size_bytes, config.max_message_bytes)
        if size_bytes < RECORD_BATCH_OVERHEAD:
            raise refusals.short_batch(size_bytes)
        _check_shallow(RecordBatch(records, position, size_bytes), config)
        sizes.append(size_bytes)
    if len(sizes) != 1:
        raise refusals.not_one_batch(len(sizes))
    return RecordBatch(records[: sizes[0]], 0, sizes[0])


def _decompress(
    batch: RecordBatch, codec: int, output_bytes_max: int, *, full_reader: bool
) -> PlainRecords:
    """Rule: V-45, R-36: full_reader when the records are needed, else they are only walked."""
    result = decompress(
        codec, batch.buffer[RECORD_BATCH_OVERHEAD:], output_bytes_max=output_bytes_max
    )
    if result.limit_exceeded:
        raise refusals.decompresses_too_large(output_bytes_max)
    data = memoryview(result.data)
    return PlainRecords(data, 0, len(data), full_reader, result.failed)
