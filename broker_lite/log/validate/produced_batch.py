"""Validates the bytes that a client sent for a partition; the result is one batch to append.

The order of the checks is Kafka's: base offset, size, checksum and codec first, then the fields of
the batch's header, then the structure of all records, then keys and timestamps. The compiled scan
goes through the records once. Python looks at single records only to list the refused ones, or to
rebuild a batch with another codec.

All of it is pure: no log state, no clock, no file; it may run in a worker thread. The log sets
offsets and leader epoch later, which the checksum does not cover.

Not done: magic 0 and 1, because Produce requests with them are refused earlier (V-09).
A difference to Kafka: a batch is refused with MESSAGE_TOO_LARGE if it decompresses to more than
`broker.lite.decompressed.max.bytes`, has more records than `broker.lite.batch.records.max`, or its
compressed stream has more than 65,536 frames, members, chunks and blocks (V-45). The answer to a
Produce lists at most 10,000 bad records (V-44).

Rule: R-83.
"""

from typing import Final, NoReturn

from broker_lite.errors import InvalidRecord, UnknownServerError
from broker_lite.log.validate import refusals
from broker_lite.log.validate.rebuild import rebuild
from broker_lite.log.validate.single_records import AT_ONCE_RECORDS_MAX, refuse_records
from broker_lite.log.validate.validated import (
    NO_TIMESTAMP,
    PlainRecords,
    RecordTotals,
    TakesLong,
    ValidatedRecords,
    ValidationConfig,
)
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
from broker_lite.record.codecs.compression import decompress
from broker_lite.record.codecs.decompressed import Bounds
from broker_lite.record.crc import crc32c
from broker_lite.record.loops.scan import scan_records
from broker_lite.record.loops.scan_status import scan_error
from broker_lite.record.stopping import NEVER, Stop

# a NamedTuple's own constructor is a Python function and takes 100 ns more
_make: Final = tuple.__new__

STREAM_PARTS_MAX: Final = 65_536
"""Usual chunks have 32 KB or more; so many of them would be 2 GB or more."""
AT_ONCE_PARTS_MAX: Final = 64
AT_ONCE_BYTES_MAX: Final = 512 * 1024
AT_ONCE_REBUILT_BYTES_MAX: Final = 64 * 1024
"""To compress more than this with the highest level takes more than 50 ms."""
CODEC_MAX: Final = 4
NO_CODEC: Final = 0


def validate_records(
    records: memoryview,
    config: ValidationConfig,
    *,
    now_ms: int,
    partition: int = 0,
    at_once: bool = False,
    stop: Stop = NEVER,
    batch: RecordBatch | None = None,
) -> ValidatedRecords:
    """Validate the records of one partition of a Produce request from a client.

    Args:
        records: the bytes from the client, writable; if the topic demands it, timestamp type, max
            timestamp and checksum are corrected in place.
        config: the topic's configuration.
        now_ms: the append time; CreateTime timestamps must be close enough to it.
        partition: used in error texts only.
        at_once: the event loop waits for the result, so raise TakesLong instead of working long.
        stop: checked between the steps of long work.
        batch: a view of the records, if the caller has found that they are one whole batch of v2.

    Raises:
        RejectedAsInvalid: records were refused; the error lists them.
        RejectedByTimestamp: the same, and at least one of them for its timestamp.
        InvalidRecord: the structure of the batch or its records is wrong, or there is not exactly
            one batch.
        MessageTooLarge: the batch is above max_message_bytes before or after a rebuild.
        DecompressedTooLarge: the batch decompresses to more than decompressed_bytes_max, or has
            more parts than STREAM_PARTS_MAX.
        CorruptMessage: the batch is shorter than its header, or its checksum is wrong.
        TooManyRecords: there are more than batch_records_max records; nothing was decompressed.
        UnknownServerError: the codec id is above 4, the codec fails, or Kafka could not rebuild the
            batch.
        TakesLong: the work would take too long for `at_once`.
        WorkStopped: `stop` was stopped.

    Rule: V-20, V-22, V-30 to V-32, V-35, V-40, V-45 (UnifiedLog, LogValidator).
    See: V-33, V-34, V-36, V-42, V-44, V-50.
    """
    batch = _only_batch(records, config, batch)
    attributes = batch.attributes
    count = batch.record_count
    if (
        count <= 0
        or batch.last_offset_delta + 1 != count
        or attributes & CONTROL_FLAG
        or (batch.producer_id >= 0 and batch.base_sequence < 0)
    ):
        raise refusals.wrong_header(batch)  # V-32
    if count > config.batch_records_max:
        raise refusals.too_many_records(count, config.batch_records_max)
    codec = attributes & CODEC_MASK
    target = codec if config.codec is None else config.codec
    in_place = codec == target
    plain: PlainRecords | None = None
    if codec != NO_CODEC:
        bytes_max = config.decompressed_bytes_max
        parts_max = STREAM_PARTS_MAX
        if at_once:
            bytes_max = min(bytes_max, AT_ONCE_BYTES_MAX if in_place else AT_ONCE_REBUILT_BYTES_MAX)
            parts_max = AT_ONCE_PARTS_MAX
        bounds = Bounds(bytes_max, parts_max, stop)
        plain = _decompress(batch, codec, bounds, at_once, full_reader=not in_place)
    maximum, minimum, is_sequential = _check_records(
        batch, plain, config, now_ms, partition, at_once
    )
    if not at_once:
        stop.check()
    if not in_place:
        totals = RecordTotals(maximum, minimum, is_sequential)
        return rebuild(batch, plain or _within(batch), totals, target, config, now_ms, stop)
    if codec != NO_CODEC and not is_sequential:
        # V-42: Kafka would have to rebuild the batch, but fails, because it has skipped the keys
        # and values.
        raise refusals.unordered_offsets()
    append_time_ms = NO_TIMESTAMP
    max_timestamp = maximum
    if config.is_append_time:
        append_time_ms = max_timestamp = now_ms
        batch.set_max_timestamp(True, now_ms)
    elif max_timestamp != batch.max_timestamp or attributes & LOG_APPEND_TIME_FLAG:
        batch.set_max_timestamp(False, max_timestamp)
    return _make(ValidatedRecords, (batch.buffer, batch, count, max_timestamp, append_time_ms))


