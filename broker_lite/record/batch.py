"""The 61-byte header of a v2 record batch as a view.

Nothing here looks at single records. A RecordBatch reads its header once; it keeps the buffer it
was made from and copies no bytes. Setters change a writable buffer in place. Base offset and leader
epoch lie outside the checksum, so stamping them needs no new checksum.

The walk over a buffer of batches is in framing.py, for all magics; magic 0 and 1 have no view here.

Rule: R-15.
"""

import struct
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from broker_lite.errors import CorruptMessage
from broker_lite.record.crc import crc32c
from broker_lite.record.framing import (
    CURRENT_MAGIC,
    HEADER_SIZE_UP_TO_MAGIC,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    RECORD_OVERHEAD_V0,
    Entry,
    valid_bytes,
    walk,
)

__all__ = [
    "ATTRIBUTES_OFFSET",
    "CODEC_MASK",
    "CONTROL_FLAG",
    "CURRENT_MAGIC",
    "DELETE_HORIZON_FLAG",
    "HEADER",
    "HEADER_SIZE_UP_TO_MAGIC",
    "LOG_APPEND_TIME_FLAG",
    "LOG_OVERHEAD",
    "MAGIC_OFFSET",
    "MAX_RECORD_OVERHEAD",
    "NO_PARTITION_LEADER_EPOCH",
    "NO_PRODUCER_EPOCH",
    "NO_PRODUCER_ID",
    "NO_SEQUENCE",
    "NO_TIMESTAMP",
    "RECORD_BATCH_OVERHEAD",
    "RECORD_OVERHEAD_V0",
    "SEQUENCE_MAX",
    "TRANSACTIONAL_FLAG",
    "Entry",
    "Header",
    "RecordBatch",
    "decrement_sequence",
    "increment_sequence",
    "parse_header",
    "valid_bytes",
    "walk",
]

ATTRIBUTES_OFFSET: Final = 21
RECORD_BATCH_OVERHEAD: Final = 61
MAX_RECORD_OVERHEAD: Final = 21

NO_TIMESTAMP: Final = -1
NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_PARTITION_LEADER_EPOCH: Final = -1

CODEC_MASK: Final = 0x07
LOG_APPEND_TIME_FLAG: Final = 0x08
TRANSACTIONAL_FLAG: Final = 0x10
CONTROL_FLAG: Final = 0x20
DELETE_HORIZON_FLAG: Final = 0x40
_FLAGS: Final = 0x7F

SEQUENCE_MAX: Final = 2**31 - 1

_Fields: TypeAlias = tuple[
    int, int, int, int, int, int, int, int, int, int, int, int, int
]  # those of Header
HEADER: Final = struct.Struct(">qiibIhiqqqhii")
# with the type of what it returns, which spares a compiled caller to iterate over it
_READ_HEADER: Final[Callable[[memoryview, int], _Fields]] = HEADER.unpack_from
_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_UINT32: Final = struct.Struct(">I")
_INT64: Final = struct.Struct(">q")

_CRC_OFFSET: Final = 17
_LEADER_EPOCH_OFFSET: Final = 12
_MAX_TIMESTAMP_OFFSET: Final = 35


class Header(NamedTuple):
    """The fields of the 61 bytes in their order.

    Rule: R-10 (DefaultRecordBatch).
    """

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int


def parse_header(buffer: bytes | bytearray | memoryview, position: int = 0) -> Header:
    """Read the 61 bytes of a v2 header, whatever values they hold.

    Raises:
        CorruptMessage: fewer than 61 bytes are there.
    """
    if len(buffer) - position < RECORD_BATCH_OVERHEAD:
        raise _too_small(len(buffer) - position)
    return Header._make(HEADER.unpack_from(buffer, position))


def increment_sequence(sequence: int, increment: int) -> int:
    """Add to a sequence number; 0 comes after 2147483647.

    Rule: R-14 (DefaultRecordBatch.incrementSequence).
    """
    if sequence > SEQUENCE_MAX - increment:
        return increment - (SEQUENCE_MAX - sequence) - 1
    return sequence + increment


def decrement_sequence(sequence: int, decrement: int) -> int:
    """Subtract from a sequence number; 2147483647 comes before 0.

    Rule: R-14 (DefaultRecordBatch.decrementSequence).
    """
    if sequence < decrement:
        return SEQUENCE_MAX - (decrement - sequence) + 1
    return sequence - decrement


def _too_small(size_bytes: int) -> CorruptMessage:
    return CorruptMessage(
        f"Record batch is corrupt (the size {size_bytes} is smaller than the minimum allowed "
        f"overhead {RECORD_BATCH_OVERHEAD})"
    )


