"""The Fetch request, decoded by hand: the generated decoder was a quarter of a small Fetch.

Versions 0 to 18; 3 has a limit for the whole answer, 4 the isolation level, 7 sessions, 9 and 12
epochs, 11 the rack; 12 and later are flexible, 13 and later have topic ids instead of names. A
request with tagged fields is left to messages.FetchRequest: no consumer sends one.

See: P-178, F-01, P-08, P-34.
"""

from struct import Struct
from typing import Final, TypeAlias

from broker_lite.wire import messages
from broker_lite.wire.primitives import (
    UNDERFLOW,
    DecodeError,
    invalid_length,
    read_compact_string,
    read_string,
    read_uvarint_rest,
)

VERSION_MIN: Final = 0
VERSION_MAX: Final = 18
_MAX_BYTES_FROM: Final = 3
_ISOLATION_FROM: Final = 4
_LOG_START_FROM: Final = 5
_SESSIONS_FROM: Final = 7
_LEADER_EPOCH_FROM: Final = 9
_RACK_FROM: Final = 11
_FLEXIBLE_FROM: Final = 12
_TOPIC_IDS_FROM: Final = 13
_REPLICA_STATE_FROM: Final = 15

# replica id (up to v14), longest wait, min bytes [, max bytes [, isolation level [, session id and
# epoch]]], and the number of topics
_HEAD_V0: Final = Struct(">iiii")
_HEAD_V3: Final = Struct(">iiiii")
_HEAD_V4: Final = Struct(">iiiibi")
_HEAD_V7: Final = Struct(">iiiibiii")
_HEAD_V12: Final = Struct(">iiiibiiB")
_HEAD_V15: Final = Struct(">iiibiiB")
# index, [leader epoch,] offset, [last fetched epoch,] [log start offset,] max bytes
_PARTITION_V0: Final = Struct(">iqi")
_PARTITION_V5: Final = Struct(">iq8xi")
_PARTITION_V9: Final = Struct(">iiq8xi")
_PARTITION_V12: Final = Struct(">iiqi8xi")
_INT32: Final = Struct(">i")

# the least number of bytes that an element of the array takes (P-34)
_TOPIC_BYTES_MIN: Final = 6
_COMPACT_TOPIC_BYTES_MIN: Final = 3
_TOPIC_ID_BYTES: Final = 16
_COMPACT_PARTITION_BYTES_MIN: Final = 33

_NO_EPOCH: Final = -1
_CONSUMER: Final = -1
_MAX_BYTES: Final = 0x7FFFFFFF


TopicKey: TypeAlias = str | bytes
"""The name of a topic up to version 12, its id from 13 on."""


class WantedPartition:
    """A partition that is fetched from; an epoch of -1 is not checked."""

    __slots__ = (
        "current_leader_epoch",
        "fetch_offset",
        "index",
        "last_fetched_epoch",
        "max_bytes",
    )

    def __init__(
        self,
        index: int,
        fetch_offset: int,
        max_bytes: int,
        current_leader_epoch: int = _NO_EPOCH,
        last_fetched_epoch: int = _NO_EPOCH,
    ) -> None:
        self.index = index
        self.fetch_offset = fetch_offset
        self.max_bytes = max_bytes
        self.current_leader_epoch = current_leader_epoch
        self.last_fetched_epoch = last_fetched_epoch


class FetchRequest:
    """A Fetch request; a field that its version does not have is as a consumer leaves it.

    Attributes:
        topics: what is fetched.
        forgotten: partitions that the session shall no longer have.
    """

    __slots__ = (
        "forgotten",
        "isolation_level",
        "max_bytes",
        "max_wait_ms",
        "min_bytes",
        "rack_id",
        "replica_id",
        "session_epoch",
        "session_id",
        "topics",
    )

    def __init__(
        self,
        replica_id: int,
        max_wait_ms: int,
        min_bytes: int,
        max_bytes: int = _MAX_BYTES,
        isolation_level: int = 0,
        session_id: int = 0,
        session_epoch: int = _NO_EPOCH,
        rack_id: str = "",
    ) -> None:
        self.replica_id = replica_id
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.isolation_level = isolation_level
        self.session_id = session_id
        self.session_epoch = session_epoch
        self.topics: list[tuple[TopicKey, list[WantedPartition]]] = []
        self.forgotten: list[tuple[TopicKey, list[int]]] = []
        self.rack_id = rack_id


