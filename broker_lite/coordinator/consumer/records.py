"""The records of consumer groups, as Kafka 4.3 writes them to `__consumer_offsets`.

A key consists of the record type as int16 and the key's fields, a value of its version as int16 and
its fields. Names and partitions are sorted, so the same state always gives the same bytes.
"""

from collections.abc import Iterable
from struct import Struct
from typing import Final, TypeVar

from broker_lite.coordinator.assignors.assignor import Target
from broker_lite.coordinator.consumer.group import ResolvedRegex
from broker_lite.coordinator.consumer.member import (
    Assigned,
    ClassicMemberData,
    ConsumerMember,
    MemberState,
)
from broker_lite.wire import messages

_INT16: Final = Struct(">h")
_VERSION_0: Final = b"\x00\x00"

GROUP_EPOCH: Final = 3
PARTITION_METADATA: Final = 4
MEMBER: Final = 5
TARGET_EPOCH: Final = 6
TARGET: Final = 7
CURRENT: Final = 8
REGEX: Final = 16

CONSUMER_RECORD_TYPES: Final = frozenset(
    (GROUP_EPOCH, PARTITION_METADATA, MEMBER, TARGET_EPOCH, TARGET, CURRENT, REGEX)
)

M = TypeVar("M", bound="messages.Message")


def decode(message: type[M], data: bytes) -> M:
    """Return the key or value of a consumer group's record; all of them have version 0."""
    return message.decode(data, 0, _INT16.size)[0]


def group_of(key: bytes) -> str:
    """Return the group id of a record; every key begins with it."""
    return decode(messages.ConsumerGroupMetadataKey, key).group_id


def group_epoch_key(group_id: str) -> bytes:
    """Return the key of the group's own record, without which the group does not exist."""
    message = messages.ConsumerGroupMetadataKey
    return _key(GROUP_EPOCH, message, message(group_id=group_id))


def group_epoch_value(epoch: int, metadata_hash: int) -> bytes:
    """Return the value with the group's epoch and the hash of its topics."""
    message = messages.ConsumerGroupMetadataValue
    return _value(message, message(epoch=epoch, metadata_hash=metadata_hash))


def partition_metadata_key(group_id: str) -> bytes:
    """Return the key of the topic metadata that brokers before 4.1 wrote; only to delete it."""
    message = messages.ConsumerGroupPartitionMetadataKey
    return _key(PARTITION_METADATA, message, message(group_id=group_id))


def member_key(group_id: str, member_id: str) -> bytes:
    """Return the key of a member's subscription."""
    message = messages.ConsumerGroupMemberMetadataKey
    return _key(MEMBER, message, message(group_id=group_id, member_id=member_id))


def member_value(member: ConsumerMember) -> bytes:
    """Return the value with a member and its subscription."""
    message = messages.ConsumerGroupMemberMetadataValue
    classic = member.classic
    return _value(
        message,
        message(
            instance_id=member.instance_id,
            rack_id=member.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=list(member.topic_names),
            subscribed_topic_regex=member.regex,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            server_assignor=member.server_assignor,
            classic_member_metadata=None
            if classic is None
            else message.ClassicMemberMetadata(
                session_timeout_ms=classic.session_timeout_ms,
                supported_protocols=[
                    message.ClassicProtocol(name=name, metadata=metadata)
                    for name, metadata in classic.protocols
                ],
            ),
        ),
    )


def member_of(member_id: str, value: messages.ConsumerGroupMemberMetadataValue) -> ConsumerMember:
    """Return the member in a record, without any partitions."""
    classic = value.classic_member_metadata
    return ConsumerMember(
        member_id=member_id,
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        topic_names=tuple(value.subscribed_topic_names),
        regex=value.subscribed_topic_regex or "",
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        server_assignor=value.server_assignor,
        classic=None
        if classic is None
        else ClassicMemberData(
            session_timeout_ms=classic.session_timeout_ms,
            protocols=tuple(
                (protocol.name, bytes(protocol.metadata))
                for protocol in classic.supported_protocols
            ),
        ),
    )


