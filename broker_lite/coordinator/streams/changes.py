"""The changes of a streams group: each changes the group in memory and writes the record."""

from broker_lite.coordinator import group_changes
from broker_lite.coordinator.effects import Effects
from broker_lite.coordinator.group_records import STREAMS
from broker_lite.coordinator.streams import records
from broker_lite.coordinator.streams.group import Configs, StreamsGroup
from broker_lite.coordinator.streams.member import StreamsMember
from broker_lite.coordinator.streams.tasks import TaskSets
from broker_lite.coordinator.streams.told import ToldTopology
from broker_lite.coordinator.streams.topology import NO_MAPS, Topology, size_of_topology


def put_member(group: StreamsGroup, member: StreamsMember, effects: Effects) -> None:
    """Store a member with its data, and write it."""
    key = STREAMS.member_key(group.group_id, member.member_id)
    effects.write(key, records.member_value(member))
    group.roster.put(member)


def put_current(group: StreamsGroup, member: StreamsMember, effects: Effects) -> None:
    """Store the epochs and tasks of a member, and write them."""
    key = STREAMS.current_key(group.group_id, member.member_id)
    effects.write(key, records.current_value(member))
    group.roster.put(member)


def put_topology(group: StreamsGroup, told: ToldTopology, effects: Effects) -> None:
    """Store the first topology of a group, and write it."""
    effects.write(records.topology_key(group.group_id), told.record)
    group.roster.held.add(told.size_bytes)
    group.topology, group.maps = told.topology, told.maps


def hold_topology(group: StreamsGroup, topology: Topology | None) -> None:
    """Store the topology with what is looked up in it; its memory counts."""
    group.roster.held.add(size_of_topology(topology) - size_of_topology(group.topology))
    group.topology = topology
    group.maps = NO_MAPS if topology is None else topology.maps()


def put_target(group: StreamsGroup, member_id: str, target: TaskSets, effects: Effects) -> None:
    """Store the target of a member, and write it."""
    effects.write(STREAMS.target_key(group.group_id, member_id), records.target_value(target))
    group.targets[member_id] = target


def put_group_epoch(
    group: StreamsGroup,
    effects: Effects,
    *,
    metadata_hash: int,
    validated_epoch: int,
    configs: Configs,
) -> None:
    """Begin the next group epoch, and write it with what it is based on."""
    epoch = group.group_epoch + 1
    value = records.group_epoch_value(epoch, metadata_hash, validated_epoch, configs)
    effects.write(STREAMS.group_epoch_key(group.group_id), value)
    group.group_epoch = epoch
    group.metadata_hash = metadata_hash
    group.validated_epoch = validated_epoch
    group.last_configs = configs


def next_epoch(group: StreamsGroup, effects: Effects) -> None:
    """Begin the next group epoch, based on the same topics and settings as this one."""
    put_group_epoch(
        group,
        effects,
        metadata_hash=group.metadata_hash,
        validated_epoch=group.validated_epoch,
        configs=group.last_configs,
    )


def drop_member(group: StreamsGroup, member_id: str, effects: Effects) -> None:
    """Remove a member and write its tombstones; the last one ends a shutdown."""
    group_changes.drop_member(group, member_id, effects)
    if not group.roster.members:
        group.shutdown_by = None


def drop_group(group: StreamsGroup, effects: Effects) -> None:
    """Mark a group without members as deleted, and write the tombstones of its records.

    Rule: U-22 (StreamsGroup.createGroupTombstoneRecords).
    """
    effects.write(STREAMS.target_epoch_key(group.group_id), None)
    effects.write(STREAMS.group_epoch_key(group.group_id), None)
    effects.write(records.topology_key(group.group_id), None)
    group.is_deleted = True
