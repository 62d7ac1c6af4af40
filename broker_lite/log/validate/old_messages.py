"""Validates what an old producer sends, and converts it to a v2 batch.

Produce versions 0 to 2 carry message sets of magic 0 or 1, plain or inside one compressed wrapper.
They may also carry v2 batches. Logs hold only v2 batches, as Kafka's do since 3.0. So all messages
of a set become one batch. It keeps the timestamps, gets offsets from the end of the log, and is
compressed with the topic's codec, or else with the producer's.

The answers to these versions have no field for errors of single records. So the first bad record
decides the error, with one exception: a bad timestamp comes before all other errors of its wrapper.

A difference to Kafka: a message set in a Produce below version 3 is refused if it decompresses to
more than 32 MiB. The reason is that its messages are converted one by one.

Rule: V-41, V-92, R-92 (UnifiedLog, LogValidator).
See: V-20, V-22, V-30 to V-34, V-42, V-50.
"""

from collections.abc import Iterator
from typing import Final

from broker_lite.errors import (
    BrokerError,
    ErrorCode,
    InvalidRecord,
    UnknownServerError,
)
from broker_lite.log.validate import refusals
from broker_lite.log.validate.produced_batch import (
    CODEC_MAX,
    NO_CODEC,
    STREAM_PARTS_MAX,
    validate_records,
)
from broker_lite.log.validate.rejected import RejectedByTimestamp
from broker_lite.log.validate.validated import NO_TIMESTAMP, ValidatedRecords, ValidationConfig
from broker_lite.record.batch import (
    ATTRIBUTES_OFFSET,
    CODEC_MASK,
    CURRENT_MAGIC,
    RECORD_BATCH_OVERHEAD,
    RecordBatch,
    walk,
)
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.codecs.decompressed import Bounds
from broker_lite.record.crc import crc32c
from broker_lite.record.framing import LOG_OVERHEAD, RECORD_OVERHEAD_V0, Entry
from broker_lite.record.legacy import messages
from broker_lite.record.legacy.messages import (
    LOG_APPEND_TIME,
    LegacyMessage,
    LegacyRecord,
    SetTooLarge,
    crc_is_valid,
    iterate_legacy,
)
from broker_lite.record.stopping import NEVER, Stop

OLD_SET_BYTES_MAX: Final = 32 * 1024 * 1024
_SIZE_UP_TO_PRODUCER_ID: Final = 51
_MESSAGE_SIZE_MIN: Final = LOG_OVERHEAD + RECORD_OVERHEAD_V0


class NothingToAppend(BrokerError):
    """A set without a complete message; the answer to these versions is success (0).

    See: V-22.
    """

    code = ErrorCode.NONE


def check_old_record_set(records: memoryview | None) -> Iterator[None]:
    """Check the headers of a partition's set before anything of the request is appended.

    Kafka does this walk in its search for transactions, and an error fails the whole request. A
    request of 100 MB may have 4,000,000 messages, which take seconds. This is a generator so that
    the caller can pause.

    Args:
        records: the bytes from the client; null is refused here, while Kafka never answers (V-02).

    Yields:
        Nothing, after each message or batch.

    Raises:
        CorruptMessage: a header is malformed.
        UnknownServerError: a v2 header is too short for a producer id, or a length overflows
            Java's int.
        InvalidRecord: the records are null.

    See: V-02, V-06, V-10, V-21 (ReplicaManager.handleProduceAppend).
    """
    if records is None:
        raise InvalidRecord("null records in a Produce of version 0 to 2").because(
            "V-02", "null where records were expected"
        )
    for entry in walk(records):
        if entry.magic == CURRENT_MAGIC and entry.size_bytes < _SIZE_UP_TO_PRODUCER_ID:
            raise UnknownServerError().because(
                "V-21",
                "the batch has {size_bytes} bytes and ends in its header",
                size_bytes=entry.size_bytes,
            )
        yield