def target_epoch_key(group_id: str) -> bytes:
    """Return the key of the target assignment's epoch."""
    message = messages.ConsumerGroupTargetAssignmentMetadataKey
    return _key(TARGET_EPOCH, message, message(group_id=group_id))


def target_epoch_value(epoch: int, timestamp_ms: int) -> bytes:
    """Return the value with the epoch of the target assignment and the time of its computation."""
    message = messages.ConsumerGroupTargetAssignmentMetadataValue
    return _value(message, message(assignment_epoch=epoch, assignment_timestamp=timestamp_ms))


def target_key(group_id: str, member_id: str) -> bytes:
    """Return the key of one member's target."""
    message = messages.ConsumerGroupTargetAssignmentMemberKey
    return _key(TARGET, message, message(group_id=group_id, member_id=member_id))


def target_value(target: Target) -> bytes:
    """Return the value with the target of a member."""
    message = messages.ConsumerGroupTargetAssignmentMemberValue
    return _value(
        message,
        message(
            topic_partitions=[
                message.TopicPartition(topic_id=topic_id, partitions=sorted(target[topic_id]))
                for topic_id in sorted(target)
            ]
        ),
    )


def target_of(value: messages.ConsumerGroupTargetAssignmentMemberValue) -> Target:
    """Return the target of a member in a record."""
    return {entry.topic_id: frozenset(entry.partitions) for entry in value.topic_partitions}


def current_key(group_id: str, member_id: str) -> bytes:
    """Return the key of a member's current assignment."""
    message = messages.ConsumerGroupCurrentMemberAssignmentKey
    return _key(CURRENT, message, message(group_id=group_id, member_id=member_id))


def current_value(member: ConsumerMember) -> bytes:
    """Return the value with a member's epochs, its state and its current assignment."""
    message = messages.ConsumerGroupCurrentMemberAssignmentValue
    return _value(
        message,
        message(
            member_epoch=member.member_epoch,
            previous_member_epoch=member.previous_member_epoch,
            state=int(member.state),
            assigned_partitions=_topic_partitions(member.assigned),
            partitions_pending_revocation=_topic_partitions(member.pending_revocation),
        ),
    )


def state_of(value: messages.ConsumerGroupCurrentMemberAssignmentValue) -> MemberState:
    """Return the state in a member's record; UNKNOWN for a state of a newer Kafka."""
    try:
        return MemberState(value.state)
    except ValueError:
        return MemberState.UNKNOWN


def assigned_of(
    entries: "Iterable[messages.ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions]",
    member_epoch: int,
) -> dict[bytes, dict[int, int]]:
    """Return the partitions in a record with their epochs; without epochs, the member's epoch."""
    return {
        entry.topic_id: dict(
            zip(
                entry.partitions,
                entry.assignment_epochs or [member_epoch] * len(entry.partitions),
                strict=True,
            )
        )
        for entry in entries
    }


def regex_key(group_id: str, regex: str) -> bytes:
    """Return the key of the topics that a regular expression matched."""
    message = messages.ConsumerGroupRegularExpressionKey
    return _key(REGEX, message, message(group_id=group_id, regular_expression=regex))


def regex_value(resolved: ResolvedRegex) -> bytes:
    """Return the value with the topics that a regular expression matched."""
    message = messages.ConsumerGroupRegularExpressionValue
    return _value(
        message,
        message(
            topics=list(resolved.topics), version=resolved.version, timestamp=resolved.timestamp_ms
        ),
    )


def _topic_partitions(
    assigned: Assigned,
) -> "list[messages.ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions]":
    topic_partitions = messages.ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions
    entries = []
    for topic_id in sorted(assigned):
        epochs = assigned[topic_id]
        partitions = sorted(epochs)
        entries.append(
            topic_partitions(
                topic_id=topic_id,
                partitions=partitions,
                assignment_epochs=[epochs[partition] for partition in partitions],
            )
        )
    return entries


def _key(record_type: int, message: type[M], key: M) -> bytes:
    return _INT16.pack(record_type) + message.encode(key, 0)


def _value(message: type[M], value: M) -> bytes:
    return _VERSION_0 + message.encode(value, 0)
