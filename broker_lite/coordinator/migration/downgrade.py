"""Converts a consumer group into a classic group when all its members use the classic protocol."""

from collections.abc import Collection, Mapping

from broker_lite.coordinator.classic.group import ClassicGroup
from broker_lite.coordinator.classic.member import ClassicGroupState, ClassicMember
from broker_lite.coordinator.classic.phases import prepare_rebalance
from broker_lite.coordinator.consumer import changes
from broker_lite.coordinator.consumer.group import ConsumerGroup
from broker_lite.coordinator.effects import Effects
from broker_lite.coordinator.embedded_protocol import (
    PROTOCOL_TYPE,
    read_version,
    serialize_assignment,
)
from broker_lite.coordinator.topics import Topics
from broker_lite.wire import DecodeError


def downgrade(
    group: ConsumerGroup, leaving: Collection[str], effects: Effects, now_ms: int
) -> ClassicGroup | None:
    """Convert a group into a classic one, and rebalance it, if only classic members are left.

    Args:
        group: must not be used any more when a classic group is returned.
        leaving: the members that are leaving.
        effects: gets the records.
        now_ms: the current time.

    Returns:
        The classic group, or None if the group stays a consumer group; then nothing was written.

    Rule: G-107 (GroupMetadataManager.validateOnlineDowngradeWithFencedMembers).
    See: G-12.
    """
    leaving_classic = sum(
        group.roster.members[member_id].classic is not None for member_id in set(leaving)
    )
    stay = len(group.roster.members) - len(set(leaving))
    if group.roster.classic_count - leaving_classic != stay or not stay:
        return None
    if not group.settings.downgrade or stay > group.settings.classic_size_max:
        return None
    classic = convert(group, leaving, effects, now_ms)
    prepare_rebalance(classic, effects, now_ms, "the last member of the newer protocol left")
    return classic


def convert(
    group: ConsumerGroup, leaving: Collection[str], effects: Effects, now_ms: int
) -> ClassicGroup:
    """Make a classic group of the members that are left; their targets become their assignments.

    The classic group is stable, and its sessions run. All timers of the consumer group are stopped.

    Rule: G-107 (ClassicGroup.fromConsumerGroup).
    """
    classic = ClassicGroup(
        group.group_id, group.timers.all_groups, group.settings, group.make_uuid, now_ms
    )
    classic.rebalance.state = ClassicGroupState.STABLE
    classic.rebalance.generation = group.group_epoch
    classic.protocol_type = PROTOCOL_TYPE
    for member in group.roster.members.values():
        group.cancel_timers(member.member_id)
        if member.classic is not None and member.member_id not in leaving:
            classic.roster.add(
                ClassicMember(
                    member.member_id,
                    instance_id=member.instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    session_timeout_ms=member.classic.session_timeout_ms,
                    rebalance_timeout_ms=member.rebalance_timeout_ms,
                    protocols=member.classic.protocols,
                )
            )
    classic.choose_protocol()
    for classic_member in classic.roster.members.values():
        assignment = assignment_bytes(
            group.target_of(classic_member.member_id),
            classic_member.metadata(classic.protocol_name),
            group.topics,
        )
        classic.roster.set_assignment(classic_member, assignment)
        classic.rebalance.restart_session(classic_member, now_ms)
    changes.drop_group(group, effects)
    classic.write(effects)
    return classic


def assignment_bytes(
    partitions: Mapping[bytes, Collection[int]], metadata: bytes, topics: Topics
) -> bytes:
    """Return partitions by topic id as an assignment in the version of the member's metadata.

    Args:
        partitions: of topics that may have been deleted; those are left out.
        metadata: of the member, for one of its protocols. It may be invalid, because only that of
            the first protocol was parsed when the member joined.
        topics: the current topics.
    """
    named = {}
    for topic_id, numbers in partitions.items():
        topic = topics.by_id(topic_id)
        if topic is not None:
            named[topic.name] = sorted(numbers)
    try:
        version = read_version(metadata)
    except DecodeError:
        version = 0
    return serialize_assignment(named, version)
