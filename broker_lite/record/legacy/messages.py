"""Messages of magic 0 and 1, which logs of old releases still hold: views, and their content.

A message is a batch of one record, or a wrapper whose value is a compressed set of messages. They
are only read here. Unlike a v2 batch, they have no headers, producers, transactions, leader
epochs or count of records.

Rule: R-70, R-60 to R-68 (LegacyRecord, AbstractLegacyRecordBatch).
"""

import struct
import zlib
from collections import deque
from collections.abc import Iterator
from typing import Final, NamedTuple

from broker_lite.errors import CorruptMessage, InvalidRecord, UnknownServerError
from broker_lite.record.codecs import lz4_stream
from broker_lite.record.codecs.compression import Codec, Decompressed, codec_of, decompress
from broker_lite.record.codecs.decompressed import UNBOUNDED, Bounds
from broker_lite.record.framing import LOG_OVERHEAD, RECORD_OVERHEAD_V0, Entry

NO_TIMESTAMP_TYPE: Final = -1
CREATE_TIME: Final = 0
LOG_APPEND_TIME: Final = 1
LOG_APPEND_TIME_FLAG: Final = 0x08
ATTRIBUTES_OFFSET: Final = 17

_HEAD: Final = struct.Struct(">qiIbb")
_CRC: Final = struct.Struct(">I")
_OFFSET: Final = struct.Struct(">q")
_LENGTH: Final = struct.Struct(">8xi")
_INT32: Final = struct.Struct(">i")
_INT64: Final = struct.Struct(">q")
_CODEC_MASK: Final = 0x07
_CRC_COVERS_FROM: Final = 16
_SIZE_MIN_V0: Final = LOG_OVERHEAD + RECORD_OVERHEAD_V0
_SIZE_MIN_V1: Final = _SIZE_MIN_V0 + 8


class SetTooLarge(UnknownServerError):
    """A compressed set is larger than the caller allows."""


class LegacyRecord(NamedTuple):
    """One record; key and value are copies. In magic 0 the timestamp is -1 and has no type."""

    offset: int
    timestamp: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None


class LegacyMessage:
    """A view of one message or wrapper inside a buffer; its head is read once, here.

    Args:
        buffer: holds the whole message; kept, not copied.
        position: of its first byte.
        size_bytes: of the whole message, 12 + length.

    Attributes:
        last_offset: the offset field; a wrapper's is that of its last record.
        timestamp: -1 in magic 0; a wrapper's is the largest of its records.

    Raises:
        CorruptMessage: fewer bytes than a message of magic 0 has.
        UnknownServerError: fewer bytes than a message of magic 1 has.

    Rule: R-60, R-62 (LegacyRecord).
    See: R-06.
    """

    __slots__ = (
        "attributes",
        "buffer",
        "crc",
        "last_offset",
        "length",
        "magic",
        "position",
        "size_bytes",
        "timestamp",
    )

    last_offset: int
    length: int
    crc: int
    magic: int
    attributes: int
    timestamp: int

    def __init__(self, buffer: memoryview, position: int, size_bytes: int) -> None:
        if size_bytes < _SIZE_MIN_V0:
            raise CorruptMessage(
                f"Record is corrupt (the size {size_bytes} is smaller than the minimum allowed "
                f"overhead {_SIZE_MIN_V0})"
            )
        self.buffer = buffer
        self.position = position
        self.size_bytes = size_bytes
        self.last_offset, self.length, self.crc, self.magic, self.attributes = _HEAD.unpack_from(
            buffer, position
        )
        self.timestamp = -1
        if self.magic:
            if size_bytes < _SIZE_MIN_V1:
                raise UnknownServerError(f"{size_bytes} bytes are no message of magic 1")
            self.timestamp = _INT64.unpack_from(buffer, position + _HEAD.size)[0]

    @property
    def end(self) -> int:
        """Position after the last byte."""
        return self.position + self.size_bytes

    @property
    def next_offset(self) -> int:
        """Offset after the message, or after the last message of a wrapper."""
        return self.last_offset + 1

    @property
    def codec(self) -> int:
        """Bits 0 to 2 of the attributes; only 0 to 3 are allowed."""
        return self.attributes & _CODEC_MASK

    @property
    def is_wrapper(self) -> bool:
        """True if the value is a compressed set of messages."""
        return self.attributes & _CODEC_MASK != 0

    @property
    def timestamp_type(self) -> int:
        """CREATE_TIME or LOG_APPEND_TIME, NO_TIMESTAMP_TYPE in magic 0."""
        if self.magic == 0:
            return NO_TIMESTAMP_TYPE
        return LOG_APPEND_TIME if self.attributes & LOG_APPEND_TIME_FLAG else CREATE_TIME

    def crc_is_valid(self) -> bool:
        """True if the stored checksum is that of the bytes behind it.

        Rule: R-61 (LegacyRecord.computeChecksum).
        """
        return crc_is_valid(self.buffer, self.position, self.size_bytes)

    def key_and_value(self) -> tuple[memoryview | None, memoryview | None]:
        """Return both as views.

        Raises:
            UnknownServerError: one of them would end beyond the message.

        Rule: R-60.
        See: R-06.
        """
        start = self.position + (_SIZE_MIN_V1 if self.magic else _SIZE_MIN_V0) - 8
        key, position = self._field(start)
        value, _ = self._field(position)
        return key, value

    def _field(self, position: int) -> tuple[memoryview | None, int]:
        start = position + _INT32.size
        if start > self.end:
            raise UnknownServerError("a field begins behind the end of the message")
        length = _INT32.unpack_from(self.buffer, position)[0]
        if length < 0:
            return None, start
        if length > self.end - start:
            raise UnknownServerError(f"a field of {length} bytes is longer than the message")
        return self.buffer[start : start + length], start + length