class _HasTags(Exception):
    """The request has tagged fields."""


def decode_fetch_request(body: memoryview | bytes, version: int, position: int = 0) -> FetchRequest:
    """Decode a Fetch request.

    Args:
        body: the frame, or any buffer that holds the body from position on.
        version: 0 to 18.
        position: where the body starts.

    Raises:
        DecodeError: the bytes are not a valid request, or the version is not served here.

    See: P-178, F-01, P-08, P-34.
    """
    if not VERSION_MIN <= version <= VERSION_MAX:
        raise DecodeError(f"FetchRequest has no version {version} here")
    view = body if type(body) is memoryview else memoryview(body)
    try:
        if version < _FLEXIBLE_FROM:
            return _decode_old(view, position, version)
        return _decode_flexible(view, position, version)
    except UNDERFLOW:
        raise DecodeError(f"FetchRequest v{version} ends too early") from None
    except _HasTags:
        return _decode_with_tags(view, position, version)


def without_topics(message: messages.FetchRequest, version: int) -> FetchRequest:
    """Take over the fields of a generated message but for its topics, which may be very many."""
    is_old = version < _REPLICA_STATE_FROM
    return FetchRequest(
        message.replica_id if is_old else message.replica_state.replica_id,
        message.max_wait_ms,
        message.min_bytes,
        message.max_bytes,
        message.isolation_level,
        message.session_id,
        message.session_epoch,
        message.rack_id,
    )


def wanted_of(message: messages.FetchRequest.FetchPartition) -> WantedPartition:
    """Take over a partition of a generated message."""
    return WantedPartition(
        message.partition,
        message.fetch_offset,
        message.partition_max_bytes,
        message.current_leader_epoch,
        message.last_fetched_epoch,
    )


def _decode_with_tags(view: memoryview, p: int, version: int) -> FetchRequest:
    message, _ = messages.FetchRequest.decode(view, version, p)
    by_id = version >= _TOPIC_IDS_FROM
    request = without_topics(message, version)
    for topic in message.topics:
        key = topic.topic_id if by_id else topic.topic
        request.topics.append((key, [wanted_of(each) for each in topic.partitions]))
    for unwanted in message.forgotten_topics_data:
        key = unwanted.topic_id if by_id else unwanted.topic
        request.forgotten.append((key, list(unwanted.partitions)))
    return request


def _decode_flexible(view: memoryview, p: int, version: int) -> FetchRequest:
    count: int
    if version >= _REPLICA_STATE_FROM:
        wait, least, most, isolation, session, epoch, count = _HEAD_V15.unpack_from(view, p)
        replica_id = _CONSUMER
        p += _HEAD_V15.size
    else:
        head = _HEAD_V12.unpack_from(view, p)
        replica_id, wait, least, most, isolation, session, epoch, count = head
        p += _HEAD_V12.size
    request = FetchRequest(replica_id, wait, least, most, isolation, session, epoch)
    count, p = _compact_count(view, p, count, _COMPACT_TOPIC_BYTES_MIN, "topics")
    by_id = version >= _TOPIC_IDS_FROM
    for _ in range(count):
        topic, p = _topic(view, p, by_id)
        partitions, p = _flexible_partitions(view, p)
        request.topics.append((topic, partitions))
        p = _after_no_tags(view, p)
    count, p = _compact_count(view, p + 1, view[p], _COMPACT_TOPIC_BYTES_MIN, "forgotten topics")
    for _ in range(count):
        topic, p = _topic(view, p, by_id)
        # Not into `count`: compiled, the loop would look at it again.
        length, p = _compact_count(view, p + 1, view[p], _INT32.size, "forgotten partitions")
        indexes, p = _indexes(view, p, length)
        request.forgotten.append((topic, indexes))
        p = _after_no_tags(view, p)
    if view[p] == 1:
        p += 1
    else:
        request.rack_id, p = read_compact_string(view, p)
    _after_no_tags(view, p)
    return request