def validate_old_records(
    records: memoryview,
    config: ValidationConfig,
    *,
    now_ms: int,
    partition: int = 0,
    stop: Stop = NEVER,
) -> ValidatedRecords:
    """Validate the records of one partition of a Produce request of version 0 to 2.

    Args:
        records: the bytes from the client, writable; a v2 batch is corrected in place.
        config: the topic's configuration.
        now_ms: the append time; CreateTime timestamps must be close enough to it.
        partition: used in error texts only.
        stop: checked before each message.

    Raises:
        NothingToAppend: there is no complete message.
        InvalidRecord: the set has more than one magic, batch or wrapper; a wrapper holds anything
            but plain messages of its own magic; or a key is null in a compacted topic.
        RejectedByTimestamp: a timestamp is out of range, or the LogAppendTime bit is set.
        CorruptMessage: a length or checksum is wrong.
        MessageTooLarge: the set is above max_message_bytes before or after the conversion, or a
            wrapper decompresses to more than decompressed_bytes_max or OLD_SET_BYTES_MAX.
        TooManyRecords: there are more than batch_records_max records.
        UnknownServerError: a codec fails or does not exist, fields do not fit their message, or a
            timestamp is negative.
        WorkStopped: `stop` was stopped.

    Rule: V-92 (UnifiedLog.append, LogValidator).
    """
    entries = list(_checked_entries(records, config))
    if not entries:
        raise NothingToAppend
    first = entries[0]
    codecs = [_codec(records, entry) for entry in entries]
    # The set's codec is that of its last compressed entry.
    source = next((codec for codec in reversed(codecs) if codec != NO_CODEC), NO_CODEC)
    if len(entries) > 1 and (first.magic == CURRENT_MAGIC or source != NO_CODEC):
        raise refusals.not_one_batch(len(entries))
    if first.magic == CURRENT_MAGIC:
        batch = records[first.position : first.position + first.size_bytes]
        return validate_records(batch, config, now_ms=now_ms, partition=partition, stop=stop)
    return _one_batch(records, entries, source, config, now_ms, stop)


def _one_batch(
    records: memoryview,
    entries: list[Entry],
    source: int,
    config: ValidationConfig,
    now_ms: int,
    stop: Stop,
) -> ValidatedRecords:
    """Put all messages of a set into one batch.

    Rule: V-41.
    See: V-30, V-32, V-42.
    """
    target = source if config.codec is None else config.codec
    builder = BatchBuilder(
        codec=target,
        level=config.compression_level if config.codec is not None else None,
        log_append_time_ms=now_ms if config.is_append_time else None,
    )
    # A message may pass the checks and still be impossible to write. Kafka writes plain messages
    # while it checks them, so this error comes at once. If a codec is involved, it writes after all
    # checks, so errors of the checks come first.
    is_plain = source == NO_CODEC and target == NO_CODEC
    unwritable: UnknownServerError | None = None
    for entry in entries:
        if entry.magic != entries[0].magic:
            raise refusals.old_magic(entry.magic)
        try:
            message = LegacyMessage(records, entry.position, entry.size_bytes)
            _convert(message, builder, config, now_ms, stop)
        except UnknownServerError as error:
            if is_plain:
                raise
            unwritable = unwritable or error
    if unwritable is not None:
        raise unwritable
    return _validated(builder, config)


def _checked_entries(records: memoryview, config: ValidationConfig) -> Iterator[Entry]:
    """See: V-20 (UnifiedLog.analyzeAndValidateRecords)."""
    for entry in walk(records):
        position, size_bytes, magic = entry
        base_offset = int.from_bytes(records[position : position + 8], "big", signed=True)
        if magic == CURRENT_MAGIC and base_offset:
            raise refusals.wrong_base_offset(base_offset)
        if size_bytes > config.max_message_bytes:
            raise refusals.too_large(size_bytes, config.max_message_bytes)
        if not _is_valid(records, entry):
            raise refusals.invalid_entry(magic, position, size_bytes)
        codec = _codec(records, entry)
        if codec > CODEC_MAX:
            raise refusals.unknown_codec(codec)
        yield entry


