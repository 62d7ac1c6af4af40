"""ConsumerGroupDescribe: a group as an administrator sees it."""

from collections.abc import Iterable, Mapping
from typing import Final

from broker_lite.coordinator.consumer.group import ConsumerGroup
from broker_lite.coordinator.consumer.member import ConsumerMember
from broker_lite.coordinator.topics import Topics
from broker_lite.wire import messages

_CLASSIC_MEMBER: Final = 0
_CONSUMER_MEMBER: Final = 1


def describe(group: ConsumerGroup) -> "messages.ConsumerGroupDescribeResponse.DescribedGroup":
    """Return the group's entry of the response; the caller adds the authorized operations.

    Rule: G-101 (ConsumerGroup.asDescribedGroup).
    """
    return messages.ConsumerGroupDescribeResponse.DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.group_epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=group.roster.preferred_assignor() or group.settings.consumer_assignors[0],
        members=[_member(group, member) for member in group.roster.members.values()],
    )


def _member(
    group: ConsumerGroup, member: ConsumerMember
) -> "messages.ConsumerGroupDescribeResponse.Member":
    return messages.ConsumerGroupDescribeResponse.Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topic_names),
        subscribed_topic_regex=member.regex,
        assignment=_assignment(group.topics, _held(member)),
        target_assignment=_assignment(group.topics, group.target_of(member.member_id)),
        member_type=_CONSUMER_MEMBER if member.classic is None else _CLASSIC_MEMBER,
    )


def _held(member: ConsumerMember) -> dict[bytes, set[int]]:
    """Return the partitions of a member, including those that it still has to give back."""
    held: dict[bytes, set[int]] = {}
    for partitions in (member.assigned, member.pending_revocation):
        for topic_id, epochs in partitions.items():
            held.setdefault(topic_id, set()).update(epochs)
    return held


def _assignment(
    topics: Topics, assigned: Mapping[bytes, Iterable[int]]
) -> "messages.ConsumerGroupDescribeResponse.Assignment":
    """Return partitions by topic; deleted topics are left out, because they have no name."""
    response = messages.ConsumerGroupDescribeResponse
    entries = []
    for topic_id in sorted(assigned):
        topic = topics.by_id(topic_id)
        if topic is not None:
            entries.append(
                response.TopicPartitions(
                    topic_id=topic_id,
                    topic_name=topic.name,
                    partitions=sorted(assigned[topic_id]),
                )
            )
    return response.Assignment(topic_partitions=entries)
