"""The records of share groups, as Kafka 4.3 writes them to `__consumer_offsets`.

Names and partitions are sorted, so the same state always gives the same bytes.
"""

from collections.abc import Mapping
from typing import Final

from broker_lite.coordinator.assignors.assignor import Target
from broker_lite.coordinator.group_records import (
    SHARE,
    decode,
    encode_key,
    encode_value,
    partitions_of,
)
from broker_lite.coordinator.share.group import StatefulTopic
from broker_lite.coordinator.share.member import ShareMember
from broker_lite.wire import messages

_STABLE: Final = 0

STATE_PARTITIONS: Final = 15

SHARE_RECORD_TYPES: Final = frozenset((*SHARE, STATE_PARTITIONS))


def group_epoch_value(epoch: int, metadata_hash: int) -> bytes:
    """Return the value with the group's epoch and the hash of its topics."""
    message = messages.ShareGroupMetadataValue
    return encode_value(message, message(epoch=epoch, metadata_hash=metadata_hash))


def member_value(member: ShareMember) -> bytes:
    """Return the value with a member and its subscription."""
    message = messages.ShareGroupMemberMetadataValue
    value = message(
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topic_names),
    )
    return encode_value(message, value)


def member_of(member_id: str, data: bytes) -> ShareMember:
    """Return the member in a record, without any partitions."""
    value = decode(messages.ShareGroupMemberMetadataValue, data)
    return ShareMember(
        member_id=member_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        topic_names=tuple(value.subscribed_topic_names),
    )


def target_value(target: Target) -> bytes:
    """Return the value with a member's target."""
    message = messages.ShareGroupTargetAssignmentMemberValue
    entry = message.TopicPartition
    entries = [entry(topic_id=each, partitions=sorted(target[each])) for each in sorted(target)]
    return encode_value(message, message(topic_partitions=entries))


def target_of(data: bytes) -> Target:
    """Return the target in a record."""
    value = decode(messages.ShareGroupTargetAssignmentMemberValue, data)
    return partitions_of(value.topic_partitions)


def current_value(member: ShareMember) -> bytes:
    """Return the value with the epochs and partitions of a member."""
    message = messages.ShareGroupCurrentMemberAssignmentValue
    entry, assigned = message.TopicPartitions, member.assigned
    value = message(
        member_epoch=member.member_epoch,
        previous_member_epoch=member.previous_member_epoch,
        state=_STABLE,
        assigned_partitions=[
            entry(topic_id=each, partitions=sorted(assigned[each])) for each in sorted(assigned)
        ],
    )
    return encode_value(message, value)


def current_of(member_id: str, data: bytes) -> ShareMember:
    """Return a member with what a record says that it has."""
    value = decode(messages.ShareGroupCurrentMemberAssignmentValue, data)
    return ShareMember(
        member_id=member_id,
        member_epoch=value.member_epoch,
        previous_member_epoch=value.previous_member_epoch,
        assigned=partitions_of(value.assigned_partitions),
    )


def state_partitions_key(group_id: str) -> bytes:
    """Return the key of the partitions whose state exists."""
    message = messages.ShareGroupStatePartitionMetadataKey
    return encode_key(STATE_PARTITIONS, message, message(group_id=group_id))


def state_partitions_value(stateful: Mapping[bytes, StatefulTopic]) -> bytes:
    """Return the value with the partitions whose state exists."""
    message = messages.ShareGroupStatePartitionMetadataValue
    entries = [
        message.TopicPartitionsInfo(
            topic_id=topic_id, topic_name=topic.name, partitions=sorted(topic.partitions)
        )
        for topic_id, topic in sorted(stateful.items())
    ]
    return encode_value(message, message(initialized_topics=entries))


def stateful_of(data: bytes) -> dict[bytes, StatefulTopic]:
    """Return the partitions whose state exists; those that were being made are made again."""
    value = decode(messages.ShareGroupStatePartitionMetadataValue, data)
    return {
        each.topic_id: StatefulTopic(each.topic_name, frozenset(each.partitions))
        for each in value.initialized_topics
    }
