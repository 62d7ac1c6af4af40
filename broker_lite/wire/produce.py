"""The Produce request and its response, by hand: in small requests they are much of the cost.

Versions 0 to 13; 3 has the transactional id, 9 and later are flexible, 13 has topic ids instead of
names. The records of a request are views of the frame. Tagged fields are skipped, because no
version has one that a broker reads.

The decoder is for up to 4,096 topics and 4,096 partitions, which it reads without a pause, within
10 ms. A request of more is left to messages.ProduceRequest, which decodes in slices. No healthy
producer sends one: a request of 1 MB, as large as clients make them, seldom has so many.

Rule: P-178, V-01.
"""

from collections.abc import Mapping, Sequence
from struct import Struct
from typing import Final, NamedTuple, NoReturn, TypeAlias

from broker_lite.errors import Why
from broker_lite.wire.node_endpoints import NodeEndpoint, encode_node_endpoints
from broker_lite.wire.primitives import (
    UNDERFLOW,
    DecodeError,
    encode_count,
    encode_nullable_string,
    encode_string,
    invalid_length,
    read_compact_string,
    read_string,
    read_uvarint_rest,
    skip_tags,
)

VERSION_MIN: Final = 0
VERSION_MAX: Final = 13
PARTITIONS_MAX: Final = 4096
_THROTTLE_FROM: Final = 1
_APPEND_TIME_FROM: Final = 2
_TRANSACTIONS_FROM: Final = 3
_LOG_START_FROM: Final = 5
_RECORD_ERRORS_FROM: Final = 8
FLEXIBLE_FROM: Final = 9
TOPIC_IDS_FROM: Final = 13

# tuple.__new__, because a NamedTuple's own constructor is a Python function and takes 200 ns more
_make: Final = tuple.__new__

_INT32: Final = Struct(">i").unpack_from
_TWO_INT32: Final = Struct(">ii").unpack_from
_ACKS_TIMEOUT_COUNT: Final = Struct(">hii").unpack_from
_ACKS_TIMEOUT_COMPACT_COUNT: Final = Struct(">hiB").unpack_from
_INDEX_AND_COMPACT_LENGTH: Final = Struct(">iB").unpack_from

_PACK_INT32: Final = Struct(">i").pack
# index, error code, base offset [, log append time [, log start offset [, no errors, no message]]]
_PARTITION_V0: Final = Struct(">ihq").pack
_PARTITION_V2: Final = Struct(">ihqq").pack
_PARTITION_V5: Final = Struct(">ihqqq").pack
_PARTITION_V8: Final = Struct(">ihqqqih").pack
_PARTITION_V9: Final = Struct(">ihqqqBBx").pack
_NO_THROTTLE: Final = bytes(4)
_NO_THROTTLE_FLEXIBLE: Final = bytes(5)
_END_OF_TOPIC: Final = bytes(1)
# one tagged field, tag 0, 9 bytes: two numbers and the end of the struct
_ONE_TAG_OF_9_BYTES: Final = bytes((1, 0, 9))

# the least number of bytes that an element of the array takes (P-34)
_TOPIC_BYTES_MIN: Final = 6
_COMPACT_TOPIC_BYTES_MIN: Final = 3
_PARTITION_BYTES_MIN: Final = 8
_COMPACT_PARTITION_BYTES_MIN: Final = 6

PartitionKey: TypeAlias = tuple[str | bytes, int]
"""Topic name (up to v12) or topic id (v13) and partition index."""
_NO_LEADERS: Final[Mapping[PartitionKey, tuple[int, int]]] = {}
Partitions = list[tuple[int, memoryview | None]]
Topics = list[tuple[str | None, bytes | None, Partitions]]


class ManyPartitions(DecodeError):
    """There are more topics or partitions than are decoded without a pause."""


class ProduceRequest(NamedTuple):
    """A Produce request.

    topics: (name or None, topic id or None, [(partition index, records or None), ...]), with the
    name up to version 12 and the id from 13. The records are views of the frame, never copies.
    """

    transactional_id: str | None
    acks: int
    timeout_ms: int
    topics: Topics


