"""ListOffsets, written by hand: decode the request to tuples, encode the response from tuples.

Versions 0 to 11; 0 answers with a list of offsets, 2 has the isolation level, 4 leader epochs, 6
and later are flexible. The timeout of version 10 is for tiered storage and is skipped, as tagged
fields are. It is written by hand because a consumer that asks for its position does nothing until
it has the answer, and the consumer of Spark asks twice with each poll.

Rule: F-70.
See: P-178, F-74.
"""

from collections.abc import Sequence
from struct import Struct
from typing import Final, NamedTuple, TypeAlias

from broker_lite.wire.primitives import (
    UNDERFLOW,
    DecodeError,
    EncodeError,
    encode_count,
    encode_string,
    invalid_length,
    read_compact_string,
    read_string,
    read_uvarint,
    read_uvarint_rest,
    skip_tags,
)

VERSION_MIN: Final = 0
VERSION_MAX: Final = 11
_ONE_OFFSET_FROM: Final = 1
_ISOLATION_FROM: Final = 2
_LEADER_EPOCH_FROM: Final = 4
_FLEXIBLE_FROM: Final = 6
_TIMEOUT_FROM: Final = 10

# tuple.__new__, because a NamedTuple's own constructor is a Python function and takes 200 ns more
_make: Final = tuple.__new__

_INT32: Final = Struct(">i")
_REPLICA_ISOLATION_COUNT: Final = Struct(">ibi")
_REPLICA_ISOLATION_COMPACT_COUNT: Final = Struct(">ibB")
_REPLICA_COUNT: Final = Struct(">ii")
_ASKED_V0: Final = Struct(">iqi")
_ASKED_V1: Final = Struct(">iq")
_ASKED_V4: Final = Struct(">iiq")
_LISTED_V0: Final = Struct(">ihi")
_LISTED_V1: Final = Struct(">ihqq")
_LISTED_V4: Final = Struct(">ihqqi")
_LISTED_V6: Final = Struct(">ihqqix")
_NO_TAGS: Final = bytes(1)
_NOT_THROTTLED: Final = bytes(4)

# the least number of bytes that an element of the array takes (P-34)
_TOPIC_BYTES_MIN: Final = 6
_COMPACT_TOPIC_BYTES_MIN: Final = 3
_COMPACT_PARTITION_BYTES_MIN: Final = 17


class AskedPartition(NamedTuple):
    """A partition and the timestamp whose offset is requested; leader epoch -1 is not checked."""

    partition_index: int
    current_leader_epoch: int
    timestamp: int
    offsets_max: int  # v0


class ListOffsetsRequest(NamedTuple):
    """A ListOffsets request; `topics` has pairs of name and partitions."""

    replica_id: int
    isolation_level: int
    topics: list[tuple[str, list[AskedPartition]]]


class ListedPartition(NamedTuple):
    """The answer for one partition; a field is -1 if it does not exist."""

    partition_index: int
    error_code: int = 0
    timestamp: int = -1
    offset: int = -1
    leader_epoch: int = -1  # v4+
    old_style_offsets: Sequence[int] = ()  # v0, instead of the two above


ListedTopic: TypeAlias = tuple[str, Sequence[ListedPartition]]


def decode_list_offsets_request(
    body: memoryview | bytes, version: int, position: int = 0
) -> ListOffsetsRequest:
    """Decode a ListOffsets request.

    Args:
        body: the frame, or any buffer that holds the body from position on.
        version: 0 to 11.
        position: where the body starts.

    Raises:
        DecodeError: the bytes are not a valid request, or the version is not served here.

    See: P-178, P-08, P-34.
    """
    if not VERSION_MIN <= version <= VERSION_MAX:
        raise DecodeError(f"ListOffsetsRequest has no version {version} here")
    view = memoryview(body)
    try:
        if version < _FLEXIBLE_FROM:
            return _decode_old(view, position, version)
        return _decode_flexible(view, position, version)
    except UNDERFLOW:
        raise DecodeError(f"ListOffsetsRequest v{version} ends too early") from None


def _decode_flexible(view: memoryview, p: int, version: int) -> ListOffsetsRequest:
    count: int
    replica_id, isolation_level, count = _REPLICA_ISOLATION_COMPACT_COUNT.unpack_from(view, p)
    count, p = read_uvarint_rest(view, p + 6, count)
    if count <= 0 or (count - 1) * _COMPACT_TOPIC_BYTES_MIN > len(view) - p:
        invalid_length("topics", count - 1)
    topics = []
    for _ in range(count - 1):
        name, p = read_compact_string(view, p)
        partitions, p = _flexible_partitions(view, p)
        topics.append((name, partitions))
        p = skip_tags(view, p)
    if version >= _TIMEOUT_FROM:
        p += _INT32.size
    skip_tags(view, p)
    return _make(ListOffsetsRequest, (replica_id, isolation_level, topics))


