"""The Fetch response by hand: a list of parts, with the records handed through untouched.

Versions 0 to 18; 12 and later are flexible, 13 and later have topic ids instead of names. The
records of a partition are whatever the caller gives, usually a slice of a file that the server
sends without reading it; this module only needs to know how long it is.

Rule: F-01.
See: P-178.
"""

from collections.abc import Sequence
from struct import Struct
from typing import Final, NamedTuple, Protocol, TypeAlias

from broker_lite.wire.primitives import (
    EncodeError,
    encode_count,
    encode_nullable_string,
    encode_string,
    encode_tags,
    encode_uvarint,
)

VERSION_MIN: Final = 0
VERSION_MAX: Final = 18
_THROTTLE_FROM: Final = 1
_TRANSACTIONS_FROM: Final = 4
_LOG_START_FROM: Final = 5
_SESSIONS_FROM: Final = 7
_PREFERRED_REPLICA_FROM: Final = 11
_FLEXIBLE_FROM: Final = 12
_TOPIC_IDS_FROM: Final = 13
_NODE_ENDPOINTS_FROM: Final = 16

_INT32: Final = Struct(">i").pack
_TWO_INT32_AND_TAGS: Final = Struct(">iix").pack
_INT32_AND_64: Final = Struct(">iqx").pack
_INT64_AND_32: Final = Struct(">qix").pack
_HEAD_V1: Final = Struct(">i").pack
_HEAD_V7: Final = Struct(">ihi").pack
_PARTITION_V0: Final = Struct(">ihqi").pack
_PARTITION_V4: Final = Struct(">ihqq").pack
_PARTITION_V5: Final = Struct(">ihqqq").pack
_PARTITION_V11: Final = Struct(">ihqqqiii").pack
_PARTITION_V12: Final = Struct(">ihqqqxi").pack
_ABORTED: Final = Struct(">qq").pack
_ABORTED_FLEXIBLE: Final = Struct(">qqx").pack
_NO_TAGS: Final = bytes(1)
_NOTHING_TAGGED: Final = (None, None, None)
_PENDING_MAX: Final = 1024


class SizedPart(Protocol):
    """Anything that stands for size_bytes bytes of a response, such as a slice of a file."""

    @property
    def size_bytes(self) -> int:
        """How many bytes it stands for."""


Records: TypeAlias = bytes | memoryview | SizedPart
Part: TypeAlias = bytes | memoryview | SizedPart


class FetchedPartition(NamedTuple):
    """The answer for one partition.

    Rule: F-01.
    See: F-06.
    """

    partition_index: int
    error_code: int = 0
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    aborted_transactions: Sequence[tuple[int, int]] | None = None  # (producer id, first offset)
    preferred_read_replica: int = -1
    records: Records | None = b""  # None is null on the wire; Kafka sends empty records instead
    diverging_epoch: tuple[int, int] | None = None  # (epoch, end offset), v12+
    current_leader: tuple[int, int] | None = None  # (leader id, leader epoch), v12+
    snapshot_id: tuple[int, int] | None = None  # (end offset, epoch), v12+


class NodeEndpoint(NamedTuple):
    """The address of a leader named in current_leader, v16+."""

    node_id: int
    host: str
    port: int
    rack: str | None = None


# name (up to v12), topic id (v13+), partitions
FetchedTopic: TypeAlias = tuple[str | None, bytes | None, Sequence[FetchedPartition]]


def encode_fetch_response(
    version: int,
    *,
    topics: Sequence[FetchedTopic],
    throttle_time_ms: int = 0,
    error_code: int = 0,
    session_id: int = 0,
    node_endpoints: Sequence[NodeEndpoint] = (),
) -> list[Part]:
    """Encode the body of a Fetch response.

    Args:
        version: 0 to 18. What a version does not have (also session_id) is left out.
        topics: in the order of the answer.
        throttle_time_ms: 0 without quotas.
        error_code: of the whole answer, v7+.
        session_id: 0 for none.
        node_endpoints: of the leaders in current_leader.

    Returns:
        The body in order: bytes, and the records exactly as they were handed in (empty or null
        records leave only their length behind).

    Raises:
        EncodeError: another version, or a topic without what names it in this version.

    Rule: F-01.
    See: P-178.
    """
    encoder = FetchEncoder(version, len(topics), throttle_time_ms, error_code, session_id)
    for name, topic_id, partitions in topics:
        encoder.begin_topic(name, topic_id, len(partitions))
        encoder.add(partitions)
        encoder.end_topic()
    return encoder.end(node_endpoints)