def decode_produce_request(
    body: memoryview | bytes, version: int, position: int = 0
) -> ProduceRequest:
    """Decode a Produce request.

    Args:
        body: the frame, or any buffer that holds the body from position on.
        version: 0 to 13.
        position: where the body starts.

    Raises:
        ManyPartitions: more than PARTITIONS_MAX topics or partitions.
        DecodeError: the bytes are not a valid request, or the version is not served here.

    Rule: P-178.
    See: P-08, P-34.
    """
    if not VERSION_MIN <= version <= VERSION_MAX:
        raise DecodeError(f"ProduceRequest has no version {version} here")
    view = body if type(body) is memoryview else memoryview(body)
    try:
        if version < FLEXIBLE_FROM:
            return _decode_old(view, position, version >= _TRANSACTIONS_FROM)
        return _decode_flexible(view, position, version >= TOPIC_IDS_FROM)
    except UNDERFLOW:
        raise DecodeError(f"ProduceRequest v{version} ends too early") from None


def _decode_flexible(view: memoryview, p: int, by_id: bool) -> ProduceRequest:
    transactional_id = None
    if view[p]:
        transactional_id, p = read_compact_string(view, p)
    else:
        p += 1
    count: int
    acks, timeout_ms, count = _ACKS_TIMEOUT_COMPACT_COUNT(view, p)
    p += 7
    if count > 127:
        count, p = read_uvarint_rest(view, p, count)
    count -= 1
    if not 0 <= count <= PARTITIONS_MAX or count * _COMPACT_TOPIC_BYTES_MIN > len(view) - p:
        _too_many("topic_data", count, _COMPACT_TOPIC_BYTES_MIN, len(view) - p)
    topics: Topics = []
    room = PARTITIONS_MAX
    for _ in range(count):
        name = topic_id = None
        if by_id:
            topic_id = bytes(view[p : p + 16])
            p += 16
        elif 0 < (length := view[p]) < 128:
            # The name is cut short if the frame ends in it; then the next read is past the end.
            name = str(view[p + 1 : p + length], "utf-8", "replace")
            p += length
        else:
            name, p = read_compact_string(view, p)
        partitions, p = _flexible_partitions(view, p, room)
        room -= len(partitions)
        topics.append((name, topic_id, partitions))
        p = skip_tags(view, p) if view[p] else p + 1
    if view[p]:
        skip_tags(view, p)
    return _make(ProduceRequest, (transactional_id, acks, timeout_ms, topics))


def _flexible_partitions(view: memoryview, p: int, room: int) -> tuple[Partitions, int]:
    count = view[p]
    p += 1
    if count > 127:
        count, p = read_uvarint_rest(view, p, count)
    size = len(view)
    if not 0 < count <= room + 1 or (count - 1) * _COMPACT_PARTITION_BYTES_MIN > size - p:
        _too_many("partition_data", count - 1, _COMPACT_PARTITION_BYTES_MIN, size - p)
    partitions: Partitions = []
    length: int
    for _ in range(count - 1):
        index, length = _INDEX_AND_COMPACT_LENGTH(view, p)
        p += 5
        if length > 127:
            length, p = read_uvarint_rest(view, p, length)
        records = None
        if length > 0:
            end = p + length - 1
            if end > size:
                invalid_length("records", length - 1)
            records = view[p:end]
            p = end
        partitions.append((index, records))
        p = skip_tags(view, p) if view[p] else p + 1
    return partitions, p


def _too_many(field: str, count: int, element_bytes_min: int, left_bytes: int) -> NoReturn:
    if 0 <= count * element_bytes_min <= left_bytes:
        raise ManyPartitions(f"{field}: {count} are too many to be read at once")
    invalid_length(field, count)


def _decode_old(view: memoryview, p: int, has_transactional_id: bool) -> ProduceRequest:
    transactional_id = None
    if has_transactional_id:
        if view[p] < 0x80:
            transactional_id, p = read_string(view, p)
        else:
            p += 2
    acks, timeout_ms, count = _ACKS_TIMEOUT_COUNT(view, p)
    p += 10
    if not 0 <= count <= PARTITIONS_MAX or count * _TOPIC_BYTES_MIN > len(view) - p:
        _too_many("topic_data", count, _TOPIC_BYTES_MIN, len(view) - p)
    topics: Topics = []
    room = PARTITIONS_MAX
    for _ in range(count):
        name, p = read_string(view, p)
        partitions, p = _old_partitions(view, p, room)
        room -= len(partitions)
        topics.append((name, None, partitions))
    return _make(ProduceRequest, (transactional_id, acks, timeout_ms, topics))


