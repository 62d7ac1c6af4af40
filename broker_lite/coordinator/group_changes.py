"""The changes that all newer kinds of groups have: each changes the group and writes the record."""

from collections.abc import Iterable

from broker_lite.coordinator.effects import Effects
from broker_lite.coordinator.group_records import target_epoch_value
from broker_lite.coordinator.newer_group import NewerGroup, R, T


def put_target_epoch(
    group: NewerGroup[R, T], epoch: int, timestamp_ms: int, effects: Effects
) -> None:
    """Store the group epoch of the target assignment, and write it."""
    value = target_epoch_value(epoch, timestamp_ms)
    effects.write(group.record_types.target_epoch_key(group.group_id), value)
    group.target_epoch = epoch
    group.target_timestamp_ms = timestamp_ms


def drop_member(group: NewerGroup[R, T], member_id: str, effects: Effects) -> None:
    """Remove a member and write its tombstones, in Kafka's order."""
    types, group_id = group.record_types, group.group_id
    effects.write(types.current_key(group_id, member_id), None)
    effects.write(types.target_key(group_id, member_id), None)
    effects.write(types.member_key(group_id, member_id), None)
    group.targets.pop(member_id, None)
    group.roster.remove(member_id)


def drop_group(group: NewerGroup[R, T], others: Iterable[bytes], effects: Effects) -> None:
    """Mark a group as deleted and write the tombstones of all its records, in Kafka's order.

    Args:
        group: of consumers or share consumers; it may have members.
        others: the keys of the records that only its kind has.
        effects: gets the records.
    """
    types, group_id, members = group.record_types, group.group_id, [*group.roster.members]
    for member_id in members:
        effects.write(types.current_key(group_id, member_id), None)
    for member_id in members:
        effects.write(types.target_key(group_id, member_id), None)
    effects.write(types.target_epoch_key(group_id), None)
    for member_id in members:
        effects.write(types.member_key(group_id, member_id), None)
    for key in others:
        effects.write(key, None)
    effects.write(types.group_epoch_key(group_id), None)
    group.is_deleted = True
