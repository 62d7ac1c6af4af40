"""A consumer group whose members all speak the classic protocol becomes a classic group."""

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
    """Turn a group into a classic one if only members of that protocol stay; then it rebalances.

    Args:
        group: it is done with when a classic group is returned.
        leaving: members that go now.
        effects: gets the records.
        now_ms: the time.

    Returns:
        The classic group, None if the group stays what it is; then nothing was written.

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
    prepare_rebalance(classic, effects, now_ms)
    return classic


def convert(
    group: ConsumerGroup, leaving: Collection[str], effects: Effects, now_ms: int
) -> ClassicGroup:
    """Make the classic group of those who stay, with their targets as their assignments.

    It is stable, and its sessions run. All of the consumer group's timers are stopped.

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
    """Return partitions by topic id as the assignment that a member can read.

    Args:
        partitions: of topics that may be gone by now; those are left out.
        metadata: of the member, for any of its protocols; only that of the first was read when it
            joined, so it may be nonsense.
        topics: the topics of the moment.
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
