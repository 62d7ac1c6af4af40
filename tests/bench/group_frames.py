"""Whole requests of group members, ready for a socket, and what their answers say."""

import struct
from collections.abc import Sequence
from typing import Any, Final

from broker_lite.wire import messages

CLIENT_ID: Final = b"load"
PROTOCOL: Final = "range"
SESSION_MS: Final = 45_000
REBALANCE_MS: Final = 60_000
# below v4 a join needs no second request, so one answer is the member's
JOIN_VERSION: Final = 5
JOIN_AT_ONCE_VERSION: Final = 3
SYNC_VERSION: Final = 5
HEARTBEAT_VERSION: Final = 4
CONSUMER_VERSION: Final = 1
COMMIT_VERSION: Final = 9


def frame(name: str, version: int, **fields: Any) -> bytes:
    """A request by the name of its API, with its size before it."""
    kind = getattr(messages, f"{name}Request")
    body = kind.encode(kind(**fields), version)
    flexible = kind.flexible_from is not None and version >= kind.flexible_from
    head = struct.pack(">hhih", kind.api_key, version, 7, len(CLIENT_ID)) + CLIENT_ID
    data = head + (b"\x00" if flexible else b"") + body
    return struct.pack(">i", len(data)) + data


def answer(name: str, version: int, data: bytes) -> Any:
    """The decoded response in an answer without its size."""
    kind = getattr(messages, f"{name}Request")
    flexible = kind.flexible_from is not None and version >= kind.flexible_from
    value, _ = messages.by_api(kind.api_key)[1].decode(data, version, 5 if flexible else 4)
    return value


def subscription(topics: Sequence[str]) -> bytes:
    """The metadata of a classic member that subscribes to topics (G-76)."""
    kind = messages.ConsumerProtocolSubscription
    return struct.pack(">h", 1) + kind.encode(kind(topics=list(topics), user_data=None), 1)


def assignment(topic: str, partitions: Sequence[int]) -> bytes:
    """What a leader hands to a member (G-76)."""
    kind = messages.ConsumerProtocolAssignment
    given = kind.TopicPartition(topic=topic, partitions=list(partitions))
    return struct.pack(">h", 1) + kind.encode(kind(assigned_partitions=[given]), 1)


def join(
    group_id: str, member_id: str, metadata: bytes, version: int = JOIN_AT_ONCE_VERSION
) -> bytes:
    """A JoinGroup of a consumer."""
    protocols = [
        messages.JoinGroupRequest.JoinGroupRequestProtocol(name=PROTOCOL, metadata=metadata)
    ]
    return frame(
        "JoinGroup",
        version,
        group_id=group_id,
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=REBALANCE_MS,
        member_id=member_id,
        protocol_type="consumer",
        protocols=protocols,
    )


def sync(
    group_id: str, member_id: str, generation: int, given: Sequence[tuple[str, bytes]]
) -> bytes:
    """A SyncGroup; only the leader's gives assignments."""
    kind = messages.SyncGroupRequest.SyncGroupRequestAssignment
    return frame(
        "SyncGroup",
        SYNC_VERSION,
        group_id=group_id,
        member_id=member_id,
        generation_id=generation,
        protocol_type="consumer",
        protocol_name=PROTOCOL,
        assignments=[kind(member_id=each, assignment=data) for each, data in given],
    )


def heartbeat(group_id: str, member_id: str, generation: int) -> bytes:
    """A Heartbeat of a classic member."""
    return frame(
        "Heartbeat",
        HEARTBEAT_VERSION,
        group_id=group_id,
        member_id=member_id,
        generation_id=generation,
    )


def consumer_heartbeat(group_id: str, member_id: str, epoch: int, **fields: Any) -> bytes:
    """A ConsumerGroupHeartbeat; without more fields nothing has changed since the last one."""
    return frame(
        "ConsumerGroupHeartbeat",
        CONSUMER_VERSION,
        group_id=group_id,
        member_id=member_id,
        member_epoch=epoch,
        **{"rebalance_timeout_ms": -1, **fields},
    )


def consumer_join(group_id: str, member_id: str, topics: Sequence[str]) -> bytes:
    """The first ConsumerGroupHeartbeat of a member."""
    return consumer_heartbeat(
        group_id,
        member_id,
        0,
        rebalance_timeout_ms=REBALANCE_MS,
        subscribed_topic_names=list(topics),
        topic_partitions=[],
    )


def commit(
    group_id: str,
    topic: str,
    partitions: Sequence[int],
    offset: int,
    member: tuple[str, int] = ("", -1),
) -> bytes:
    """An OffsetCommit of one topic; without a member it is a simple consumer's."""
    kind = messages.OffsetCommitRequest
    committed = [
        kind.OffsetCommitRequestPartition(
            partition_index=index, committed_offset=offset, committed_metadata=""
        )
        for index in partitions
    ]
    return frame(
        "OffsetCommit",
        COMMIT_VERSION,
        group_id=group_id,
        member_id=member[0],
        generation_id_or_member_epoch=member[1],
        topics=[kind.OffsetCommitRequestTopic(name=topic, partitions=committed)],
    )