class RecordBatch:
    """A view of one v2 batch inside a buffer; the header is read once, when the view is made.

    The attributes are those of Header. The setters update them, other writes to the buffer do not.

    Args:
        buffer: holds the whole batch; kept, not copied.
        position: of the batch's first byte.
        size_bytes: of the whole batch, 12 + length.

    Raises:
        CorruptMessage: size_bytes < 61.

    Rule: R-06, R-10, R-12, R-14 (DefaultRecordBatch).
    """

    __slots__ = (
        "attributes",
        "base_offset",
        "base_sequence",
        "base_timestamp",
        "buffer",
        "crc",
        "last_offset_delta",
        "leader_epoch",
        "length",
        "magic",
        "max_timestamp",
        "position",
        "producer_epoch",
        "producer_id",
        "record_count",
        "size_bytes",
    )

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    def __init__(self, buffer: memoryview, position: int, size_bytes: int) -> None:
        if size_bytes < RECORD_BATCH_OVERHEAD:
            raise _too_small(size_bytes)
        self.buffer = buffer
        self.position = position
        self.size_bytes = size_bytes
        (
            self.base_offset,
            self.length,
            self.leader_epoch,
            self.magic,
            self.crc,
            self.attributes,
            self.last_offset_delta,
            self.base_timestamp,
            self.max_timestamp,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self.record_count,
        ) = _READ_HEADER(buffer, position)

    @property
    def end(self) -> int:
        """Position after the last byte."""
        return self.position + self.size_bytes

    @property
    def data(self) -> memoryview:
        """A view of the bytes of the batch."""
        return self.buffer[self.position : self.position + self.size_bytes]

    @property
    def records_position(self) -> int:
        """Position of the records, or of the compressed stream."""
        return self.position + RECORD_BATCH_OVERHEAD

    @property
    def records_data(self) -> memoryview:
        """A view of the records, or of the compressed stream.

        Rule: R-19 (DefaultRecordBatch).
        """
        return self.buffer[self.position + RECORD_BATCH_OVERHEAD : self.position + self.size_bytes]

    @property
    def codec(self) -> int:
        """Bits 0 to 2 of the attributes; 5, 6 and 7 name no codec."""
        return self.attributes & CODEC_MASK

    @property
    def is_compressed(self) -> bool:
        """True if the records are one compressed stream."""
        return self.attributes & CODEC_MASK != 0

    @property
    def is_log_append_time(self) -> bool:
        """True if the timestamp of every record is max_timestamp."""
        return self.attributes & LOG_APPEND_TIME_FLAG != 0

    @property
    def is_transactional(self) -> bool:
        """True if the batch is part of a transaction."""
        return self.attributes & TRANSACTIONAL_FLAG != 0

    @property
    def is_control(self) -> bool:
        """True if the records are control records."""
        return self.attributes & CONTROL_FLAG != 0

    @property
    def has_delete_horizon(self) -> bool:
        """True if base_timestamp is a delete horizon."""
        return self.attributes & DELETE_HORIZON_FLAG != 0

    @property
    def delete_horizon_ms(self) -> int | None:
        """The time from which compaction may remove tombstones and markers of the batch, or None.

        Rule: R-17 (DefaultRecordBatch.deleteHorizonMs).
        """
        return self.base_timestamp if self.attributes & DELETE_HORIZON_FLAG else None

    @property
    def last_offset(self) -> int:
        """Offset of the last record, even if compaction removed that record."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """Offset after the batch."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """Sequence of the last record, -1 without sequences."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return increment_sequence(self.base_sequence, self.last_offset_delta)

    @property
    def has_producer_id(self) -> bool:
        """True if there is a producer id; every negative one counts as none."""
        return self.producer_id > NO_PRODUCER_ID

    def computed_crc(self) -> int:
        """Return the checksum of the bytes from the attributes to the end.

        Rule: R-11 (DefaultRecordBatch.computeChecksum).
        """
        return crc32c(
            self.buffer[self.position + ATTRIBUTES_OFFSET : self.position + self.size_bytes]
        )

    def crc_is_valid(self) -> bool:
        """True if the stored checksum is that of the bytes."""
        return self.crc == self.computed_crc()

    def ensure_valid(self) -> None:
        """Check the checksum.

        Raises:
            CorruptMessage: the stored checksum is wrong.

        Rule: R-06 (DefaultRecordBatch.ensureValid).
        """
        computed = self.computed_crc()
        if self.crc != computed:
            raise CorruptMessage(
                f"Record is corrupt (stored crc = {self.crc}, computed crc = {computed})"
            )

    def set_last_offset(self, offset: int) -> None:
        """Move the batch so that its last record has this offset; the checksum stays valid.

        Rule: R-20 (DefaultRecordBatch.setLastOffset).
        """
        self.base_offset = offset - self.last_offset_delta
        _INT64.pack_into(self.buffer, self.position, self.base_offset)

    def set_leader_epoch(self, leader_epoch: int) -> None:
        """Write the leader epoch; the checksum stays valid.

        Rule: R-20 (DefaultRecordBatch.setPartitionLeaderEpoch).
        """
        self.leader_epoch = leader_epoch
        _INT32.pack_into(self.buffer, self.position + _LEADER_EPOCH_OFFSET, leader_epoch)

    def set_max_timestamp(self, append_time: bool, max_timestamp: int) -> None:
        """Write timestamp type and max_timestamp, and a new checksum if one of them changed.

        A change clears the unused attribute bits; if nothing changes, nothing is written.

        Rule: R-13, R-20 (DefaultRecordBatch.setMaxTimestamp).
        """
        if self.is_log_append_time == append_time and self.max_timestamp == max_timestamp:
            return
        flag = LOG_APPEND_TIME_FLAG if append_time else 0
        self.attributes = self.attributes & (_FLAGS & ~LOG_APPEND_TIME_FLAG) | flag
        self.max_timestamp = max_timestamp
        _INT16.pack_into(self.buffer, self.position + ATTRIBUTES_OFFSET, self.attributes)
        _INT64.pack_into(self.buffer, self.position + _MAX_TIMESTAMP_OFFSET, max_timestamp)
        self.crc = self.computed_crc()
        _UINT32.pack_into(self.buffer, self.position + _CRC_OFFSET, self.crc)
