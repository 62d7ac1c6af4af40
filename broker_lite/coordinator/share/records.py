"""The records of share groups, as Kafka 4.3 writes them to `__consumer_offsets`.

Names and partitions are sorted, so the same state always gives the same bytes.
"""

from collections.abc import Mapping
from typing import Final

from broker_lite.coordinator.assignors.assignor import Target
from broker_lite.coordinator.group_records import encode_key, encode_value
from broker_lite.coordinator.share.group import StatefulTopic
from broker_lite.coordinator.share.member import ShareMember
from broker_lite.wire import messages

_STABLE: Final = 0

MEMBER: Final = 10
GROUP_EPOCH: Final = 11
TARGET_EPOCH: Final = 12
TARGET: Final = 13
CURRENT: Final = 14
STATE_PARTITIONS: Final = 15

SHARE_RECORD_TYPES: Final = frozenset(
    (MEMBER, GROUP_EPOCH, TARGET_EPOCH, TARGET, CURRENT, STATE_PARTITIONS)
)


def group_epoch_key(group_id: str) -> bytes:
    """Return the key of the group's own record, without which the group does not exist."""
    message = messages.ShareGroupMetadataKey
    return encode_key(GROUP_EPOCH, message, message(group_id=group_id))


def group_epoch_value(epoch: int, metadata_hash: int) -> bytes:
    """Return the value with the group's epoch and the hash of its topics."""
    message = messages.ShareGroupMetadataValue
    return encode_value(message, message(epoch=epoch, metadata_hash=metadata_hash))


def member_key(group_id: str, member_id: str) -> bytes:
    """Return the key of a member's subscription."""
    message = messages.ShareGroupMemberMetadataKey
    return encode_key(MEMBER, message, message(group_id=group_id, member_id=member_id))


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


def member_of(member_id: str, value: messages.ShareGroupMemberMetadataValue) -> ShareMember:
    """Return the member in a record, without any partitions."""
    return ShareMember(
        member_id=member_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        topic_names=tuple(value.subscribed_topic_names),
    )


def target_epoch_key(group_id: str) -> bytes:
    """Return the key of the epoch of the target assignment."""
    message = messages.ShareGroupTargetAssignmentMetadataKey
    return encode_key(TARGET_EPOCH, message, message(group_id=group_id))


def target_epoch_value(epoch: int, timestamp_ms: int) -> bytes:
    """Return the value with the epoch of the target assignment, and when it was computed."""
    message = messages.ShareGroupTargetAssignmentMetadataValue
    value = message(assignment_epoch=epoch, assignment_timestamp=timestamp_ms)
    return encode_value(message, value)


def target_key(group_id: str, member_id: str) -> bytes:
    """Return the key of a member's target."""
    message = messages.ShareGroupTargetAssignmentMemberKey
    return encode_key(TARGET, message, message(group_id=group_id, member_id=member_id))


def target_value(target: Target) -> bytes:
    """Return the value with a member's target."""
    message = messages.ShareGroupTargetAssignmentMemberValue
    entry = message.TopicPartition
    entries = [entry(topic_id=each, partitions=sorted(target[each])) for each in sorted(target)]
    return encode_value(message, message(topic_partitions=entries))


def current_key(group_id: str, member_id: str) -> bytes:
    """Return the key of what a member has."""
    message = messages.ShareGroupCurrentMemberAssignmentKey
    return encode_key(CURRENT, message, message(group_id=group_id, member_id=member_id))


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


def stateful_of(
    value: messages.ShareGroupStatePartitionMetadataValue,
) -> dict[bytes, StatefulTopic]:
    """Return the partitions whose state exists; those that were being made are made again."""
    return {
        each.topic_id: StatefulTopic(each.topic_name, frozenset(each.partitions))
        for each in value.initialized_topics
    }
