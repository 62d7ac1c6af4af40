"""The checks of single records: structure, keys, timestamps, and the list of refused ones.

A batch is judged by the totals of one scan. Only when these show that a record may be refused, the
records are walked again to find which; what is said of these is made in Python.
"""

from typing import Final, NamedTuple, NoReturn

from broker_lite.errors import InvalidRecord, UnknownServerError
from broker_lite.log.validate import refusals
from broker_lite.log.validate.validated import (
    INT64_MAX,
    NO_TIMESTAMP,
    RecordError,
    RejectedAsInvalid,
    RejectedByTimestamp,
    RejectedRecords,
    TakesLong,
    ValidationConfig,
)
from broker_lite.record.batch import LOG_APPEND_TIME_FLAG, RecordBatch
from broker_lite.record.loops.refused import RefusedSearch
from broker_lite.record.loops.scan import RecordCursor, scan_records
from broker_lite.record.loops.scan_status import scan_error

# a NamedTuple's own constructor is a Python function and takes 100 ns more
_make: Final = tuple.__new__

SHOWN_ERRORS_MAX: Final = 3
# Of a batch with millions of bad records not all are listed: each takes some 300 bytes.
RECORD_ERRORS_MAX: Final = 10_000
# Listing so many takes 5 ms.
AT_ONCE_RECORDS_MAX: Final = 1_000


class PlainRecords(NamedTuple):
    """Uncompressed records of a batch: where they are, and how they are to be read.

    Attributes:
        buffer: the batch's own, or the decompressed stream.
        start: position of the first record.
        end: position after the last byte.
        full_reader: keys and values are needed (R-34), else they are skipped over (R-36).
        codec_failed: the codec stopped with an error after these bytes.
    """

    buffer: "memoryview"  # a name that mypyc does not know
    start: int
    end: int
    full_reader: bool
    codec_failed: bool


class RecordTotals(NamedTuple):
    """What a batch's records come to.

    Attributes:
        max_timestamp: the largest timestamp, -1 at least.
        min_timestamp: the smallest one other than -1.
        is_sequential: the offset deltas are 0, 1, 2 and so on.
    """

    max_timestamp: int
    min_timestamp: int
    is_sequential: bool


def check_records(
    batch: RecordBatch,
    plain: PlainRecords,
    config: ValidationConfig,
    now_ms: int,
    partition: int,
    at_once: bool = False,
) -> RecordTotals:
    """Check structure, keys and timestamps of all records.

    Raises:
        InvalidRecord, UnknownServerError: the structure; no record is judged then.
        RejectedRecords: keys or timestamps.
        TakesLong: at_once, and many records may have to be listed.

    Rule: V-33, V-34, V-36 (LogValidator.validateRecord).
    """
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
        # A difference that leaves 64 bits is above every limit; Java's is looked at one by one.
        is_good = (
            now_ms - minimum <= config.before_max_ms and maximum - now_ms <= config.after_max_ms
        )
    if (not is_good) or (null_keys and config.is_compacted):
        if at_once and batch.record_count > AT_ONCE_RECORDS_MAX:
            raise TakesLong
        _list_refused(batch, plain, config, now_ms, partition)
    return _make(RecordTotals, (maximum, minimum, is_sequential))


def _raise_structure(
    batch: RecordBatch, status: int, codec_failed: bool, position: int, records_read: int
) -> NoReturn:
    """Raise what a scan found, without a text, for Kafka sends none here."""
    found = scan_error(status, compressed=batch.is_compressed, codec_failed=codec_failed)
    error = UnknownServerError() if isinstance(found, UnknownServerError) else InvalidRecord()
    raise refusals.wrong_structure(error, batch, status, codec_failed, position, records_read)


def _list_refused(
    batch: RecordBatch, plain: PlainRecords, config: ValidationConfig, now_ms: int, partition: int
) -> None:
    """Refuse the batch with a list of all refused records, if there are any.

    Rule: V-33, V-44 (LogValidator.processRecordErrors).
    """
    errors: list[RecordError] = []
    by_timestamp = False
    first_offset_delta = 0
    cursor = RecordCursor(plain.buffer, plain.start, plain.end, plain.full_reader)
    search = RefusedSearch(
        config.is_compacted,
        not config.is_append_time,
        now_ms,
        config.before_max_ms,
        config.after_max_ms,
        batch.base_timestamp,
        batch.is_log_append_time,
        batch.max_timestamp,
    )
    index = -1
    while len(errors) < RECORD_ERRORS_MAX:
        read = search.next(cursor, batch.record_count - index - 1)
        if read < 0:
            break
        index += read
        if not errors:
            first_offset_delta = cursor.offset_delta
        if cursor.key_length < 0 and config.is_compacted:
            message = (
                "Compacted topic cannot accept message without key in topic partition "
                f"{config.topic}-{partition}"
            )
            errors.append(RecordError(index, message))
            continue
        problem = _timestamp_problem(batch, plain, cursor, config, now_ms)
        errors.append(RecordError(index, problem))
        by_timestamp = True
    if errors:
        raise refusals.wrong_records(
            _rejected(errors, by_timestamp), batch.record_count, first_offset_delta
        )


def _record_timestamp(batch: RecordBatch, timestamp_delta: int) -> int:
    """See: R-33 (DefaultRecord)."""
    if batch.is_log_append_time:
        timestamp: int = batch.max_timestamp
        return timestamp
    return _int64(batch.base_timestamp + timestamp_delta)


def _int64(value: int) -> int:
    """Wrap around as Java's long does."""
    return (value + INT64_MAX + 1) % (1 << 64) - INT64_MAX - 1


def _timestamp_problem(
    batch: RecordBatch,
    plain: PlainRecords,
    record: RecordCursor,
    config: ValidationConfig,
    now_ms: int,
) -> str:
    """Say what is wrong with the timestamp of a record that is refused for it.

    Rule: V-34 (LogValidator.validateTimestamp).
    """
    timestamp = _record_timestamp(batch, record.timestamp_delta)
    before, after = config.before_max_ms, config.after_max_ms
    if config.is_append_time or timestamp == NO_TIMESTAMP:
        return (
            f"Invalid timestamp type in message {_describe(plain, record, timestamp)}. "
            "Producer should not set timestamp type to LogAppendTime."
        )
    return (
        f"Timestamp {timestamp} of message with offset {record.offset_delta} is out of "
        f"range. The timestamp should be within [{_int64(now_ms - before)}, "
        f"{_int64(now_ms + after)}]"
    )


def _describe(plain: PlainRecords, record: RecordCursor, timestamp: int) -> str:
    """Print a record as Kafka's readers do."""
    name = "PartialDefaultRecord"
    key_length, value_length = record.key_length, record.value_length
    if plain.full_reader:
        name = "DefaultRecord"
        key_length = max(key_length, 0)
        value_length = max(value_length, 0)
    return (
        f"{name}(offset={record.offset_delta}, timestamp={timestamp}, "
        f"key={key_length} bytes, value={value_length} bytes)"
    )


def _rejected(errors: list[RecordError], by_timestamp: bool) -> RejectedRecords:
    if by_timestamp:
        return RejectedByTimestamp(
            "One or more records have been rejected due to invalid timestamp", errors
        )
    shown = ", ".join(
        f"RecordError(batchIndex={error.batch_index}, message='{error.message}')"
        for error in errors[:SHOWN_ERRORS_MAX]
    )
    return RejectedAsInvalid(
        f"One or more records have been rejected due to {len(errors)} record errors in total, "
        f"and only showing the first three errors at most: [{shown}]",
        errors,
    )
