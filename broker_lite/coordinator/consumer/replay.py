"""Loads a consumer group from the log: applies its records one by one.

Compaction may have removed some of the records, so a record may name a member or a target of which
there is no other record. Such a record is applied as far as possible, and is no error.
"""

from dataclasses import replace

from broker_lite.coordinator.consumer import records
from broker_lite.coordinator.consumer.group import ConsumerGroup, ResolvedRegex
from broker_lite.coordinator.consumer.member import (
    NOTHING_ASSIGNED,
    ConsumerMember,
    MemberState,
)
from broker_lite.coordinator.group_records import (
    apply_group_epoch,
    apply_target,
    apply_target_epoch,
    decode,
)
from broker_lite.wire import messages


def apply_record(group: ConsumerGroup, record_type: int, key: bytes, value: bytes | None) -> None:
    """Apply one record to its group.

    Args:
        group: the group of the key.
        record_type: of the key.
        key: of the record.
        value: of the record; None for a tombstone. A tombstone of GROUP_EPOCH deletes the group.

    Raises:
        DecodeError: the record cannot be read.
    """
    match record_type:
        case records.GROUP_EPOCH:
            message = messages.ConsumerGroupMetadataValue
            apply_group_epoch(group, None if value is None else decode(message, value))
        case records.MEMBER:
            _replay_member(group, key, value)
        case records.TARGET_EPOCH:
            target = messages.ConsumerGroupTargetAssignmentMetadataValue
            apply_target_epoch(group, None if value is None else decode(target, value))
        case records.TARGET:
            _replay_target(group, key, value)
        case records.CURRENT:
            _replay_current(group, key, value)
        case records.REGEX:
            _replay_regex(group, key, value)


def _replay_member(group: ConsumerGroup, key: bytes, value: bytes | None) -> None:
    member_id = decode(messages.ConsumerGroupMemberMetadataKey, key).member_id
    if value is None:
        group.roster.remove(member_id)
        return
    said = decode(messages.ConsumerGroupMemberMetadataValue, value)
    member = records.member_of(member_id, said)
    known = group.roster.members.get(member_id)
    if known is not None:
        member = replace(
            member,
            member_epoch=known.member_epoch,
            previous_member_epoch=known.previous_member_epoch,
            state=known.state,
            assigned=known.assigned,
            pending_revocation=known.pending_revocation,
        )
    group.roster.put(member)


def _replay_target(group: ConsumerGroup, key: bytes, value: bytes | None) -> None:
    member_id = decode(messages.ConsumerGroupTargetAssignmentMemberKey, key).member_id
    message = messages.ConsumerGroupTargetAssignmentMemberValue
    entries = None if value is None else decode(message, value).topic_partitions
    apply_target(group, member_id, entries)


def _replay_current(group: ConsumerGroup, key: bytes, value: bytes | None) -> None:
    member_id = decode(messages.ConsumerGroupCurrentMemberAssignmentKey, key).member_id
    member = group.roster.members.get(member_id)
    if value is not None:
        said = decode(messages.ConsumerGroupCurrentMemberAssignmentValue, value)
        member = replace(
            member if member is not None else ConsumerMember(member_id=member_id),
            member_epoch=said.member_epoch,
            previous_member_epoch=said.previous_member_epoch,
            state=records.state_of(said),
            assigned=records.assigned_of(said.assigned_partitions, said.member_epoch),
            pending_revocation=records.assigned_of(
                said.partitions_pending_revocation, said.member_epoch
            ),
        )
        group.roster.put(member)
    elif member is not None:
        fresh = ConsumerMember(member_id=member_id)
        group.roster.put(
            replace(
                member,
                member_epoch=fresh.member_epoch,
                previous_member_epoch=fresh.previous_member_epoch,
                state=MemberState.STABLE,
                assigned=NOTHING_ASSIGNED,
                pending_revocation=NOTHING_ASSIGNED,
            )
        )


def _replay_regex(group: ConsumerGroup, key: bytes, value: bytes | None) -> None:
    regex = decode(messages.ConsumerGroupRegularExpressionKey, key).regular_expression
    if value is None:
        group.regexes.pop(regex, None)
    else:
        said = decode(messages.ConsumerGroupRegularExpressionValue, value)
        group.regexes[regex] = ResolvedRegex(tuple(said.topics), said.version, said.timestamp)
