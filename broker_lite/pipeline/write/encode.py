"""Encodes rows as record batches: compiled code writes the records, this module the headers.

A batch may have rows of several Arrow batches. It is returned as a view of the encoder's buffer, so
the caller must write it before encoding more rows.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from broker_lite.pipeline.read.measured import PLAIN_BYTES_MAX
from broker_lite.pipeline.write.record_input import RecordInput
from broker_lite.record.batch import (
    ATTRIBUTES_OFFSET,
    CONTROL_FLAG,
    CURRENT_MAGIC,
    DELETE_HORIZON_FLAG,
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
SPARE_BYTES: Final = 1 << 20
"""The default of message.max.bytes: a buffer for such batches is kept."""
KEPT_BYTES_MAX: Final = PLAIN_BYTES_MAX + RECORD_BATCH_OVERHEAD
"""No reader takes a batch with more bytes of records."""

_CRC_POSITION: Final = 17


class Producer(NamedTuple):
    """The producer fields of a batch header."""

    producer_id: int = NO_PRODUCER_ID
    epoch: int = NO_PRODUCER_EPOCH
    base_sequence: int = NO_SEQUENCE
    is_transactional: bool = False


NO_PRODUCER: Final = Producer()


class KeptHeader(NamedTuple):
    """What a batch keeps that was in a log before, whichever of its records are left.

    Attributes:
        base_timestamp: None means that of the first record.
        max_timestamp: of a batch with LogAppendTime or without records; None means that of the
            records that are left, as for all others.
    """

    base_offset: int
    last_offset: int
    record_count: int
    codec: Codec
    is_log_append_time: bool
    is_control: bool
    has_delete_horizon: bool
    producer: Producer
    leader_epoch: int
    base_timestamp: int | None
    max_timestamp: int | None

    @property
    def flags(self) -> int:
        """The attributes without the codec.

        See: R-12 (DefaultRecordBatch.computeAttributes).
        """
        return (
            LOG_APPEND_TIME_FLAG * self.is_log_append_time
            | TRANSACTIONAL_FLAG * self.producer.is_transactional
            | CONTROL_FLAG * self.is_control
            | DELETE_HORIZON_FLAG * self.has_delete_horizon
        )


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

    Attributes:
        leader_epoch: of the batches; the commit overwrites it if the log has a later one.

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
        self.leader_epoch = LEADER_EPOCH
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
                # The encoder refuses an offset below next_offset.
                own_offset = rows.offsets[row] if len(rows.offsets) else self.next_offset
                self._begin(max(own_offset, self.next_offset), rows.timestamps[row])
            written = self._encode(rows, row, end_row, self.batch_bytes)
            if written == row and not self.record_count:
                written = self._encode(rows, row, row + 1, self._make_room(rows, row))
            if written > row:
                self._take(rows, written - row)
            if written < end_row:
                yield self.finish()
            row = written

    def begin(self, header: KeptHeader, first_timestamp: int) -> None:
        """Begin a batch that keeps its header; fill() and keep() follow. No batch may be open.

        Args:
            header: of the batch.
            first_timestamp: of its first record, for a header without a base timestamp.

        Raises:
            ValueError: its offsets are not behind those of the batches before.
        """
        assert not self.record_count, "the open batch would be lost"
        if header.base_offset < self.next_offset:
            raise ValueError(f"it begins below {self.next_offset}, where another batch ends")
        base_timestamp = header.base_timestamp
        self._begin(
            header.base_offset, first_timestamp if base_timestamp is None else base_timestamp
        )
        self.next_offset = header.base_offset

    def fill(self, rows: RecordInput, row: int, end_row: int) -> None:
        """Encode rows into the batch of begin(), which grows with them.

        Raises:
            ValueError: a row cannot be encoded, or the batch would be too large to be read again.
        """
        while row < end_row:
            written = self._encode(rows, row, end_row, len(self._buffer))
            if written > row:
                self._take(rows, written - row)
            else:
                self._enlarge(rows, row)
            row = written

    def keep(self, header: KeptHeader) -> EncodedBatch:
        """Close the batch of begin(); without records it is one that compaction has emptied."""
        max_timestamp = self._max_timestamp
        is_told = header.is_log_append_time or not self.record_count
        if is_told and header.max_timestamp is not None:
            max_timestamp = header.max_timestamp
        self.next_offset = header.last_offset + 1
        return self._close(header.flags, max_timestamp, header.producer)

    def finish(self, producer: Producer = NO_PRODUCER) -> EncodedBatch:
        """Close the open batch, which must have at least one record."""
        assert self.record_count, "a batch has records"
        flags = TRANSACTIONAL_FLAG * producer.is_transactional
        if self.log_append_time_ms is None:
            return self._close(flags, self._max_timestamp, producer)
        return self._close(flags | LOG_APPEND_TIME_FLAG, self.log_append_time_ms, producer)

    def _close(self, flags: int, max_timestamp: int, producer: Producer) -> EncodedBatch:
        codec = self.codec if self.record_count else Codec.NONE
        if codec is Codec.NONE:
            batch = self._buffer[: self._position]
        else:
            records = compress(codec, self._buffer[RECORD_BATCH_OVERHEAD : self._position])
            batch = memoryview(bytearray(RECORD_BATCH_OVERHEAD + len(records)))
            batch[RECORD_BATCH_OVERHEAD:] = records
        self._write_header(batch, int(codec) | flags, max_timestamp, producer)
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

    def shrink(self) -> None:
        """Let go of the memory of a large batch that was written; no batch may be open."""
        assert not self.record_count, "the open batch would be lost"
        if len(self._buffer) > max(self.batch_bytes, SPARE_BYTES):
            self._buffer = memoryview(bytearray(self.batch_bytes))

    def _begin(self, base_offset: int, base_timestamp: int) -> None:
        self._base_offset = base_offset
        self._base_timestamp = base_timestamp
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

    def _enlarge(self, rows: RecordInput, row: int) -> None:
        """Enlarge the buffer for a row that the open batch has no room for."""
        timestamp_delta = rows.timestamps[row] - self._base_timestamp
        size_bytes = rows.encoder.record_size_bytes(
            row, timestamp_delta, rows.offsets[row] - self._base_offset
        )
        end = self._position + varlong_size_bytes(size_bytes) + size_bytes
        if end > KEPT_BYTES_MAX:
            raise ValueError(f"its records take more than {KEPT_BYTES_MAX} bytes")
        buffer = memoryview(bytearray(min(max(end, 2 * len(self._buffer)), KEPT_BYTES_MAX)))
        buffer[: self._position] = self._buffer[: self._position]
        self._buffer = buffer

    def _write_header(
        self, batch: memoryview, attributes: int, max_timestamp: int, producer: Producer
    ) -> None:
        HEADER.pack_into(
            batch,
            0,
            self._base_offset,
            len(batch) - LOG_OVERHEAD,
            self.leader_epoch,
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
