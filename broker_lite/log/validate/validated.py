"""What the validator is told about a topic, what it gives the log, and how it refuses records."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from broker_lite.errors import BrokerError, ErrorCode
from broker_lite.record.batch import RecordBatch

NO_TIMESTAMP: Final = -1
INT64_MAX: Final = 9223372036854775807
# 128 times the default of max.message.bytes, and a size that a test machine can hold.
DECOMPRESSED_BYTES_MAX: Final = 134_217_728
# Twice what the client library with a limit of its own puts into a batch at most (librdkafka).
BATCH_RECORDS_MAX: Final = 2_097_152


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationConfig:
    """What a topic's settings mean for the validator; built once a change of them.

    Attributes:
        topic: its name, for texts only.
        max_message_bytes: largest batch, its 12 bytes of overhead included.
        codec: the codec to store with, None for the producer's (compression.type=producer).
        compression_level: the level for codec when a batch has to be compressed anew.
        is_append_time: message.timestamp.type=LogAppendTime.
        before_max_ms: how far a CreateTime may lie behind now.
        after_max_ms: how far it may lie ahead.
        is_compacted: cleanup.policy contains compact, so every record needs a key.
        decompressed_bytes_max: most bytes one batch may decompress to, Kafka has no limit (V-45).
        batch_records_max: most records of one batch, Kafka has no limit (V-45).
    """

    topic: str
    max_message_bytes: int = 1_048_588
    codec: int | None = None
    compression_level: int | None = None
    is_append_time: bool = False
    before_max_ms: int = INT64_MAX
    after_max_ms: int = 3_600_000
    is_compacted: bool = False
    decompressed_bytes_max: int = DECOMPRESSED_BYTES_MAX
    batch_records_max: int = BATCH_RECORDS_MAX


class ValidatedRecords(NamedTuple):
    """One batch that may be appended.

    Attributes:
        buffer: exactly the bytes to write, writable; the client's own or a rebuilt batch.
        batch: a view of buffer, with its final attributes and max timestamp; the log still stamps
            offset and leader epoch, which the checksum does not cover.
        record_count: how many offsets the batch takes.
        max_timestamp: the largest timestamp of a record, or the append time.
        log_append_time_ms: the append time with LogAppendTime, else -1.
    """

    buffer: memoryview
    batch: RecordBatch
    record_count: int
    max_timestamp: int
    log_append_time_ms: int

    @property
    def is_append_time(self) -> bool:
        """True when all records got the time of the append."""
        return self.log_append_time_ms != NO_TIMESTAMP


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


class TakesLong(Exception):
    """The validation would take too long for who asked for it at once; nothing was changed."""


class RecordError(NamedTuple):
    """Why one record was refused; batch_index counts from 0 within its batch."""

    batch_index: int
    message: str


class RejectedRecords(BrokerError):
    """Some records of a batch were refused, and so is the batch.

    See: V-44 (RecordValidationException).
    """

    def __init__(self, message: str, record_errors: list[RecordError]) -> None:
        super().__init__(message)
        self.record_errors = record_errors


class RejectedAsInvalid(RejectedRecords):
    """No timestamp is among the reasons (87)."""

    code = ErrorCode.INVALID_RECORD


class RejectedByTimestamp(RejectedRecords):
    """At least one record's timestamp was refused (32)."""

    code = ErrorCode.INVALID_TIMESTAMP
