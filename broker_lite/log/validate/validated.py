"""The types of the validator: a topic's configuration, and the result for the log."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from broker_lite.record.batch import RecordBatch

NO_TIMESTAMP: Final = -1
INT64_MAX: Final = 9223372036854775807
# 128 times the default of max.message.bytes, and a size that a test machine can hold.
DECOMPRESSED_BYTES_MAX: Final = 134_217_728
# Twice the largest number of records in a batch of librdkafka, the client that has a limit.
BATCH_RECORDS_MAX: Final = 2_097_152


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationConfig:
    """A topic's configuration in the form that the validator needs; rebuilt when it changes.

    Attributes:
        topic: the topic's name, used in error texts only.
        max_message_bytes: size of the largest batch, including its first 12 bytes.
        codec: the codec to store with; None keeps the producer's (compression.type=producer).
        compression_level: the codec's level for batches that must be compressed again.
        is_append_time: message.timestamp.type=LogAppendTime.
        before_max_ms: how far a CreateTime timestamp may lie in the past.
        after_max_ms: how far a CreateTime timestamp may lie in the future.
        is_compacted: cleanup.policy contains compact, so every record needs a key.
        decompressed_bytes_max: largest size of a decompressed batch; Kafka has no limit (V-45).
        batch_records_max: largest number of records in a batch; Kafka has no limit (V-45).
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
        buffer: exactly the bytes to write, writable: the client's buffer or a rebuilt batch.
        batch: a view of the buffer, with the final attributes and max timestamp; the log still sets
            offset and leader epoch, which the checksum does not cover.
        record_count: the number of records, and of offsets.
        max_timestamp: the largest timestamp of a record, or the append time.
        log_append_time_ms: the append time with LogAppendTime, else -1.
    """

    buffer: "memoryview"  # a name that mypyc does not know
    batch: RecordBatch
    record_count: int
    max_timestamp: int
    log_append_time_ms: int

    @property
    def is_append_time(self) -> bool:
        """Whether all records got the append time as their timestamp."""
        return self.log_append_time_ms != NO_TIMESTAMP


class PlainRecords(NamedTuple):
    """The uncompressed records of a batch, and how to read them.

    Attributes:
        buffer: the batch's buffer, or the decompressed bytes.
        start: position of the first record.
        end: position after the last byte.
        full_reader: True to read keys and values (R-34), False to skip them (R-36).
        codec_failed: the codec stopped with an error after these bytes.
    """

    buffer: "memoryview"
    start: int
    end: int
    full_reader: bool
    codec_failed: bool


class RecordTotals(NamedTuple):
    """The totals of a batch's records.

    Attributes:
        max_timestamp: the largest timestamp, at least -1.
        min_timestamp: the smallest timestamp other than -1.
        is_sequential: the offset deltas are 0, 1, 2 and so on.
    """

    max_timestamp: int
    min_timestamp: int
    is_sequential: bool


class TakesLong(Exception):
    """The validation would take too long for the event loop; nothing was changed."""
