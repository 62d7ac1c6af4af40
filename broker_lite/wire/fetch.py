"""The Fetch response, written by hand: a list of parts, with the records passed on unchanged.

Versions 0 to 18; 12 and later are flexible, 13 and later have topic ids instead of names. The
records of a partition are usually a slice of a file that the server sends without reading it. This
module only needs to know how long they are.

Rule: F-01.
See: P-178.
"""

from collections.abc import Sequence
from struct import Struct
from typing import Final, Protocol, TypeAlias

from broker_lite.wire.node_endpoints import NodeEndpoint, encode_node_endpoints
from broker_lite.wire.primitives import (
    EncodeError,
    encode_count,
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
_CURRENT_LEADER: Final = Struct(">iix").pack
_DIVERGING_EPOCH: Final = Struct(">iqx").pack
_HEAD_V7: Final = Struct(">ihi").pack
_PARTITION_V0: Final = Struct(">ihqi").pack
_PARTITION_V4: Final = Struct(">ihqq").pack
_PARTITION_V5: Final = Struct(">ihqqq").pack
_PARTITION_V11: Final = Struct(">ihqqqiii").pack
_PARTITION_V12: Final = Struct(">ihqqqxi").pack
_ABORTED: Final = Struct(">qq").pack
_ABORTED_FLEXIBLE: Final = Struct(">qqx").pack
_NO_TAGS: Final = bytes(1)
_NO_REPLICA: Final = -1
_THROTTLE_MS: Final = 0
"""There are no quotas."""
_TOPIC_ID_BYTES: Final = 16
_PENDING_MAX: Final = 1024


class SizedPart(Protocol):
    """A part that stands for size_bytes bytes of a response, such as a slice of a file."""

    @property
    def size_bytes(self) -> int:
        """How many bytes the part stands for."""


class AbortedTransaction(Protocol):
    """A transaction whose records the reader has to skip."""

    @property
    def producer_id(self) -> int:
        """The producer of the transaction."""

    @property
    def first_offset(self) -> int:
        """The offset where the transaction begins."""


Part: TypeAlias = bytes | SizedPart


class FetchedPartition:
    """The answer for one partition.

    Attributes:
        topic: the topic's name up to v12, its id since v13.
        index: of the partition.
        error_code: 0 for none.
        high_watermark: -1 if it is not known; the same for the next two.
        last_stable_offset: for readers of committed records.
        log_start_offset: the first offset that the log still has.
        aborted_transactions: None is null on the wire.
        records: None is null on the wire; Kafka sends empty records instead.
        diverging_epoch: epoch and end offset, v12+.
        current_leader: id and epoch of the leader, v12+.
        preferred_replica: the broker to read from instead, v11+; -1 if it is this one.

    Rule: F-01.
    See: F-06.
    """

    __slots__ = (
        "aborted_transactions",
        "current_leader",
        "diverging_epoch",
        "error_code",
        "high_watermark",
        "index",
        "last_stable_offset",
        "log_start_offset",
        "preferred_replica",
        "records",
        "topic",
    )

    def __init__(
        self,
        topic: str | bytes,
        index: int,
        error_code: int = 0,
        high_watermark: int = -1,
        last_stable_offset: int = -1,
        log_start_offset: int = -1,
        aborted_transactions: Sequence[AbortedTransaction] | None = None,
        records: Part | None = b"",
        diverging_epoch: tuple[int, int] | None = None,
        current_leader: tuple[int, int] | None = None,
        preferred_replica: int = _NO_REPLICA,
    ) -> None:
        self.topic = topic
        self.index = index
        self.error_code = error_code
        self.high_watermark = high_watermark
        self.last_stable_offset = last_stable_offset
        self.log_start_offset = log_start_offset
        self.aborted_transactions = aborted_transactions
        self.records = records
        self.diverging_epoch = diverging_epoch
        self.current_leader = current_leader
        self.preferred_replica = preferred_replica


def encode_fetch_response(
    version: int,
    partitions: Sequence[FetchedPartition],
    *,
    error_code: int = 0,
    session_id: int = 0,
    node_endpoints: Sequence[NodeEndpoint] = (),
) -> list[Part]:
    """Encode the body of a Fetch response.

    Args:
        version: 0 to 18. What a version does not have (also session_id) is left out.
        partitions: in the order of the answer; neighbours with the same topic share its head.
        error_code: of the whole answer, v7+.
        session_id: 0 for none.
        node_endpoints: of the leaders in current_leader.

    Returns:
        The body in order: bytes, and the records exactly as they were passed in (empty or null
        records add only their length).

    Raises:
        EncodeError: a version not served here, or the name of a topic where its version needs the
            id, or the other way round.

    Rule: F-01.
    See: P-178.
    """
    starts = []
    last: str | bytes | None = None
    for start, partition in enumerate(partitions):
        if partition.topic != last:
            last = partition.topic
            starts.append(start)
    encoder = FetchEncoder(version, len(starts), error_code, session_id)
    starts.append(len(partitions))
    for number in range(1, len(starts)):
        some = partitions[starts[number - 1] : starts[number]]
        encoder.begin_topic(some[0].topic, len(some))
        encoder.add(some)
        encoder.end_topic()
    return encoder.end(node_endpoints)


class FetchEncoder:
    """Encodes a Fetch response a few partitions at a time, for an answer of very many of them."""

    __slots__ = ("_flexible", "_parts", "_pending", "_version")

    def __init__(
        self, version: int, topic_count: int, error_code: int = 0, session_id: int = 0
    ) -> None:
        """Begin an answer.

        Args:
            version: see encode_fetch_response(), also for the others.
            topic_count: the number of topics that will be begun.
            error_code: of the whole answer.
            session_id: 0 for none.

        Raises:
            EncodeError: a version not served here.
        """
        if not VERSION_MIN <= version <= VERSION_MAX:
            raise EncodeError(f"FetchResponse has no version {version} here")
        self._version = version
        self._flexible = flexible = version >= _FLEXIBLE_FROM
        self._parts: list[Part] = []
        if version >= _SESSIONS_FROM:
            pending = [_HEAD_V7(_THROTTLE_MS, error_code, session_id)]
        else:
            pending = [_INT32(_THROTTLE_MS)] if version >= _THROTTLE_FROM else []
        pending.append(encode_count(topic_count, flexible=flexible))
        self._pending = pending

    def begin_topic(self, topic: str | bytes, partition_count: int) -> None:
        """Begin the next topic, to which `partition_count` partitions will be added.

        Raises:
            EncodeError: the topic is a name where this version needs an id, or the other way round.
        """
        self._pending.append(_topic_name(topic, self._version))
        self._pending.append(encode_count(partition_count, flexible=self._flexible))

    def add(self, partitions: Sequence[FetchedPartition]) -> None:
        """Add partitions of the current topic."""
        version, flexible, pending = self._version, self._flexible, self._pending
        for partition in partitions:
            records = partition.records
            size_bytes = -1
            if records is not None:
                size_bytes = len(records) if isinstance(records, bytes) else records.size_bytes
            pending.append(_partition_head(partition, size_bytes, version, flexible=flexible))
            if records is not None and size_bytes:
                self._parts += (b"".join(pending), records)
                pending.clear()
            if flexible:
                pending.append(_partition_tags(partition))
        if len(pending) > _PENDING_MAX:  # joining the parts of a whole answer takes milliseconds
            self._parts.append(b"".join(pending))
            pending.clear()

    def end_topic(self) -> None:
        """End the topic after its last partition."""
        if self._flexible:
            self._pending.append(_NO_TAGS)

    def end(self, node_endpoints: Sequence[NodeEndpoint] = ()) -> list[Part]:
        """Return the body; see encode_fetch_response()."""
        pending = self._pending
        if self._flexible:
            has_endpoints = self._version >= _NODE_ENDPOINTS_FROM
            pending.append(encode_node_endpoints(node_endpoints if has_endpoints else ()))
        if pending:
            self._parts.append(b"".join(pending))
        return self._parts


def _topic_name(topic: str | bytes, version: int) -> bytes:
    if version >= _TOPIC_IDS_FROM:
        if isinstance(topic, str) or len(topic) != _TOPIC_ID_BYTES:
            raise EncodeError(f"FetchResponse v{version} needs topic ids")
        return topic
    if isinstance(topic, bytes):
        raise EncodeError(f"FetchResponse v{version} needs topic names")
    return encode_string(topic, flexible=version >= _FLEXIBLE_FROM)


def _partition_head(
    partition: FetchedPartition, size_bytes: int, version: int, *, flexible: bool
) -> bytes:
    """Encode everything of a partition up to and including the length of its records."""
    index, code = partition.index, partition.error_code
    end_offset, stable_offset = partition.high_watermark, partition.last_stable_offset
    start_offset, aborted = partition.log_start_offset, partition.aborted_transactions
    if aborted is None and version >= _PREFERRED_REPLICA_FROM:
        # nearly every answer to a consumer is like this: one or two pieces
        preferred = partition.preferred_replica
        if flexible:
            head = _PARTITION_V12(index, code, end_offset, stable_offset, start_offset, preferred)
            return head + encode_uvarint(size_bytes + 1)
        return _PARTITION_V11(
            index, code, end_offset, stable_offset, start_offset, -1, preferred, size_bytes
        )
    if version < _TRANSACTIONS_FROM:
        return _PARTITION_V0(index, code, end_offset, size_bytes)
    if version >= _LOG_START_FROM:
        pieces = [_PARTITION_V5(index, code, end_offset, stable_offset, start_offset)]
    else:
        pieces = [_PARTITION_V4(index, code, end_offset, stable_offset)]
    pieces.append(encode_count(-1 if aborted is None else len(aborted), flexible=flexible))
    pack = _ABORTED_FLEXIBLE if flexible else _ABORTED
    for entry in aborted or ():
        pieces.append(pack(entry.producer_id, entry.first_offset))
    if version >= _PREFERRED_REPLICA_FROM:
        pieces.append(_INT32(partition.preferred_replica))
    pieces.append(encode_count(size_bytes, flexible=flexible))
    return b"".join(pieces)


def _partition_tags(partition: FetchedPartition) -> bytes:
    diverging_epoch, current_leader = partition.diverging_epoch, partition.current_leader
    if diverging_epoch is None and current_leader is None:
        return _NO_TAGS
    tags = []
    if diverging_epoch is not None:
        tags.append((0, _DIVERGING_EPOCH(diverging_epoch[0], diverging_epoch[1])))
    if current_leader is not None:
        tags.append((1, _CURRENT_LEADER(current_leader[0], current_leader[1])))
    return encode_tags(tags, None)
