"""ShareGroupDescribe: a group as an administrator sees it."""

from broker_lite.coordinator.share.group import ASSIGNOR, ShareGroup
from broker_lite.coordinator.share.member import ShareMember
from broker_lite.wire import messages


def describe(group: ShareGroup) -> "messages.ShareGroupDescribeResponse.DescribedGroup":
    """Return the group's entry of the response; the caller adds the authorized operations.

    Rule: K-06 (ShareGroup.asDescribedGroup).
    """
    return messages.ShareGroupDescribeResponse.DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.group_epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=ASSIGNOR,
        members=[_member(group, member) for member in group.roster.members.values()],
    )


def _member(group: ShareGroup, member: ShareMember) -> "messages.ShareGroupDescribeResponse.Member":
    """Return a member; deleted topics of its assignment are left out: they have no name."""
    message = messages.ShareGroupDescribeResponse
    found = [(group.topics.by_id(each), member.assigned[each]) for each in sorted(member.assigned)]
    return message.Member(
        member_id=member.member_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topic_names),
        assignment=message.Assignment(
            topic_partitions=[
                message.TopicPartitions(
                    topic_id=topic.topic_id, topic_name=topic.name, partitions=sorted(partitions)
                )
                for topic, partitions in found
                if topic is not None
            ]
        ),
    )
