"""Build v2 batches: for re-encoding on produce, control batches, compaction, tests and tools.

A batch is written once, at build(), from the records appended so far. It keeps the rules of Kafka's
builder. Breaking one is an UnknownServerError, because Kafka's illegal argument becomes -1 when it
happens while a client's batch is re-encoded.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final, Self

from broker_lite.errors import UnknownServerError
from broker_lite.record.batch import (
    ATTRIBUTES_OFFSET,
    CONTROL_FLAG,
    CURRENT_MAGIC,
    DELETE_HORIZON_FLAG,
    HEADER,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    RECORD_BATCH_OVERHEAD,
    TRANSACTIONAL_FLAG,
    RecordBatch,
)
from broker_lite.record.codecs.compression import codec_of, compress
from broker_lite.record.crc import crc32c
from broker_lite.record.varint import (
    encode_varint,
    encode_varlong,
)

_INT32_MAX: Final = 2**31 - 1
_CRC_OFFSET: Final = 17
_NULL: Final = b"\x01"
_NO_HEADERS: Final = b"\x00"
_SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


def encode_record(
    timestamp_delta: int,
    offset_delta: int,
    key: bytes | memoryview | None,
    value: bytes | memoryview | None,
    headers: Iterable[tuple[bytes, bytes | None]] = (),
) -> bytes:
    """Write one record.

    Rule: R-38 (DefaultRecord.writeTo).
    See: R-30.
    """
    headers = tuple(headers)
    parts = [
        b"\x00",
        encode_varlong(timestamp_delta),
        encode_varint(offset_delta),
        *_sized(key),
        *_sized(value),
        encode_varint(len(headers)),
    ]
    for header_key, header_value in headers:
        parts += (encode_varint(len(header_key)), header_key, *_sized(header_value))
    body = b"".join(parts)
    return encode_varint(len(body)) + body


def normalised_header_key(key: bytes) -> bytes:
    """Return the bytes that Kafka writes for a header key that it has read as text.

    Bytes that are not UTF-8 become U+FFFD. Java and Python agree how many, except for the three
    bytes of a surrogate, or its first two: they become one character in Java, one per byte in
    Python.

    Rule: R-32 (RecordHeader.key, DefaultRecord.writeTo).
    """
    if key.isascii():
        return key
    return _SURROGATE.sub(b"\xff", key).decode("utf-8", errors="replace").encode()


def _sized(value: bytes | memoryview | None) -> tuple[bytes | memoryview, ...]:
    return (_NULL,) if value is None else (encode_varint(len(value)), value)


class BatchBuilder:
    """Collects records and writes them as one batch.

    Args:
        base_offset: of the batch; the first record has it unless append() gives an offset.
        codec: id of compression.Codec.
        level: of compression; None is the codec's default.
        log_append_time_ms: the batch is LogAppendTime with this timestamp; None is CreateTime.
        producer_id: with producer_epoch and base_sequence; -1 is none.
        producer_epoch: see producer_id.
        base_sequence: see producer_id; control batches have none.
        is_transactional: needs a producer id.
        is_control: the records are control records.
        leader_epoch: -1 until a broker stamps it.
        delete_horizon_ms: written as base timestamp, with its flag, when 0 or more.

    Rule: R-50, R-51 (MemoryRecordsBuilder).
    """

    def __init__(
        self,
        *,
        base_offset: int = 0,
        codec: int = 0,
        level: int | None = None,
        log_append_time_ms: int | None = None,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        base_sequence: int = NO_SEQUENCE,
        is_transactional: bool = False,
        is_control: bool = False,
        leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
        delete_horizon_ms: int | None = None,
    ) -> None:
        self.base_offset = base_offset
        self.codec = codec_of(codec)
        self.level = level
        self.log_append_time_ms = log_append_time_ms
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence
        self.is_transactional = is_transactional
        self.is_control = is_control
        self.leader_epoch = leader_epoch
        # A negative horizon counts as none.
        self.delete_horizon_ms = None if (delete_horizon_ms or 0) < 0 else delete_horizon_ms
        self.record_count = 0
        self.last_offset: int | None = None
        self._base_timestamp = self.delete_horizon_ms
        self._max_timestamp = NO_TIMESTAMP
        self._records = bytearray()
        self._taken: bytes | memoryview | None = None

    @classmethod
    def like(cls, batch: RecordBatch, *, delete_horizon_ms: int | None) -> Self:
        """Begin a batch that replaces another one and keeps some of its records.

        Args:
            batch: v2.
            delete_horizon_ms: of the new batch, None for none.

        See: R-90 (MemoryRecords.buildRetainedRecordsInto).
        """
        return cls(
            base_offset=batch.base_offset,
            codec=batch.codec,
            log_append_time_ms=batch.max_timestamp if batch.is_log_append_time else None,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            base_sequence=batch.base_sequence,
            is_transactional=batch.is_transactional,
            is_control=batch.is_control,
            leader_epoch=batch.leader_epoch,
            delete_horizon_ms=delete_horizon_ms,
        )

    @property
    def next_sequential_offset(self) -> int:
        """Offset that the next record gets unless append() gives one.

        Rule: R-52 (MemoryRecordsBuilder.nextSequentialOffset).
        """
        return self.base_offset if self.last_offset is None else self.last_offset + 1

    @property
    def max_timestamp(self) -> int:
        """The header's max timestamp as it would be written now."""
        if self.log_append_time_ms is not None:
            return self.log_append_time_ms
        return self._max_timestamp

    @property
    def uncompressed_size_bytes(self) -> int:
        """Size of the header and the plain records so far, 0 before the first record.

        Rule: R-54 (DefaultRecordBatch.sizeInBytes).
        """
        return RECORD_BATCH_OVERHEAD + len(self._records) if self.record_count else 0

    @property
    def max_timestamp_offset(self) -> int:
        """Offset that a time index stores for max_timestamp: the last one, -1 without timestamps.

        Rule: R-53 (MemoryRecordsBuilder.info).
        """
        if self.last_offset is None or self.max_timestamp == NO_TIMESTAMP:
            return -1
        return self.last_offset

    def has_room_for(
        self,
        size_bytes_max: int,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Iterable[tuple[bytes, bytes | None]] = (),
    ) -> bool:
        """True if the batch with a further record keeps within a size; the first always fits.

        Rule: R-55 (MemoryRecordsBuilder.hasRoomFor).
        """
        if self._base_timestamp is None or self.record_count == 0:
            return True
        record = encode_record(
            timestamp - self._base_timestamp,
            self.next_sequential_offset - self.base_offset,
            key,
            value,
            headers,
        )
        return self.uncompressed_size_bytes + len(record) <= size_bytes_max

    def append(
        self,
        timestamp: int,
        key: bytes | memoryview | None,
        value: bytes | memoryview | None,
        headers: Iterable[tuple[bytes, bytes | None]] = (),
        *,
        offset: int | None = None,
    ) -> int:
        """Add a record.

        Returns:
            The record's offset.

        Raises:
            UnknownServerError: the offset does not increase or is too far from the base offset, or
                the timestamp is negative and not -1.

        Rule: R-50, R-52 (MemoryRecordsBuilder.appendWithOffset).
        """
        if offset is None:
            offset = self.next_sequential_offset
        self._check_append(timestamp, offset)
        if self._base_timestamp is None:
            self._base_timestamp = timestamp
        self._records += encode_record(
            timestamp - self._base_timestamp, offset - self.base_offset, key, value, headers
        )
        self.record_count += 1
        self.last_offset = offset
        self._max_timestamp = max(self._max_timestamp, timestamp)
        return offset

    def append_values(self, timestamp: int, values: Sequence[bytes]) -> None:
        """Add records that have a value and nothing else, all with the same timestamp.

        It does the same as append() for each of them, three times as fast.

        Raises:
            UnknownServerError: see append().

        Rule: R-50, R-52 (MemoryRecordsBuilder.append).
        See: R-30.
        """
        if not values:
            return
        offset = self.next_sequential_offset
        last_offset = offset + len(values) - 1
        self._check_append(timestamp, last_offset)
        if self._base_timestamp is None:
            self._base_timestamp = timestamp
        start = b"\x00" + encode_varlong(timestamp - self._base_timestamp)
        sizes: dict[int, bytes] = {}
        records: list[bytes] = []
        for offset_delta, value in enumerate(values, offset - self.base_offset):
            size = sizes.get(len(value))
            if size is None:
                size = sizes[len(value)] = _NULL + encode_varint(len(value))
            head = start + encode_varint(offset_delta) + size
            records += (encode_varint(len(head) + len(value) + 1), head, value, _NO_HEADERS)
        self._records += b"".join(records)
        self.record_count += len(values)
        self.last_offset = last_offset
        self._max_timestamp = max(self._max_timestamp, timestamp)

    def take(
        self,
        records: bytes | memoryview,
        *,
        record_count: int,
        base_timestamp: int,
        max_timestamp: int,
    ) -> None:
        """Set records that are already written, instead of append().

        Args:
            records: plain, relative to this batch; not copied before build().
            record_count: above 0.
            base_timestamp: the timestamp to which the records' deltas are relative.
            max_timestamp: the largest timestamp of the records.
        """
        self._taken = records
        self.record_count = record_count
        self._base_timestamp = base_timestamp
        self._max_timestamp = max_timestamp

    def override_last_offset(self, last_offset: int) -> None:
        """Make the batch end at a later offset than its last record, as the cleaner does."""
        self.last_offset = last_offset

    def build(self) -> bytes:
        """Write the batch; return no bytes if no record was appended.

        Raises:
            UnknownServerError: the producer fields contradict each other.

        Rule: R-51 (MemoryRecordsBuilder.close, DefaultRecordBatch.writeHeader).
        """
        if self.last_offset is None or self._base_timestamp is None or self.record_count == 0:
            return b""
        self._check_producer()
        plain = self._records if self._taken is None else self._taken
        records = compress(self.codec, plain, self.level)
        batch = bytearray(RECORD_BATCH_OVERHEAD + len(records))
        HEADER.pack_into(
            batch,
            0,
            self.base_offset,
            len(batch) - LOG_OVERHEAD,
            self.leader_epoch,
            CURRENT_MAGIC,
            0,
            self._attributes(),
            self.last_offset - self.base_offset,
            self._base_timestamp,
            self.max_timestamp,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self.record_count,
        )
        batch[RECORD_BATCH_OVERHEAD:] = records
        checksum = crc32c(memoryview(batch)[ATTRIBUTES_OFFSET:])
        batch[_CRC_OFFSET:ATTRIBUTES_OFFSET] = checksum.to_bytes(4, "big")
        return bytes(batch)

    def _attributes(self) -> int:
        attributes = int(self.codec)
        if self.log_append_time_ms is not None:
            attributes |= LOG_APPEND_TIME_FLAG
        if self.is_transactional:
            attributes |= TRANSACTIONAL_FLAG
        if self.is_control:
            attributes |= CONTROL_FLAG
        if self.delete_horizon_ms is not None:
            attributes |= DELETE_HORIZON_FLAG
        return attributes

    def _check_append(self, timestamp: int, offset: int) -> None:
        if timestamp < NO_TIMESTAMP:
            raise UnknownServerError(f"Invalid negative timestamp {timestamp}")
        if self.last_offset is not None and offset <= self.last_offset:
            raise UnknownServerError(
                f"Illegal offset {offset} following previous offset {self.last_offset} "
                "(Offsets must increase monotonically)."
            )
        if offset - self.base_offset > _INT32_MAX:
            raise UnknownServerError(f"offset {offset} is too far from {self.base_offset}")
        if self.record_count == _INT32_MAX:
            raise UnknownServerError("a batch holds 2147483647 records at most")

    def _check_producer(self) -> None:
        has_producer_id = self.producer_id > NO_PRODUCER_ID
        if self.is_transactional and not has_producer_id:
            raise UnknownServerError("Cannot write transactional messages without a producer ID")
        if has_producer_id and self.producer_epoch == NO_PRODUCER_EPOCH:
            raise UnknownServerError("Invalid negative producer epoch")
        if has_producer_id and not self.is_control and self.base_sequence < 0:
            raise UnknownServerError("Invalid negative sequence number used")