class FetchEncoder:
    """The same a few partitions at a time, for an answer of very many of them."""

    __slots__ = ("_flexible", "_parts", "_pending", "_version")

    def __init__(
        self,
        version: int,
        topic_count: int,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        session_id: int = 0,
    ) -> None:
        """Begin an answer.

        Args:
            version: see encode_fetch_response(), as for the other ones.
            topic_count: so many will be begun.
            throttle_time_ms: 0 without quotas.
            error_code: of the whole answer.
            session_id: 0 for none.

        Raises:
            EncodeError: another version.
        """
        if not VERSION_MIN <= version <= VERSION_MAX:
            raise EncodeError(f"FetchResponse has no version {version} here")
        self._version = version
        self._flexible = flexible = version >= _FLEXIBLE_FROM
        self._parts: list[Part] = []
        if version >= _SESSIONS_FROM:
            pending = [_HEAD_V7(throttle_time_ms, error_code, session_id)]
        else:
            pending = [_HEAD_V1(throttle_time_ms)] if version >= _THROTTLE_FROM else []
        pending.append(encode_count(topic_count, flexible=flexible))
        self._pending = pending

    def begin_topic(self, name: str | None, topic_id: bytes | None, partition_count: int) -> None:
        """Go on with a topic, of which so many partitions will be added.

        Raises:
            EncodeError: without what names it in this version.
        """
        self._pending.append(_topic_name(name, topic_id, self._version))
        self._pending.append(encode_count(partition_count, flexible=self._flexible))

    def add(self, partitions: Sequence[FetchedPartition]) -> None:
        """Add partitions of the topic."""
        version, flexible, pending = self._version, self._flexible, self._pending
        for partition in partitions:
            pending.append(_partition_head(partition, version, flexible=flexible))
            if partition.records is not None and _size_bytes(partition.records):
                self._parts += (b"".join(pending), partition.records)
                pending.clear()
            if flexible:
                tagged = partition[8:] != _NOTHING_TAGGED
                pending.append(_partition_tags(partition) if tagged else _NO_TAGS)
        if len(pending) > _PENDING_MAX:  # to join those of a whole answer takes milliseconds
            self._parts.append(b"".join(pending))
            pending.clear()

    def end_topic(self) -> None:
        """All its partitions are there."""
        if self._flexible:
            self._pending.append(_NO_TAGS)

    def end(self, node_endpoints: Sequence[NodeEndpoint] = ()) -> list[Part]:
        """The body; see encode_fetch_response()."""
        pending = self._pending
        if self._flexible:
            has_endpoints = self._version >= _NODE_ENDPOINTS_FROM
            pending.append(_response_tags(node_endpoints if has_endpoints else ()))
        if pending:
            self._parts.append(b"".join(pending))
        return self._parts


def _size_bytes(records: Records) -> int:
    return len(records) if isinstance(records, (bytes, memoryview)) else records.size_bytes


def _topic_name(name: str | None, topic_id: bytes | None, version: int) -> bytes:
    if version >= _TOPIC_IDS_FROM:
        if topic_id is None or len(topic_id) != 16:
            raise EncodeError(f"FetchResponse v{version} needs topic ids")
        return topic_id
    if name is None:
        raise EncodeError(f"FetchResponse v{version} needs topic names")
    return encode_string(name, flexible=version >= _FLEXIBLE_FROM)


def _partition_head(partition: FetchedPartition, version: int, *, flexible: bool) -> bytes:
    """Encode everything of a partition up to and including the length of its records."""
    records = partition.records
    size_bytes = -1 if records is None else _size_bytes(records)
    aborted = partition.aborted_transactions
    if aborted is None and version >= _PREFERRED_REPLICA_FROM:
        # the answer to nearly every consumer, in one or two pieces
        preferred = partition.preferred_read_replica
        if flexible:
            return _PARTITION_V12(*partition[:5], preferred) + encode_uvarint(size_bytes + 1)
        return _PARTITION_V11(*partition[:5], -1, preferred, size_bytes)
    if version < _TRANSACTIONS_FROM:
        return _PARTITION_V0(*partition[:3], size_bytes)
    pieces = [
        _PARTITION_V5(*partition[:5])
        if version >= _LOG_START_FROM
        else _PARTITION_V4(*partition[:4])
    ]
    pieces.append(encode_count(-1 if aborted is None else len(aborted), flexible=flexible))
    pack = _ABORTED_FLEXIBLE if flexible else _ABORTED
    pieces += (pack(*entry) for entry in aborted or ())
    if version >= _PREFERRED_REPLICA_FROM:
        pieces.append(_INT32(partition.preferred_read_replica))
    pieces.append(encode_count(size_bytes, flexible=flexible))
    return b"".join(pieces)


def _partition_tags(partition: FetchedPartition) -> bytes:
    diverging_epoch, current_leader, snapshot_id = partition[8:]
    tags = []
    if diverging_epoch is not None:
        tags.append((0, _INT32_AND_64(*diverging_epoch)))
    if current_leader is not None:
        tags.append((1, _TWO_INT32_AND_TAGS(*current_leader)))
    if snapshot_id is not None:
        tags.append((2, _INT64_AND_32(*snapshot_id)))
    return encode_tags(tags, None)


def _response_tags(node_endpoints: Sequence[NodeEndpoint]) -> bytes:
    if not node_endpoints:
        return _NO_TAGS
    parts = [encode_uvarint(len(node_endpoints) + 1)]
    for node_id, host, port, rack in node_endpoints:
        parts += (_INT32(node_id), encode_string(host, flexible=True), _INT32(port))
        parts += (encode_nullable_string(rack, flexible=True), _NO_TAGS)
    return encode_tags([(0, b"".join(parts))], None)
