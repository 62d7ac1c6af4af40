"""Computes the target assignment of a consumer group when it is due."""

from broker_lite.coordinator import group_changes
from broker_lite.coordinator.assignors.assignor import AssignorMember
from broker_lite.coordinator.assignors.by_name import ASSIGNORS
from broker_lite.coordinator.assignors.uniform import assign_uniform
from broker_lite.coordinator.consumer import changes
from broker_lite.coordinator.consumer.group import ConsumerGroup
from broker_lite.coordinator.consumer.member import ConsumerMember
from broker_lite.coordinator.effects import Effects


def subscribed_ids(group: ConsumerGroup, member: ConsumerMember) -> frozenset[bytes]:
    """Return the ids of the existing topics that a member subscribes to.

    Rule: G-90.
    """
    names = set(member.topic_names)
    resolved = group.regexes.get(member.regex)
    if resolved is not None:
        names.update(resolved.topics)
    topics = (group.topics.get(name) for name in names)
    return frozenset(topic.topic_id for topic in topics if topic is not None)


def update_target(group: ConsumerGroup, effects: Effects, now_ms: int) -> None:
    """Compute a new target assignment if the group epoch is ahead of the last one.

    If an assignment interval is set, the first heartbeat after the interval computes it.

    Rule: G-85, G-13 (TargetAssignmentBuilder).
    """
    if group.group_epoch <= group.target_epoch:
        return
    interval_ms = group.settings.consumer_assignment_interval_ms
    if group.target_timestamp_ms and now_ms < group.target_timestamp_ms + interval_ms:
        return
    members, counts = _assignor_view(group)
    name = group.roster.preferred_assignor() or group.settings.consumer_assignors[0]
    # the setting may name an assignor class that only Kafka can load; use `uniform` then
    targets = ASSIGNORS.get(name, assign_uniform)(members, counts)
    for member_id, target in targets.items():
        if group.targets.get(member_id) != target:
            changes.put_target(group, member_id, target, effects)
    group_changes.put_target_epoch(group, group.group_epoch, now_ms, effects)


def _assignor_view(
    group: ConsumerGroup,
) -> tuple[list[AssignorMember], dict[bytes, int]]:
    # members with the same subscription must share one set object: assignors rely on that
    sets: dict[frozenset[bytes], frozenset[bytes]] = {}
    by_subscription: dict[tuple[tuple[str, ...], str], frozenset[bytes]] = {}
    members = []
    for member in group.roster.members.values():
        subscription = (member.topic_names, member.regex)
        topic_ids = by_subscription.get(subscription)
        if topic_ids is None:
            topic_ids = subscribed_ids(group, member)
            topic_ids = sets.setdefault(topic_ids, topic_ids)
            by_subscription[subscription] = topic_ids
        members.append(
            AssignorMember(
                member.member_id, member.instance_id, topic_ids, group.target_of(member.member_id)
            )
        )
    counts = {}
    for topic_id in frozenset().union(*sets):
        topic = group.topics.by_id(topic_id)
        assert topic is not None  # subscribed_ids() has just found these topics by name
        counts[topic_id] = topic.partition_count
    return members, counts