def crc_is_valid(buffer: memoryview, position: int, size_bytes: int) -> bool:
    """True if a message of at least 26 bytes has the right checksum, whatever else is wrong.

    Rule: R-61 (LegacyRecord.isValid).
    See: R-06.
    """
    (stored,) = _CRC.unpack_from(buffer, position + LOG_OVERHEAD)
    data = buffer[position + _CRC_COVERS_FROM : position + size_bytes]
    return bool(stored == zlib.crc32(data))


def iterate_legacy(
    message: LegacyMessage,
    *,
    check_inner: bool = False,
    check_crc: bool = False,
    bounds: Bounds = UNBOUNDED,
) -> Iterator[LegacyRecord]:
    """Yield the records of a message or wrapper, with absolute offsets.

    Args:
        message: its own checksum is not checked.
        check_inner: check the checksums of the messages inside a wrapper, and whether they have
            its magic. Kafka does so for produced messages; its readers do not.
        check_crc: check those checksums only, as a consumer does.
        bounds: of a decompressed set; its `stop` is checked before each message, too.

    Raises:
        InvalidRecord: a wrapper without messages, with wrappers inside, or with another codec; a
            message inside has another magic.
        CorruptMessage: a message inside is too short, or its checksum is wrong.
        UnknownServerError: the codec failed, the set is too large, or a field is longer than its
            message.
        WorkStopped: the bounds' `stop` was set.

    Rule: R-64 to R-68 (AbstractLegacyRecordBatch.DeepRecordsIterator, LogValidator).
    See: V-33.
    """
    if not message.is_wrapper:
        yield _record(message, message.last_offset, message)
        return
    buffer = _plain_set(message, bounds)
    # The last one's offset is needed before the first record is yielded. The set is walked twice,
    # because it may have millions of messages, too many to keep in a list.
    ends = deque(_inner_entries(buffer), maxlen=1)
    if not ends:
        raise InvalidRecord("a compressed set without a whole message")
    first_offset = _first_offset(message, _OFFSET.unpack_from(buffer, ends[0].position)[0])
    for entry in _inner_entries(buffer):
        bounds.stop.check()
        if check_crc and not crc_is_valid(buffer, entry.position, entry.size_bytes):
            raise CorruptMessage("wrong checksum of a message inside a compressed set")
        inner = _inner_message(buffer, entry, message.magic if check_inner else None)
        yield _record(inner, first_offset + inner.last_offset, message)


