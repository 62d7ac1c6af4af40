"""Converts a classic group of consumers, with its members, into a consumer group (KIP-848).

The members keep the assignments of the classic group's leader, and still use the classic protocol.
The consumer group takes these assignments as their first targets.
"""

from collections.abc import Mapping
from typing import Final

from broker_lite.coordinator.assignors.assignor import Target
from broker_lite.coordinator.classic.group import ClassicGroup
from broker_lite.coordinator.classic.member import ClassicMember
from broker_lite.coordinator.consumer import changes
from broker_lite.coordinator.consumer.group import ConsumerGroup
from broker_lite.coordinator.consumer.member import (
    Assigned,
    ClassicMemberData,
    ConsumerMember,
)
from broker_lite.coordinator.effects import Effects
from broker_lite.coordinator.embedded_protocol import (
    PROTOCOL_TYPE,
    parse_assignment,
    parse_subscription,
    serialize_assignment,
)
from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.coordinator.topics import Topics
from broker_lite.errors import GroupIdNotFound
from broker_lite.wire import DecodeError

_NOTHING: Final = serialize_assignment({}, 0)


def check_upgrade(group: ClassicGroup, settings: GroupSettings) -> None:
    """Check that a classic group with members may become a consumer group.

    Raises:
        GroupIdNotFound: the group may not be converted.

    Rule: G-106, G-12 (GroupMetadataManager.validateOnlineUpgrade).
    """
    reason = None
    if not settings.upgrade:
        reason = "online upgrade is disabled"
    elif group.protocol_type != PROTOCOL_TYPE:
        reason = "the group does not use the consumer embedded protocol"
    elif len(group.roster.members) > settings.consumer_size_max:
        reason = "the group size exceeds the consumer group maximum size"
    if reason is not None:
        raise GroupIdNotFound(
            f"Cannot upgrade classic group {group.group_id} to consumer group because {reason}."
        )


def fill_from_classic(group: ConsumerGroup, classic: ClassicGroup, effects: Effects) -> None:
    """Copy the members of a classic group into a new consumer group, and write that group.

    The classic group is not changed, and no timer is started.

    Args:
        group: new, without members.
        classic: has members, and `check_upgrade` accepted it.
        effects: gets the records.

    Raises:
        GroupIdNotFound: the metadata or assignment of a member is invalid; nothing was written.

    Rule: G-106 (ConsumerGroup.fromClassicGroup).
    """
    members = [_member(member, classic, group.topics) for member in classic.roster.members.values()]
    group.group_epoch = group.target_epoch = classic.rebalance.generation
    taken: dict[bytes, set[int]] = {}
    for member in members:
        group.roster.put(member)
        group.targets[member.member_id] = _target(member.assigned, taken)
    group.metadata_hash = group.topics_hash()
    changes.write_group(group, effects)


def _member(member: ClassicMember, classic: ClassicGroup, topics: Topics) -> ConsumerMember:
    # during the group's first join phase no protocol is chosen yet
    protocol_name = classic.protocol_name or member.protocols[0][0]
    try:
        subscription = parse_subscription(member.metadata(protocol_name))
        # a member that has joined and not synced yet has no assignment
        partitions, user_data = parse_assignment(member.assignment or _NOTHING)
    except DecodeError:
        raise GroupIdNotFound(
            f"Cannot upgrade classic group {classic.group_id} to consumer group because the "
            "embedded consumer protocol is malformed."
        ) from None
    if user_data:
        raise GroupIdNotFound(
            f"Cannot upgrade classic group {classic.group_id} to consumer group because an "
            "unsupported custom assignor is in use. Please refer to the documentation or switch "
            "to a default assignor before re-attempting the upgrade."
        )
    return ConsumerMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=subscription.rack_id or None,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        topic_names=tuple(sorted(set(subscription.topics))),
        classic=ClassicMemberData(
            session_timeout_ms=member.session_timeout_ms, protocols=tuple(member.protocols)
        ),
        member_epoch=classic.rebalance.generation,
        previous_member_epoch=classic.rebalance.generation,
        assigned=_assigned(partitions, classic.rebalance.generation, topics),
    )


def _assigned(
    partitions: Mapping[str, list[int]], epoch: int, topics: Topics
) -> dict[bytes, dict[int, int]]:
    """Return the partitions that exist, by topic id, each with the epoch."""
    assigned = {}
    for name, numbers in partitions.items():
        topic = topics.get(name)
        if topic is not None:
            there = [number for number in numbers if 0 <= number < topic.partition_count]
            if there:
                assigned[topic.topic_id] = dict.fromkeys(there, epoch)
    return assigned


def _target(assigned: Assigned, taken: dict[bytes, set[int]]) -> Target:
    """Return the target of a member: its assignment without the partitions in `taken`.

    If the classic leader gave a partition to two members, only the first one keeps it. Otherwise
    both would keep it, because an assignor leaves partitions where they are.
    """
    target = {}
    for topic_id, partitions in assigned.items():
        others = taken.setdefault(topic_id, set())
        free = frozenset(partitions) - others
        if free:
            others |= free
            target[topic_id] = free
    return target
