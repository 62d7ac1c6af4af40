"""Lists the refused records of a batch.

This runs only if the totals of all records show that some of them may have to be refused.
"""

from typing import Final

from broker_lite.log.validate import refusals
from broker_lite.log.validate.rejected import (
    RecordError,
    RejectedAsInvalid,
    RejectedByTimestamp,
    RejectedRecords,
)
from broker_lite.log.validate.validated import (
    INT64_MAX,
    NO_TIMESTAMP,
    PlainRecords,
    ValidationConfig,
)
from broker_lite.record.batch import RecordBatch
from broker_lite.record.loops.refused import RefusedSearch
from broker_lite.record.loops.scan import RecordCursor

SHOWN_ERRORS_MAX: Final = 3
# Limits the list for a batch with millions of bad records, because each entry takes 300 bytes.
RECORD_ERRORS_MAX: Final = 10_000
# To list so many takes 5 ms.
AT_ONCE_RECORDS_MAX: Final = 1_000


def refuse_records(
    batch: RecordBatch, plain: PlainRecords, config: ValidationConfig, now_ms: int, partition: int
) -> None:
    """Raise an error with the list of all refused records, if there are any.

    Rule: V-44 (LogValidator.processRecordErrors).
    See: V-33.
    """
    errors: list[RecordError] = []
    by_timestamp = first_lacks_key = False
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
            first_offset_delta, first_lacks_key = cursor.offset_delta, search.lacks_key
        if search.lacks_key:
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
            _rejected(errors, by_timestamp),
            batch.record_count,
            first_offset_delta,
            "key" if first_lacks_key else "timestamp",
        )


def _record_timestamp(batch: RecordBatch, timestamp_delta: int) -> int:
    """See: R-33 (DefaultRecord)."""
    if batch.is_log_append_time:
        timestamp: int = batch.max_timestamp
        return timestamp
    return _int64(batch.base_timestamp + timestamp_delta)


def _int64(value: int) -> int:
    """Return the value as Java's long has it, which wraps around."""
    return (value + INT64_MAX + 1) % (1 << 64) - INT64_MAX - 1


def _timestamp_problem(
    batch: RecordBatch,
    plain: PlainRecords,
    record: RecordCursor,
    config: ValidationConfig,
    now_ms: int,
) -> str:
    """Return Kafka's message about the timestamp of a refused record.

    See: V-34 (LogValidator.validateTimestamp).
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
    """Return a record's text as Kafka prints it."""
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
