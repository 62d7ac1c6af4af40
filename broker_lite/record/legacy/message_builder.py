"""Write messages of magic 0 and 1: single ones, plain sets, and sets inside a compressed wrapper.

They are for fetches of old clients, and for the cleaner, which keeps a log's magic. The module
keeps the rules of Kafka's builder; breaking one is an UnknownServerError.

See: R-50, R-60 to R-67, R-79 (LegacyRecord, MemoryRecordsBuilder).
"""

import struct
import zlib
from typing import Final

from broker_lite.errors import UnknownServerError
from broker_lite.record.codecs import lz4_stream
from broker_lite.record.codecs.compression import Codec, codec_of, compress
from broker_lite.record.framing import LOG_OVERHEAD, RECORD_OVERHEAD_V0
from broker_lite.record.legacy.messages import LOG_APPEND_TIME_FLAG

NO_TIMESTAMP: Final = -1
RECORD_OVERHEAD_V1: Final = RECORD_OVERHEAD_V0 + 8
MAGIC_MAX: Final = 1

_HEAD: Final = struct.Struct(">qiI").pack
_V0: Final = struct.Struct(">bb").pack
_V1: Final = struct.Struct(">bbq").pack
_LENGTH: Final = struct.Struct(">i").pack
_NULL: Final = _LENGTH(-1)
_CRC_BYTES: Final = 4


def encode_message(
    offset: int,
    magic: int,
    attributes: int,
    timestamp: int,
    key: bytes | memoryview | None,
    value: bytes | memoryview | None,
) -> bytes:
    """Write one message.

    Args:
        offset: the offset to store; inside a wrapper of magic 1 it is relative.
        magic: 0 or 1.
        attributes: codec and timestamp type.
        timestamp: left out in magic 0.
        key: null or bytes.
        value: null or bytes.

    See: R-60, R-61 (LegacyRecord.write).
    """
    body = b"".join(
        (
            _V0(magic, attributes) if magic == 0 else _V1(magic, attributes, timestamp),
            *((_NULL,) if key is None else (_LENGTH(len(key)), key)),
            *((_NULL,) if value is None else (_LENGTH(len(value)), value)),
        )
    )
    return _HEAD(offset, len(body) + _CRC_BYTES, zlib.crc32(body)) + body


def message_size(magic: int, key: bytes | None, value: bytes | None) -> int:
    """Return how many bytes a message takes, its offset and length included.

    See: R-54 (LegacyRecord.recordSize).
    """
    overhead = RECORD_OVERHEAD_V0 if magic == 0 else RECORD_OVERHEAD_V1
    return LOG_OVERHEAD + overhead + len(key or b"") + len(value or b"")


class LegacySetBuilder:
    """Collects records and writes them as a plain set, or as one wrapper if there is a codec.

    Args:
        magic: 0 or 1.
        codec: id of compression.Codec; old messages cannot have zstd.
        log_append_time_ms: every message has this timestamp, and its type; None is CreateTime.

    Raises:
        UnknownServerError: no such magic or codec.

    See: R-50, R-64, R-65.
    """

    def __init__(
        self, magic: int, *, codec: int = 0, log_append_time_ms: int | None = None
    ) -> None:
        self.codec = codec_of(codec)
        if not 0 <= magic <= MAGIC_MAX or self.codec is Codec.ZSTD:
            raise UnknownServerError(f"no set of magic {magic} with codec {codec}")
        self.magic = magic
        self.log_append_time_ms = log_append_time_ms
        self.base_offset: int | None = None
        self.last_offset = -1
        self._max_timestamp = NO_TIMESTAMP
        self._messages = bytearray()
        has_type = magic > 0 and log_append_time_ms is not None
        self._type_bits = LOG_APPEND_TIME_FLAG if has_type else 0

    @property
    def size_bytes(self) -> int:
        """Size of the messages so far, before they are compressed."""
        return len(self._messages)

    def append(
        self,
        offset: int,
        timestamp: int,
        key: bytes | memoryview | None,
        value: bytes | memoryview | None,
    ) -> None:
        """Add a record with its absolute offset.

        Raises:
            UnknownServerError: the offset does not increase, or the timestamp is below -1.

        See: R-50 (MemoryRecordsBuilder.appendWithOffset).
        """
        if timestamp < NO_TIMESTAMP:
            raise UnknownServerError(f"Invalid negative timestamp {timestamp}")
        if self.base_offset is None:
            self.base_offset = offset
        elif offset <= self.last_offset:
            raise UnknownServerError(f"offset {offset} after {self.last_offset}")
        self.last_offset = offset
        if self.log_append_time_ms is not None:
            timestamp = self.log_append_time_ms
        self._max_timestamp = max(self._max_timestamp, timestamp)
        if self.codec and self.magic:
            offset -= self.base_offset
        self._messages += encode_message(offset, self.magic, self._type_bits, timestamp, key, value)

    def build(self) -> bytes:
        """Write the set; return no bytes if nothing was appended.

        See: R-65, R-67 (MemoryRecordsBuilder.writeLegacyCompressedWrapperHeader).
        """
        if self.codec is Codec.NONE or self.base_offset is None:
            return bytes(self._messages)
        if self.codec is Codec.LZ4 and self.magic == 0:
            content = lz4_stream.compress_historic(memoryview(self._messages))
        else:
            content = compress(self.codec, self._messages)
        attributes = self.codec | self._type_bits
        return encode_message(
            self.last_offset, self.magic, attributes, self._max_timestamp, None, content
        )