def _old_partitions(view: memoryview, p: int, room: int) -> tuple[Partitions, int]:
    (count,) = _INT32(view, p)
    p += 4
    size = len(view)
    if not 0 <= count <= room or count * _PARTITION_BYTES_MIN > size - p:
        _too_many("partition_data", count, _PARTITION_BYTES_MIN, size - p)
    partitions: Partitions = []
    for _ in range(count):
        index, length = _TWO_INT32(view, p)
        p += 8
        records = None
        if length >= 0:
            end = p + length
            if end > size:
                invalid_length("records", length)
            records = view[p:end]
            p = end
        partitions.append((index, records))
    return partitions, p


class PartitionAnswer(NamedTuple):
    """The answer for one partition.

    Rule: V-14.
    """

    error_code: int = 0
    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    record_errors: Sequence[tuple[int, str]] = ()
    error_message: str | None = None
    why: Why | None = None
    """For the log; a refusal without it was logged where it happened."""

    def with_errors_up_to(self, count: int) -> "PartitionAnswer":
        """Return the same answer with at most so many record errors."""
        if len(self.record_errors) <= count:
            return self
        return self._replace(record_errors=self.record_errors[:count])


def encode_produce_response(
    answers: Mapping[PartitionKey, PartitionAnswer],
    version: int,
    leaders: Mapping[PartitionKey, tuple[int, int]] = _NO_LEADERS,
    endpoints: Sequence[NodeEndpoint] = (),
) -> bytes:
    """Encode the response body.

    A test compares it with messages.ProduceResponse in all versions.

    Args:
        answers: by topic and partition; partitions of one topic need not be neighbours.
        version: 0 to 13; 13 takes topic ids in the keys, all others names.
        leaders: id and epoch of the leader where that is another broker; from version 10 on.
        endpoints: the addresses of these leaders.

    See: V-01.
    """
    flexible = version >= FLEXIBLE_FROM
    end = _END_OF_TOPIC if flexible else b""
    topics: dict[str | bytes, list[bytes]] = {}
    for (topic, index), answer in answers.items():
        encoded = _partition(index, answer, version)
        if leaders and (topic, index) in leaders:
            encoded = encoded[:-1] + _current_leader(*leaders[topic, index])
        if topic in topics:
            topics[topic].append(encoded)
        else:
            topics[topic] = [encoded]
    parts = [encode_count(len(topics), flexible=flexible)]
    for topic, partitions in topics.items():
        name = topic if isinstance(topic, bytes) else encode_string(topic, flexible=flexible)
        parts.append(name)
        parts.append(encode_count(len(partitions), flexible=flexible))
        parts += partitions
        parts.append(end)
    if endpoints:
        parts += (_NO_THROTTLE, encode_node_endpoints(endpoints))
    elif version >= _THROTTLE_FROM:
        parts.append(_NO_THROTTLE_FLEXIBLE if flexible else _NO_THROTTLE)
    return b"".join(parts)


def _partition(index: int, answer: PartitionAnswer, version: int) -> bytes:
    code, base_offset, append_time_ms, start_offset, record_errors, message, _ = answer
    if version >= FLEXIBLE_FROM and not record_errors and message is None:
        return _PARTITION_V9(index, code, base_offset, append_time_ms, start_offset, 1, 0)
    if version < _LOG_START_FROM:
        if version < _APPEND_TIME_FROM:
            return _PARTITION_V0(index, code, base_offset)
        return _PARTITION_V2(index, code, base_offset, append_time_ms)
    if version < _RECORD_ERRORS_FROM:
        return _PARTITION_V5(index, code, base_offset, append_time_ms, start_offset)
    if not record_errors and message is None:
        return _PARTITION_V8(index, code, base_offset, append_time_ms, start_offset, 0, -1)
    return _with_errors(index, answer, flexible=version >= FLEXIBLE_FROM)


def _current_leader(leader: int, leader_epoch: int) -> bytes:
    """Encode the tagged fields of a partition: tag 0 is the current leader (KIP-951)."""
    return _ONE_TAG_OF_9_BYTES + _PACK_INT32(leader) + _PACK_INT32(leader_epoch) + _END_OF_TOPIC


def _with_errors(index: int, answer: PartitionAnswer, *, flexible: bool) -> bytes:
    code, base_offset, append_time_ms, start_offset, record_errors, message, _ = answer
    end = _END_OF_TOPIC if flexible else b""
    parts = [
        _PARTITION_V5(index, code, base_offset, append_time_ms, start_offset),
        encode_count(len(record_errors), flexible=flexible),
    ]
    for batch_index, text in record_errors:
        parts += (_PACK_INT32(batch_index), encode_nullable_string(text, flexible=flexible), end)
    parts += (encode_nullable_string(message, flexible=flexible), end)
    return b"".join(parts)
