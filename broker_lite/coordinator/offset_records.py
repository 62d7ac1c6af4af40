"""The records of committed offsets: OffsetCommitKey and OffsetCommitValue.

A key starts with its type, a value with its version, both int16. Every commit writes one record per
partition, and the broker reads all of them when it starts. So the versions that Kafka 4.3 writes
are packed and unpacked by hand here, in a tenth of the codec's time. All other versions go through
the codec.

See: G-66 (GroupCoordinatorRecordHelpers.newOffsetCommitRecord).
"""

from struct import Struct
from typing import Final, NamedTuple

from broker_lite.wire import ZERO_UUID, messages
from broker_lite.wire.primitives import UNDERFLOW, DecodeError

LEGACY_OFFSET_COMMIT: Final = 0
OFFSET_COMMIT: Final = 1

NO_EXPIRY: Final = -1

# the versions that Kafka 4.3 writes: v1 with an expiry, which no other one has, and v4 without
_VERSION_WITH_EXPIRY: Final = 1
_VERSION: Final = 4

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_INT64: Final = Struct(">q")
_LENGTHS: Final = Struct(">hh")
_VALUE_HEAD: Final = Struct(">hqi")
_VALUE_V1_HEAD: Final = Struct(">hqh")
_VALUE_V1_TAIL: Final = Struct(">qq")

# one tagged field: tag 0, 16 bytes
_ONE_TAG: Final = b"\x01\x00\x10"
_NO_TAGS: Final = b"\x00"
_UUID_SIZE: Final = 16
_TAGS_SIZE: Final = len(_ONE_TAG) + _UUID_SIZE
# shorter lengths take one byte as a varint; the stored number is the length plus one
_ONE_BYTE_LENGTH_MAX: Final = 0x7E


class CommittedOffset(NamedTuple):
    """The offset that a group committed for one partition.

    Attributes:
        offset: any int64, also negative (G-65).
        leader_epoch: of the record before that offset, -1 if unknown.
        metadata: a text of the client.
        commit_ms: when it was committed.
        expire_ms: when it is removed, even if the group still uses it; -1 for never. Only
            OffsetCommit v2 to v4 set it.
        topic_id: of the topic at the time of the commit, ZERO_UUID if unknown.
    """

    offset: int
    leader_epoch: int
    metadata: str
    commit_ms: int
    expire_ms: int
    topic_id: bytes


OffsetKey = tuple[str, str, int]
"""Group id, topic and partition."""


def encode_offset_key(group_id: str, topic: str, partition: int) -> bytes:
    """Return the key of an offset's record."""
    group = group_id.encode()
    name = topic.encode()
    return b"".join(
        (
            _LENGTHS.pack(OFFSET_COMMIT, len(group)),
            group,
            _INT16.pack(len(name)),
            name,
            _INT32.pack(partition),
        )
    )


def decode_offset_key(key: bytes) -> OffsetKey:
    """Return the group id, topic and partition in the key of an offset's record.

    Raises:
        DecodeError: the key is not valid.
    """
    try:
        group_size = _INT16.unpack_from(key, 2)[0]
        group_end = 4 + group_size
        name_size = _INT16.unpack_from(key, group_end)[0]
        name_end = group_end + 2 + name_size
        if group_size >= 0 <= name_size and name_end + _INT32.size == len(key):
            group_id = key[4:group_end].decode()
            topic = key[group_end + 2 : name_end].decode()
            return group_id, topic, _INT32.unpack_from(key, name_end)[0]
    except (*UNDERFLOW, UnicodeDecodeError):
        # the codec raises an error with a better text
        pass
    decoded, _ = messages.OffsetCommitKey.decode(key, 0, _INT16.size)
    return decoded.group, decoded.topic, decoded.partition


def encode_offset_value(committed: CommittedOffset) -> bytes:
    """Return the value of an offset's record."""
    offset, leader_epoch, text, commit_ms, expire_ms, topic_id = committed
    metadata = text.encode()
    if expire_ms != NO_EXPIRY:
        return b"".join(
            (
                _VALUE_V1_HEAD.pack(_VERSION_WITH_EXPIRY, offset, len(metadata)),
                metadata,
                _VALUE_V1_TAIL.pack(commit_ms, expire_ms),
            )
        )
    return b"".join(
        (
            _VALUE_HEAD.pack(_VERSION, offset, leader_epoch),
            _compact_length(len(metadata)),
            metadata,
            _INT64.pack(commit_ms),
            _NO_TAGS if topic_id == ZERO_UUID else _ONE_TAG + topic_id,
        )
    )


def decode_offset_value(value: bytes) -> CommittedOffset:
    """Return the committed offset in the value of an offset's record.

    Raises:
        DecodeError: the value is not valid, or has an unknown version.
    """
    try:
        version, offset, leader_epoch = _VALUE_HEAD.unpack_from(value)
        length = value[14] - 1
        end = 15 + length
        if version == _VERSION and 0 <= length < _ONE_BYTE_LENGTH_MAX:
            topic_id = _topic_id(value, end + 8)
            if topic_id is not None:
                metadata = value[15:end].decode()
                commit_ms = _INT64.unpack_from(value, end)[0]
                return CommittedOffset(
                    offset, leader_epoch, metadata, commit_ms, NO_EXPIRY, topic_id
                )
    except (*UNDERFLOW, UnicodeDecodeError):
        # the codec raises an error with a better text
        pass
    return _decode_any_value(value)


def _topic_id(value: bytes, position: int) -> bytes | None:
    """Return the topic id in the tagged fields at a position; None if only the codec knows them."""
    size_bytes = len(value) - position
    if size_bytes == _TAGS_SIZE and value.startswith(_ONE_TAG, position):
        return value[position + len(_ONE_TAG) :]
    return ZERO_UUID if size_bytes == 1 and value[position] == 0 else None


def _decode_any_value(value: bytes) -> CommittedOffset:
    if len(value) < _INT16.size:
        raise DecodeError("the value of an offset has no version")
    version = _INT16.unpack_from(value)[0]
    decoded, _ = messages.OffsetCommitValue.decode(value, version, _INT16.size)
    return CommittedOffset(
        decoded.offset,
        decoded.leader_epoch,
        decoded.metadata,
        decoded.commit_timestamp,
        decoded.expire_timestamp,
        decoded.topic_id,
    )


def _compact_length(size_bytes: int) -> bytes:
    """Return the length of a compact string as a varint, usually of one or two bytes (G-05)."""
    stored = size_bytes + 1
    encoded = bytearray()
    while stored > 0x7F:
        encoded.append(stored & 0x7F | 0x80)
        stored >>= 7
    encoded.append(stored)
    return bytes(encoded)