def _flexible_partitions(view: memoryview, p: int) -> tuple[list[AskedPartition], int]:
    count, p = read_uvarint(view, p)
    if count <= 0 or (count - 1) * _COMPACT_PARTITION_BYTES_MIN > len(view) - p:
        invalid_length("partitions", count - 1)
    partitions = []
    for _ in range(count - 1):
        index, leader_epoch, timestamp = _ASKED_V4.unpack_from(view, p)
        partitions.append(_make(AskedPartition, (index, leader_epoch, timestamp, 1)))
        p = skip_tags(view, p + _ASKED_V4.size)
    return partitions, p


def _decode_old(view: memoryview, p: int, version: int) -> ListOffsetsRequest:
    if version >= _ISOLATION_FROM:
        replica_id, isolation_level, count = _REPLICA_ISOLATION_COUNT.unpack_from(view, p)
        p += _REPLICA_ISOLATION_COUNT.size
    else:
        replica_id, count = _REPLICA_COUNT.unpack_from(view, p)
        isolation_level = 0
        p += _REPLICA_COUNT.size
    if not 0 <= count * _TOPIC_BYTES_MIN <= len(view) - p:
        invalid_length("topics", count)
    topics = []
    for _ in range(count):
        name, p = read_string(view, p)
        partitions, p = _old_partitions(view, p, version)
        topics.append((name, partitions))
    return _make(ListOffsetsRequest, (replica_id, isolation_level, topics))


def _old_partitions(view: memoryview, p: int, version: int) -> tuple[list[AskedPartition], int]:
    if version >= _LEADER_EPOCH_FROM:
        layout = _ASKED_V4
    else:
        layout = _ASKED_V1 if version >= _ONE_OFFSET_FROM else _ASKED_V0
    (count,) = _INT32.unpack_from(view, p)
    p += _INT32.size
    if not 0 <= count * layout.size <= len(view) - p:
        invalid_length("partitions", count)
    partitions = []
    leader_epoch, offsets_max = -1, 1
    for _ in range(count):
        if version >= _LEADER_EPOCH_FROM:
            index, leader_epoch, timestamp = layout.unpack_from(view, p)
        elif version >= _ONE_OFFSET_FROM:
            index, timestamp = layout.unpack_from(view, p)
        else:
            index, timestamp, offsets_max = layout.unpack_from(view, p)
        partitions.append(_make(AskedPartition, (index, leader_epoch, timestamp, offsets_max)))
        p += layout.size
    return partitions, p


def encode_list_offsets_response(version: int, topics: Sequence[ListedTopic]) -> bytes:
    """Encode the body of a ListOffsets response that is not throttled.

    Args:
        version: 0 to 11. What a version does not have is left out.
        topics: in the order of the answer.

    Raises:
        EncodeError: a version not served here.

    Rule: F-70.
    See: P-178, F-74.
    """
    if not VERSION_MIN <= version <= VERSION_MAX:
        raise EncodeError(f"ListOffsetsResponse has no version {version} here")
    flexible = version >= _FLEXIBLE_FROM
    parts = [_NOT_THROTTLED] if version >= _ISOLATION_FROM else []
    parts.append(encode_count(len(topics), flexible=flexible))
    for name, partitions in topics:
        parts.append(encode_string(name, flexible=flexible))
        parts.append(encode_count(len(partitions), flexible=flexible))
        parts += [_listed(partition, version) for partition in partitions]
        if flexible:
            parts.append(_NO_TAGS)
    if flexible:
        parts.append(_NO_TAGS)
    return b"".join(parts)


def _listed(partition: ListedPartition, version: int) -> bytes:
    if version >= _FLEXIBLE_FROM:
        return _LISTED_V6.pack(*partition[:5])
    if version >= _LEADER_EPOCH_FROM:
        return _LISTED_V4.pack(*partition[:5])
    if version >= _ONE_OFFSET_FROM:
        return _LISTED_V1.pack(*partition[:4])
    index, error_code, _, _, _, offsets = partition
    head = _LISTED_V0.pack(index, error_code, len(offsets))
    return head + Struct(f">{len(offsets)}q").pack(*offsets)
