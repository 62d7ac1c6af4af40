"""Loads a streams group from the log: applies its records one by one.

Compaction may have removed some of the records, so a record may name a member or a target of which
there is no other record. Such a record is applied as far as possible, and is no error.
"""

from dataclasses import replace

from broker_lite.coordinator.group_records import apply_group_epoch, apply_target_epoch, decode
from broker_lite.coordinator.streams import records
from broker_lite.coordinator.streams.changes import hold_topology
from broker_lite.coordinator.streams.group import StreamsGroup
from broker_lite.coordinator.streams.member import StreamsMember, StreamsMemberState
from broker_lite.coordinator.streams.tasks import NOTHING_ASSIGNED
from broker_lite.coordinator.streams.topology import topology_of
from broker_lite.wire import messages


def apply_record(group: StreamsGroup, record_type: int, key: bytes, value: bytes | None) -> None:
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
            said = None if value is None else decode(messages.StreamsGroupMetadataValue, value)
            apply_group_epoch(group, said)
            if said is not None:
                group.validated_epoch = said.validated_topology_epoch
                group.last_configs = records.configs_of(said)
        case records.TARGET_EPOCH:
            target = messages.StreamsGroupTargetAssignmentMetadataValue
            apply_target_epoch(group, None if value is None else decode(target, value))
        case records.TOPOLOGY:
            told = None
            if value is not None:
                told = topology_of(decode(messages.StreamsGroupTopologyValue, value))
            hold_topology(group, told)
        case records.MEMBER:
            _replay_member(group, key, value)
        case records.TARGET:
            _replay_target(group, key, value)
        case records.CURRENT:
            _replay_current(group, key, value)


def _replay_member(group: StreamsGroup, key: bytes, value: bytes | None) -> None:
    member_id = decode(messages.StreamsGroupMemberMetadataKey, key).member_id
    if value is None:
        group.roster.remove(member_id)
        return
    said = decode(messages.StreamsGroupMemberMetadataValue, value)
    member = records.member_of(member_id, said)
    known = group.roster.members.get(member_id)
    if known is not None:
        member = replace(
            member,
            state=known.state,
            member_epoch=known.member_epoch,
            previous_member_epoch=known.previous_member_epoch,
            assigned=known.assigned,
            pending=known.pending,
        )
    group.roster.put(member)


def _replay_target(group: StreamsGroup, key: bytes, value: bytes | None) -> None:
    member_id = decode(messages.StreamsGroupTargetAssignmentMemberKey, key).member_id
    if value is None:
        group.targets.pop(member_id, None)
    else:
        said = decode(messages.StreamsGroupTargetAssignmentMemberValue, value)
        group.targets[member_id] = records.target_of(said)


def _replay_current(group: StreamsGroup, key: bytes, value: bytes | None) -> None:
    member_id = decode(messages.StreamsGroupCurrentMemberAssignmentKey, key).member_id
    member = group.roster.members.get(member_id)
    if value is not None:
        said = decode(messages.StreamsGroupCurrentMemberAssignmentValue, value)
        group.roster.put(
            replace(
                member if member is not None else StreamsMember(member_id=member_id),
                state=records.state_of(said),
                member_epoch=said.member_epoch,
                previous_member_epoch=said.previous_member_epoch,
                assigned=records.assigned_of(said),
                pending=records.pending_of(said),
            )
        )
    elif member is not None:
        group.roster.put(
            replace(
                member,
                state=StreamsMemberState.STABLE,
                member_epoch=0,
                previous_member_epoch=0,
                assigned=NOTHING_ASSIGNED,
                pending=NOTHING_ASSIGNED,
            )
        )