def _only_batch(
    records: memoryview, config: ValidationConfig, batch: RecordBatch | None
) -> RecordBatch:
    """Return a view of the only batch, over a buffer that holds nothing else.

    Rule: V-20, V-22 (UnifiedLog.analyzeAndValidateRecords), V-31.
    """
    if batch is None:
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
    """Handle bytes that are not exactly one batch.

    Checks all complete batches, refuses more than one, and cuts off an incomplete one at the end.
    """
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
    batch: RecordBatch, codec: int, bounds: Bounds, at_once: bool, *, full_reader: bool
) -> PlainRecords:
    """Rule: V-45: full_reader when the records are needed, else they are only walked (R-36)."""
    result = decompress(
        codec,
        batch.buffer[RECORD_BATCH_OVERHEAD:],
        output_bytes_max=bounds.output_bytes_max,
        parts_max=bounds.parts_max,
        stop=bounds.stop,
    )
    if result.limit_exceeded:
        if at_once:
            raise TakesLong
        raise refusals.decompresses_too_large(bounds.output_bytes_max, bounds.parts_max)
    data = memoryview(result.data)
    return PlainRecords(data, 0, len(data), full_reader, result.failed)


def _within(batch: RecordBatch) -> PlainRecords:
    """Return the records of a batch that is not compressed."""
    return PlainRecords(batch.buffer, RECORD_BATCH_OVERHEAD, batch.size_bytes, True, False)


def _check_records(
    batch: RecordBatch,
    plain: PlainRecords | None,
    config: ValidationConfig,
    now_ms: int,
    partition: int,
    at_once: bool = False,
) -> tuple[int, int, bool]:
    """Check structure, keys and timestamps of all records.

    Args:
        batch: the batch.
        plain: its records if they were compressed; None if they are in the batch.
        config: the topic's configuration.
        now_ms: the append time.
        partition: used in error texts only.
        at_once: see validate_records().

    Returns:
        The fields of RecordTotals; a NamedTuple takes 1,000 instructions more.

    Raises:
        InvalidRecord, UnknownServerError: the structure is wrong; keys and timestamps are not
            checked then.
        RejectedRecords: keys or timestamps are wrong.
        TakesLong: `at_once` is set, and a long list of refused records may be needed.

    Rule: V-33, V-34, V-36 (LogValidator.validateRecord).
    """
    buffer, start, end = batch.buffer, RECORD_BATCH_OVERHEAD, batch.size_bytes
    full_reader, codec_failed = True, False
    if plain is not None:
        buffer, start, end, full_reader, codec_failed = plain
    status, position, records_read, maximum, minimum, null_keys, is_sequential = scan_records(
        buffer, start, end, batch.record_count, batch.base_timestamp, full_reader
    )
    if status or codec_failed:
        _raise_structure(batch, status, codec_failed, position - start, records_read)
    has_append_time = batch.attributes & LOG_APPEND_TIME_FLAG
    if has_append_time:
        minimum = batch.max_timestamp
        maximum = max(minimum, NO_TIMESTAMP)
    if config.is_append_time:
        is_good = not has_append_time
    elif has_append_time and minimum == NO_TIMESTAMP:
        is_good = False
    else:
        # A difference that does not fit 64 bits is above every limit here, but wraps around in
        # Java; refuse_records() then checks each record as Java does.
        is_good = (
            now_ms - minimum <= config.before_max_ms and maximum - now_ms <= config.after_max_ms
        )
    if (not is_good) or (null_keys and config.is_compacted):
        if at_once and batch.record_count > AT_ONCE_RECORDS_MAX:
            raise TakesLong
        refuse_records(batch, plain or _within(batch), config, now_ms, partition)
    return maximum, minimum, is_sequential


def _raise_structure(
    batch: RecordBatch, status: int, codec_failed: bool, position: int, records_read: int
) -> NoReturn:
    """Raise the error that a scan found; without a message, because Kafka sends none here."""
    found = scan_error(status, compressed=batch.is_compressed, codec_failed=codec_failed)
    error = UnknownServerError() if isinstance(found, UnknownServerError) else InvalidRecord()
    raise refusals.wrong_structure(error, batch, status, codec_failed, position, records_read)
