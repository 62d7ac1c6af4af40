"""The records of share groups, as Kafka 4.3 writes them to `__consumer_offsets`.

A key consists of the record type as int16 and the key's fields, a value of its version as int16 and
its fields. Names and partitions are sorted, so the same state always gives the same bytes.
"""

from collections.abc import Iterable, Mapping
from struct import Struct
from typing import Any, Final, TypeVar

from broker_lite.coordinator.assignors.assignor import Target
from broker_lite.coordinator.share.group import StatefulTopic
from broker_lite.coordinator.share.member import ShareMember
from broker_lite.wire import messages

_INT16: Final = Struct(">h")
_VERSION_0: Final = b"\x00\x00"
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

M = TypeVar("M", bound="messages.Message")


def decode(message: type[M], data: bytes) -> M:
    """Return the key or value of a share group's record; all of them have version 0."""
    return message.decode(data, 0, _INT16.size)[0]


def group_of(key: bytes) -> str:
    """Return the group id of a record; every key begins with it."""
    return decode(messages.ShareGroupMetadataKey, key).group_id


def group_epoch_key(group_id: str) -> bytes:
    """Return the key of the group's own record, without which the group does not exist."""
    message = messages.ShareGroupMetadataKey
    return _key(GROUP_EPOCH, message, message(group_id=group_id))


def group_epoch_value(epoch: int, metadata_hash: int) -> bytes:
    """Return the value with the group's epoch and the hash of its topics."""
    message = messages.ShareGroupMetadataValue
    return _value(message, message(epoch=epoch, metadata_hash=metadata_hash))


def member_key(group_id: str, member_id: str) -> bytes:
    """Return the key of a member's subscription."""
    message = messages.ShareGroupMemberMetadataKey
    return _key(MEMBER, message, message(group_id=group_id, member_id=member_id))


def member_value(member: ShareMember) -> bytes:
    """Return the value with a member and its subscription."""
    message = messages.ShareGroupMemberMetadataValue
    value = message(
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topic_names),
    )
    return _value(message, value)


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
    return _key(TARGET_EPOCH, message, message(group_id=group_id))


def target_epoch_value(epoch: int, timestamp_ms: int) -> bytes:
    """Return the value with the epoch of the target assignment, and when it was computed."""
    message = messages.ShareGroupTargetAssignmentMetadataValue
    value = message(assignment_epoch=epoch, assignment_timestamp=timestamp_ms)
    return _value(message, value)


def target_key(group_id: str, member_id: str) -> bytes:
    """Return the key of a member's target."""
    message = messages.ShareGroupTargetAssignmentMemberKey
    return _key(TARGET, message, message(group_id=group_id, member_id=member_id))


def target_value(target: Target) -> bytes:
    """Return the value with a member's target."""
    message = messages.ShareGroupTargetAssignmentMemberValue
    entry = message.TopicPartition
    entries = [entry(topic_id=each, partitions=sorted(target[each])) for each in sorted(target)]
    return _value(message, message(topic_partitions=entries))


def current_key(group_id: str, member_id: str) -> bytes:
    """Return the key of what a member has."""
    message = messages.ShareGroupCurrentMemberAssignmentKey
    return _key(CURRENT, message, message(group_id=group_id, member_id=member_id))


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
    return _value(message, value)


def partitions_of(entries: Iterable[Any]) -> Target:
    """Return the partitions of a record's entries, by topic id."""
    return {each.topic_id: frozenset(each.partitions) for each in entries}


def state_partitions_key(group_id: str) -> bytes:
    """Return the key of the partitions whose state exists."""
    message = messages.ShareGroupStatePartitionMetadataKey
    return _key(STATE_PARTITIONS, message, message(group_id=group_id))


def state_partitions_value(stateful: Mapping[bytes, StatefulTopic]) -> bytes:
    """Return the value with the partitions whose state exists."""
    message = messages.ShareGroupStatePartitionMetadataValue
    entries = [
        message.TopicPartitionsInfo(
            topic_id=topic_id, topic_name=topic.name, partitions=sorted(topic.partitions)
        )
        for topic_id, topic in sorted(stateful.items())
    ]
    return _value(message, message(initialized_topics=entries))


def stateful_of(
    value: messages.ShareGroupStatePartitionMetadataValue,
) -> dict[bytes, StatefulTopic]:
    """Return the partitions whose state exists; those that were being made are made again."""
    return {
        each.topic_id: StatefulTopic(each.topic_name, frozenset(each.partitions))
        for each in value.initialized_topics
    }


def _key(record_type: int, message: type[M], key: M) -> bytes:
    return _INT16.pack(record_type) + message.encode(key, 0)


def _value(message: type[M], value: M) -> bytes:
    return _VERSION_0 + message.encode(value, 0)
