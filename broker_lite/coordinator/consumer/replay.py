"""A consumer group read back: what each of its records does to it.

A log may be read from any state that compaction left, so a record may be about a member or a
target that nothing else is known of. Such a record does what it can and is no error.
"""

from dataclasses import replace
from typing import Any

from broker_lite.coordinator.consumer import records
from broker_lite.coordinator.consumer.member import (
    NOTHING_ASSIGNED,
    ConsumerMember,
    MemberState,
)
from broker_lite.coordinator.consumer.state import ConsumerGroupData, ResolvedRegex


def apply_record(group: ConsumerGroupData, record_type: int, key: Any, value: Any | None) -> None:
    """Take over what one record says.

    Args:
        group: the group of the key.
        record_type: one of CONSUMER_RECORD_TYPES.
        key: decoded.
        value: decoded; None for a tombstone.
    """
    match record_type:
        case records.GROUP_EPOCH:
            group.is_deleted = value is None
            if value is not None:
                group.group_epoch = value.epoch
                group.metadata_hash = value.metadata_hash
        case records.MEMBER:
            _replay_member(group, key.member_id, value)
        case records.TARGET_EPOCH:
            if value is not None:
                group.target_epoch = value.assignment_epoch
                group.target_timestamp_ms = value.assignment_timestamp
        case records.TARGET:
            if value is None:
                group.targets.pop(key.member_id, None)
            else:
                group.targets[key.member_id] = records.target_of(value)
        case records.CURRENT:
            _replay_current(group, key.member_id, value)
        case records.REGEX:
            _replay_regex(group, key.regular_expression, value)


def _replay_member(group: ConsumerGroupData, member_id: str, value: Any | None) -> None:
    if value is None:
        group.remove_member(member_id)
        return
    member = records.member_of(member_id, value)
    known = group.members.get(member_id)
    if known is not None:
        member = replace(
            member,
            member_epoch=known.member_epoch,
            previous_member_epoch=known.previous_member_epoch,
            state=known.state,
            assigned=known.assigned,
            pending_revocation=known.pending_revocation,
        )
    group.put_member(member)


def _replay_current(group: ConsumerGroupData, member_id: str, value: Any | None) -> None:
    member = group.members.get(member_id)
    if value is not None:
        member = replace(
            member if member is not None else ConsumerMember(member_id=member_id),
            member_epoch=value.member_epoch,
            previous_member_epoch=value.previous_member_epoch,
            state=records.state_of(value),
            assigned=records.assigned_of(value.assigned_partitions, value.member_epoch),
            pending_revocation=records.assigned_of(
                value.partitions_pending_revocation, value.member_epoch
            ),
        )
        group.put_member(member)
    elif member is not None:
        fresh = ConsumerMember(member_id=member_id)
        group.put_member(
            replace(
                member,
                member_epoch=fresh.member_epoch,
                previous_member_epoch=fresh.previous_member_epoch,
                state=MemberState.STABLE,
                assigned=NOTHING_ASSIGNED,
                pending_revocation=NOTHING_ASSIGNED,
            )
        )


def _replay_regex(group: ConsumerGroupData, regex: str, value: Any | None) -> None:
    if value is None:
        group.regexes.pop(regex, None)
    else:
        group.regexes[regex] = ResolvedRegex(tuple(value.topics), value.version, value.timestamp)