def _topic(view: memoryview, p: int, by_id: bool) -> tuple[TopicKey, int]:
    if by_id:
        # Cut short if the frame ends in it; then the next read is past the end.
        end = p + _TOPIC_ID_BYTES
        return bytes(view[p:end]), end
    return read_compact_string(view, p)


def _flexible_partitions(view: memoryview, p: int) -> tuple[list[WantedPartition], int]:
    count, p = _compact_count(view, p + 1, view[p], _COMPACT_PARTITION_BYTES_MIN, "partitions")
    partitions = []
    for _ in range(count):
        index, epoch, offset, last_epoch, most = _PARTITION_V12.unpack_from(view, p)
        partitions.append(WantedPartition(index, offset, most, epoch, last_epoch))
        p = _after_no_tags(view, p + _PARTITION_V12.size)
    return partitions, p


def _compact_count(
    view: memoryview, p: int, first: int, element_bytes_min: int, field: str
) -> tuple[int, int]:
    """Return the count of a compact array, whose first byte is given, and the position after it."""
    count = first
    if count > 127:
        count, p = read_uvarint_rest(view, p, count)
    if count <= 0 or (count - 1) * element_bytes_min > len(view) - p:
        invalid_length(field, count - 1)
    return count - 1, p


def _after_no_tags(view: memoryview, p: int) -> int:
    if view[p]:
        raise _HasTags
    return p + 1


def _decode_old(view: memoryview, p: int, version: int) -> FetchRequest:
    request, count, p = _old_head(view, p, version)
    if not 0 <= count * _TOPIC_BYTES_MIN <= len(view) - p:
        invalid_length("topics", count)
    for _ in range(count):
        name, p = read_string(view, p)
        partitions, p = _old_partitions(view, p, version)
        request.topics.append((name, partitions))
    if version >= _SESSIONS_FROM:
        count, p = _old_count(view, p, _TOPIC_BYTES_MIN, "forgotten topics")
        for _ in range(count):
            name, p = read_string(view, p)
            length, p = _old_count(view, p, _INT32.size, "forgotten partitions")
            indexes, p = _indexes(view, p, length)
            request.forgotten.append((name, indexes))
    if version >= _RACK_FROM:
        request.rack_id, _ = read_string(view, p)
    return request


def _old_head(view: memoryview, p: int, version: int) -> tuple[FetchRequest, int, int]:
    """Return a request without its topics, how many they are, and the position after that."""
    if version >= _SESSIONS_FROM:
        layout = _HEAD_V7
    elif version >= _ISOLATION_FROM:
        layout = _HEAD_V4
    else:
        layout = _HEAD_V3 if version >= _MAX_BYTES_FROM else _HEAD_V0
    fields = layout.unpack_from(view, p)
    return FetchRequest(*fields[:-1]), fields[-1], p + layout.size


def _old_count(view: memoryview, p: int, element_bytes_min: int, field: str) -> tuple[int, int]:
    count: int = _INT32.unpack_from(view, p)[0]
    p += _INT32.size
    if not 0 <= count * element_bytes_min <= len(view) - p:
        invalid_length(field, count)
    return count, p


def _old_partitions(view: memoryview, p: int, version: int) -> tuple[list[WantedPartition], int]:
    layout = _PARTITION_V0
    if version >= _LOG_START_FROM:
        layout = _PARTITION_V9 if version >= _LEADER_EPOCH_FROM else _PARTITION_V5
    count, p = _old_count(view, p, layout.size, "partitions")
    partitions = []
    epoch = _NO_EPOCH
    for _ in range(count):
        if version >= _LEADER_EPOCH_FROM:
            index, epoch, offset, most = layout.unpack_from(view, p)
        else:
            index, offset, most = layout.unpack_from(view, p)
        partitions.append(WantedPartition(index, offset, most, epoch))
        p += layout.size
    return partitions, p


def _indexes(view: memoryview, p: int, count: int) -> tuple[list[int], int]:
    return list(Struct(f">{count}i").unpack_from(view, p)), p + count * _INT32.size
