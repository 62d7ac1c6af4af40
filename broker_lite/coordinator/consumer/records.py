"""The records of consumer groups, as Kafka 4.3 writes them to `__consumer_offsets`.

Names and partitions are sorted, so the same state always gives the same bytes.
"""

from collections.abc import Iterable
from typing import Final

from broker_lite.coordinator.assignors.assignor import Target
from broker_lite.coordinator.consumer.group import ResolvedRegex
from broker_lite.coordinator.consumer.member import (
    Assigned,
    ClassicMemberData,
    ConsumerMember,
    MemberState,
)
from broker_lite.coordinator.group_records import (
    CONSUMER,
    decode,
    encode_key,
    encode_value,
    partitions_of,
)
from broker_lite.wire import messages

PARTITION_METADATA: Final = 4
REGEX: Final = 16

CONSUMER_RECORD_TYPES: Final = frozenset((*CONSUMER, PARTITION_METADATA, REGEX))


def group_epoch_value(epoch: int, metadata_hash: int) -> bytes:
    """Return the value with the group's epoch and the hash of its topics."""
    message = messages.ConsumerGroupMetadataValue
    return encode_value(message, message(epoch=epoch, metadata_hash=metadata_hash))


def partition_metadata_key(group_id: str) -> bytes:
    """Return the key of the topic metadata that brokers before 4.1 wrote; only to delete it."""
    message = messages.ConsumerGroupPartitionMetadataKey
    return encode_key(PARTITION_METADATA, message, message(group_id=group_id))


def member_value(member: ConsumerMember) -> bytes:
    """Return the value with a member and its subscription."""
    message = messages.ConsumerGroupMemberMetadataValue
    classic = member.classic
    return encode_value(
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


def member_of(member_id: str, data: bytes) -> ConsumerMember:
    """Return the member in a record, without any partitions."""
    value = decode(messages.ConsumerGroupMemberMetadataValue, data)
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


def target_value(target: Target) -> bytes:
    """Return the value with the target of a member."""
    message = messages.ConsumerGroupTargetAssignmentMemberValue
    return encode_value(
        message,
        message(
            topic_partitions=[
                message.TopicPartition(topic_id=topic_id, partitions=sorted(target[topic_id]))
                for topic_id in sorted(target)
            ]
        ),
    )


def target_of(data: bytes) -> Target:
    """Return the target in a record."""
    value = decode(messages.ConsumerGroupTargetAssignmentMemberValue, data)
    return partitions_of(value.topic_partitions)


def current_value(member: ConsumerMember) -> bytes:
    """Return the value with a member's epochs, its state and its current assignment."""
    message = messages.ConsumerGroupCurrentMemberAssignmentValue
    return encode_value(
        message,
        message(
            member_epoch=member.member_epoch,
            previous_member_epoch=member.previous_member_epoch,
            state=int(member.state),
            assigned_partitions=_topic_partitions(member.assigned),
            partitions_pending_revocation=_topic_partitions(member.pending_revocation),
        ),
    )


def _assigned_of(
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


def current_of(member_id: str, data: bytes) -> ConsumerMember:
    """Return a member with what a record says that it has; a state of a newer Kafka is UNKNOWN."""
    value = decode(messages.ConsumerGroupCurrentMemberAssignmentValue, data)
    epoch = value.member_epoch
    return ConsumerMember(
        member_id=member_id,
        member_epoch=epoch,
        previous_member_epoch=value.previous_member_epoch,
        state=MemberState.of(value.state),
        assigned=_assigned_of(value.assigned_partitions, epoch),
        pending_revocation=_assigned_of(value.partitions_pending_revocation, epoch),
    )


def regex_key(group_id: str, regex: str) -> bytes:
    """Return the key of the topics that a regular expression matched."""
    message = messages.ConsumerGroupRegularExpressionKey
    return encode_key(REGEX, message, message(group_id=group_id, regular_expression=regex))


def regex_value(resolved: ResolvedRegex) -> bytes:
    """Return the value with the topics that a regular expression matched."""
    message = messages.ConsumerGroupRegularExpressionValue
    return encode_value(
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