def _is_valid(records: memoryview, entry: Entry) -> bool:
    """See: R-06."""
    position, size_bytes, magic = entry
    if magic != CURRENT_MAGIC:
        return size_bytes >= _MESSAGE_SIZE_MIN and crc_is_valid(records, position, size_bytes)
    if size_bytes < RECORD_BATCH_OVERHEAD:
        return False
    batch = RecordBatch(records, position, size_bytes)
    return batch.crc == crc32c(records[position + ATTRIBUTES_OFFSET : position + size_bytes])


def _codec(records: memoryview, entry: Entry) -> int:
    if entry.magic == CURRENT_MAGIC:
        return records[entry.position + ATTRIBUTES_OFFSET + 1] & CODEC_MASK
    return records[entry.position + messages.ATTRIBUTES_OFFSET] & CODEC_MASK


def _convert(
    message: LegacyMessage,
    builder: BatchBuilder,
    config: ValidationConfig,
    now_ms: int,
    stop: Stop,
) -> None:
    """Add the records of a message to the batch; check all of them even if one is bad.

    Rule: V-41.
    See: V-33, V-44.
    """
    has_append_time = message.timestamp_type == LOG_APPEND_TIME
    refused: BrokerError | None = None
    is_writable = True
    stop.check()
    bytes_max = min(config.decompressed_bytes_max, OLD_SET_BYTES_MAX)
    bounds = Bounds(bytes_max, STREAM_PARTS_MAX, stop)
    records = iterate_legacy(message, check_inner=True, bounds=bounds)
    try:
        for index, record in enumerate(records):
            problem = _problem(record, index, config, now_ms, has_append_time=has_append_time)
            if problem is None:
                is_writable = is_writable and record.timestamp >= NO_TIMESTAMP
                if builder.record_count >= config.batch_records_max:
                    raise refusals.too_many_records(index + 1, config.batch_records_max)
                if refused is None and is_writable:
                    builder.append(record.timestamp, record.key, record.value)
            elif refused is None or isinstance(problem, RejectedByTimestamp):
                refused = problem
    except SetTooLarge as error:
        raise refusals.decompresses_too_large(bytes_max, STREAM_PARTS_MAX) from error
    if refused is not None:
        raise refused
    if not is_writable:
        raise UnknownServerError("a negative timestamp").because(
            "V-92", "a record has a timestamp below -1"
        )


def _problem(
    record: LegacyRecord,
    index: int,
    config: ValidationConfig,
    now_ms: int,
    *,
    has_append_time: bool,
) -> BrokerError | None:
    """See: V-33, V-34 (LogValidator.validateRecord)."""
    if record.key is None and config.is_compacted:
        return InvalidRecord().because(
            "V-33", "record {record}: key missing in a compacted topic", record=index
        )
    timestamp = record.timestamp
    if not config.is_append_time and timestamp != NO_TIMESTAMP:
        if not -config.after_max_ms <= now_ms - timestamp <= config.before_max_ms:
            return RejectedByTimestamp("", []).because(
                "V-34",
                "record {record}: the timestamp {timestamp} is not within [{earliest}, {latest}]",
                record=index,
                timestamp=timestamp,
                earliest=now_ms - config.before_max_ms,
                latest=now_ms + config.after_max_ms,
            )
    elif has_append_time:
        return RejectedByTimestamp("", []).because(
            "V-34",
            "record {record}: only the broker may set the timestamp type LogAppendTime",
            record=index,
        )
    return None


def _validated(builder: BatchBuilder, config: ValidationConfig) -> ValidatedRecords:
    """Rule: R-92.

    See: V-50.
    """
    buffer = memoryview(bytearray(builder.build()))
    if len(buffer) > config.max_message_bytes:
        raise refusals.rebuilt_too_large(len(buffer), config.max_message_bytes)
    batch = RecordBatch(buffer, 0, len(buffer))
    append_time_ms = batch.max_timestamp if config.is_append_time else NO_TIMESTAMP
    return ValidatedRecords(
        buffer, batch, builder.record_count, batch.max_timestamp, append_time_ms
    )
