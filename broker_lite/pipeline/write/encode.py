"""Encodes rows as record batches: compiled code writes the records, this module the headers.

A batch may have rows of several Arrow batches. It is returned as a view of the encoder's buffer, so
the caller must write it before encoding more rows.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from broker_lite.pipeline.write.record_input import RecordInput
from broker_lite.record.batch import (
    ATTRIBUTES_OFFSET,
    CURRENT_MAGIC,
    HEADER,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    RECORD_BATCH_OVERHEAD,
    TRANSACTIONAL_FLAG,
)
from broker_lite.record.codecs.compression import Codec, compress
from broker_lite.record.crc import crc32c
from broker_lite.record.loops.encode_records import varlong_size_bytes

BATCH_BYTES: Final = 16384
"""The default of the Kafka producer's batch.size."""
LEADER_EPOCH: Final = 0
"""The commit overwrites it if the log has a later one."""

_CRC_POSITION: Final = 17


class Producer(NamedTuple):
    """The producer fields of a batch header."""

    producer_id: int = NO_PRODUCER_ID
    epoch: int = NO_PRODUCER_EPOCH
    base_sequence: int = NO_SEQUENCE
    is_transactional: bool = False


NO_PRODUCER: Final = Producer()


class EncodedBatch(NamedTuple):
    """An encoded batch; encoding more rows overwrites `data`."""

    data: memoryview | bytearray | bytes
    base_offset: int
    last_offset: int
    max_timestamp: int
    record_count: int


class BatchEncoder:
    """Encodes the batches of one partition.

    Args:
        next_offset: of the first record, unless rows have their own.
        batch_bytes: maximum size of a batch before compression; a larger record gets its own batch.
        codec: may change between batches.
        log_append_time_ms: the LogAppendTime of all batches; None means CreateTime.

    See: R-50, R-51, R-55 (MemoryRecordsBuilder).
    """

    def __init__(
        self,
        next_offset: int,
        *,
        batch_bytes: int = BATCH_BYTES,
        codec: Codec = Codec.NONE,
        log_append_time_ms: int | None = None,
    ) -> None:
        self.next_offset = next_offset
        self.codec = codec
        self.batch_bytes = batch_bytes
        self.log_append_time_ms = log_append_time_ms
        self.record_count = 0
        self._buffer = memoryview(bytearray(batch_bytes))
        self._position = RECORD_BATCH_OVERHEAD
        self._base_offset = next_offset
        self._base_timestamp = 0
        self._max_timestamp = -1

    def append(self, rows: RecordInput, row: int, end_row: int) -> Iterator[EncodedBatch]:
        """Encode rows and yield the full batches; the last rows stay in the open batch.

        Raises:
            ValueError: a row cannot be encoded; its batch is lost.
        """
        while row < end_row:
            if not self.record_count:
                self._begin(rows, row)
            written = self._encode(rows, row, end_row, self.batch_bytes)
            if written == row and not self.record_count:
                written = self._encode(rows, row, row + 1, self._make_room(rows, row))
            if written > row:
                self._take(rows, written - row)
            if written < end_row:
                yield self.finish()
            row = written

    def finish(self, producer: Producer = NO_PRODUCER) -> EncodedBatch:
        """Close the open batch, which must have at least one record."""
        assert self.record_count, "a batch has records"
        if self.codec is Codec.NONE:
            batch = self._buffer[: self._position]
        else:
            records = compress(self.codec, self._buffer[RECORD_BATCH_OVERHEAD : self._position])
            batch = memoryview(bytearray(RECORD_BATCH_OVERHEAD + len(records)))
            batch[RECORD_BATCH_OVERHEAD:] = records
        max_timestamp = self._max_timestamp
        if self.log_append_time_ms is not None:
            max_timestamp = self.log_append_time_ms
        self._write_header(batch, max_timestamp, producer)
        encoded = EncodedBatch(
            batch, self._base_offset, self.next_offset - 1, max_timestamp, self.record_count
        )
        self.record_count = 0
        return encoded

    def skip(self, offset_count: int) -> None:
        """Skip offsets before the next batch; no batch may be open."""
        assert not self.record_count, "a batch has no gaps"
        self.next_offset += offset_count

    def grow(self, batch_bytes: int) -> None:
        """Raise the maximum size of a batch; no batch may be open."""
        assert not self.record_count, "the batch would move"
        self.batch_bytes = max(self.batch_bytes, batch_bytes)
        if self.batch_bytes > len(self._buffer):
            self._buffer = memoryview(bytearray(self.batch_bytes))

    def _begin(self, rows: RecordInput, row: int) -> None:
        # The encoder refuses an offset below next_offset.
        own_offset = rows.offsets[row] if len(rows.offsets) else self.next_offset
        self._base_offset = max(own_offset, self.next_offset)
        self._base_timestamp = rows.timestamps[row]
        self._max_timestamp = -1
        self._position = RECORD_BATCH_OVERHEAD

    def _encode(self, rows: RecordInput, row: int, end_row: int, end: int) -> int:
        return rows.encoder.encode(
            row,
            end_row,
            self._base_offset,
            self.next_offset if self.record_count else self._base_offset,
            self._base_timestamp,
            self._buffer,
            self._position,
            end,
        )

    def _take(self, rows: RecordInput, count: int) -> None:
        encoder = rows.encoder
        self.record_count += count
        self._position = encoder.position
        self._max_timestamp = max(self._max_timestamp, encoder.max_timestamp)
        self.next_offset = encoder.last_offset + 1

    def _make_room(self, rows: RecordInput, row: int) -> int:
        """Enlarge the buffer for a single large record; return the end of the record."""
        size_bytes = rows.encoder.record_size_bytes(row, 0, 0)
        end = RECORD_BATCH_OVERHEAD + varlong_size_bytes(size_bytes) + size_bytes
        if end > len(self._buffer):
            self._buffer = memoryview(bytearray(end))
        return end

    def _write_header(self, batch: memoryview, max_timestamp: int, producer: Producer) -> None:
        attributes = int(self.codec)
        if self.log_append_time_ms is not None:
            attributes |= LOG_APPEND_TIME_FLAG
        if producer.is_transactional:
            attributes |= TRANSACTIONAL_FLAG
        HEADER.pack_into(
            batch,
            0,
            self._base_offset,
            len(batch) - LOG_OVERHEAD,
            LEADER_EPOCH,
            CURRENT_MAGIC,
            0,
            attributes,
            self.next_offset - 1 - self._base_offset,
            self._base_timestamp,
            max_timestamp,
            producer.producer_id,
            producer.epoch,
            producer.base_sequence,
            self.record_count,
        )
        checksum = crc32c(batch[ATTRIBUTES_OFFSET:])
        batch[_CRC_POSITION:ATTRIBUTES_OFFSET] = checksum.to_bytes(4, "big")