def _plain_set(wrapper: LegacyMessage, bounds: Bounds) -> memoryview:
    content = _content(wrapper, bounds)
    if content.failed:
        raise UnknownServerError("Failed to decompress record stream")
    if content.limit_exceeded:
        raise SetTooLarge(f"a compressed set is larger than {bounds.output_bytes_max} bytes")
    return memoryview(content.data)


def _inner_entries(buffer: memoryview) -> Iterator[Entry]:
    """Walk the messages of a set; a cut one at the end is ignored, and no magic is checked.

    Rule: R-68 (AbstractLegacyRecordBatch.DataLogInputStream).
    """
    position, end = 0, len(buffer)
    while end - position >= LOG_OVERHEAD:
        (length,) = _LENGTH.unpack_from(buffer, position)
        if length < RECORD_OVERHEAD_V0:
            raise CorruptMessage(f"a message of {length} bytes inside a compressed set")
        if length > end - position - LOG_OVERHEAD:
            return
        size_bytes = LOG_OVERHEAD + length
        yield Entry(position, size_bytes, buffer[position + _CRC_COVERS_FROM])
        position += size_bytes


def _inner_message(buffer: memoryview, entry: Entry, magic: int | None) -> LegacyMessage:
    """Return a view of a message inside a set; if a magic is given, check it as a produced one.

    Rule: R-68 (AbstractLegacyRecordBatch.DeepRecordsIterator, LogValidator).
    See: V-33.
    """
    position, size_bytes, own_magic = entry
    if codec_of(buffer[position + ATTRIBUTES_OFFSET] & _CODEC_MASK):
        raise InvalidRecord("a compressed message inside a compressed set")
    if magic is None:
        if own_magic > 1:
            raise CorruptMessage(f"a message of magic {own_magic} inside a compressed set")
    elif own_magic != magic:
        # Kafka prints the message, which fails if its fields are not those of its magic.
        LegacyMessage(buffer, position, size_bytes).key_and_value()
        raise InvalidRecord(f"a message of magic {own_magic} inside a set of magic {magic}")
    elif not crc_is_valid(buffer, position, size_bytes):
        raise CorruptMessage("wrong checksum of a message inside a compressed set")
    return LegacyMessage(buffer, position, size_bytes)


def _content(wrapper: LegacyMessage, bounds: Bounds) -> Decompressed:
    _, value = wrapper.key_and_value()
    if value is None:
        raise InvalidRecord("a compressed set that is null")
    if wrapper.codec == Codec.ZSTD:
        raise InvalidRecord(f"zstd in a message of magic {wrapper.magic}")
    if wrapper.codec == Codec.LZ4 and wrapper.magic == 0:
        return lz4_stream.decompress(value, bounds, check_header=False)
    return decompress(
        wrapper.codec,
        value,
        output_bytes_max=bounds.output_bytes_max,
        parts_max=bounds.parts_max,
        stop=bounds.stop,
    )


def _first_offset(wrapper: LegacyMessage, last_inner_offset: int) -> int:
    """Return the offset to which the offsets inside a set are relative.

    Rule: R-65, R-66.
    """
    if wrapper.magic == 0 or wrapper.last_offset == 0:
        return 0
    if wrapper.last_offset < last_inner_offset:
        raise InvalidRecord(
            f"offset {wrapper.last_offset} of a compressed set below its last {last_inner_offset}"
        )
    return wrapper.last_offset - last_inner_offset


def _record(message: LegacyMessage, offset: int, outer: LegacyMessage) -> LegacyRecord:
    """Copy a record out of its message.

    Rule: R-67: the append time of a wrapper is that of all its records.
    """
    key, value = message.key_and_value()
    timed = outer if outer.timestamp_type == LOG_APPEND_TIME else message
    return LegacyRecord(
        offset,
        timed.timestamp,
        timed.timestamp_type,
        None if key is None else bytes(key),
        None if value is None else bytes(value),
    )
