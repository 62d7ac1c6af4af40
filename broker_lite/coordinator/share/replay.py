"""Loads a share group from the log: applies its records one by one.

Compaction may have removed some of the records, so a record may name a member or a target of which
there is no other record. Such a record is applied as far as possible, and is no error.
"""

from dataclasses import replace

from broker_lite.coordinator.group_records import (
    apply_group_epoch,
    apply_target,
    apply_target_epoch,
    decode,
    partitions_of,
)
from broker_lite.coordinator.share import records
from broker_lite.coordinator.share.group import ShareGroup
from broker_lite.coordinator.share.member import NO_TARGET, ShareMember
from broker_lite.wire import messages


def apply_record(group: ShareGroup, record_type: int, key: bytes, value: bytes | None) -> None:
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
            message = messages.ShareGroupMetadataValue
            apply_group_epoch(group, None if value is None else decode(message, value))
        case records.TARGET_EPOCH:
            target = messages.ShareGroupTargetAssignmentMetadataValue
            apply_target_epoch(group, None if value is None else decode(target, value))
        case records.STATE_PARTITIONS:
            stateful = messages.ShareGroupStatePartitionMetadataValue
            group.put_stateful(
                {} if value is None else records.stateful_of(decode(stateful, value))
            )
        case records.MEMBER:
            _replay_member(group, key, value)
        case records.TARGET:
            _replay_target(group, key, value)
        case records.CURRENT:
            _replay_current(group, key, value)


def _replay_member(group: ShareGroup, key: bytes, value: bytes | None) -> None:
    member_id = decode(messages.ShareGroupMemberMetadataKey, key).member_id
    if value is None:
        group.roster.remove(member_id)
        return
    said = decode(messages.ShareGroupMemberMetadataValue, value)
    member = records.member_of(member_id, said)
    known = group.roster.members.get(member_id)
    if known is not None:
        member = replace(
            member,
            member_epoch=known.member_epoch,
            previous_member_epoch=known.previous_member_epoch,
            assigned=known.assigned,
        )
    group.roster.put(member)


def _replay_target(group: ShareGroup, key: bytes, value: bytes | None) -> None:
    member_id = decode(messages.ShareGroupTargetAssignmentMemberKey, key).member_id
    message = messages.ShareGroupTargetAssignmentMemberValue
    entries = None if value is None else decode(message, value).topic_partitions
    apply_target(group, member_id, entries)


def _replay_current(group: ShareGroup, key: bytes, value: bytes | None) -> None:
    member_id = decode(messages.ShareGroupCurrentMemberAssignmentKey, key).member_id
    member = group.roster.members.get(member_id)
    if value is not None:
        said = decode(messages.ShareGroupCurrentMemberAssignmentValue, value)
        group.roster.put(
            replace(
                member if member is not None else ShareMember(member_id=member_id),
                member_epoch=said.member_epoch,
                previous_member_epoch=said.previous_member_epoch,
                assigned=partitions_of(said.assigned_partitions),
            )
        )
    elif member is not None:
        fresh = replace(member, member_epoch=0, previous_member_epoch=-1, assigned=NO_TARGET)
        group.roster.put(fresh)
