"""Describes share groups, and changes where they start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from broker_lite.client.client import Client
from broker_lite.client.errors import check
from broker_lite.client.partition_offsets import by_topic
from broker_lite.client.topic_partitions import TopicPartition
from broker_lite.wire import messages


class ShareOffset(NamedTuple):
    """Where a share group starts in a partition.

    Attributes:
        start: the first record that is not done; None if nobody knows yet.
        leader_epoch: None if it is not known.
        lag: how many records are not done; None if it is not known.
    """

    start: int | None
    leader_epoch: int | None
    lag: int | None


Described = messages.ShareGroupDescribeResponse.DescribedGroup


def describe_share_group(client: Client, group: str) -> Described:
    """Describe a share group with its members.

    Raises:
        Refused: there is no such share group, or the coordinator refused.
    """

    def ask() -> Described:
        value = messages.ShareGroupDescribeRequest(group_ids=[group])
        (answer,) = client.request(value, node_id=client.coordinator(group)).groups
        check(f"group {group}", answer.error_code, answer.error_message)
        return answer

    return client.retry(ask)


def share_offsets(client: Client, group: str) -> dict[TopicPartition, ShareOffset]:
    """Return where a share group starts in every partition that it has read or will read.

    Raises:
        Refused: the coordinator refused.
    """
    make = messages.DescribeShareGroupOffsetsRequest
    asked = make.DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=None)

    def ask() -> messages.DescribeShareGroupOffsetsResponse:
        answer = client.request(make(groups=[asked]), node_id=client.coordinator(group))
        (found,) = answer.groups
        check(f"group {group}", found.error_code, found.error_message)
        return answer

    found = {}
    for topic in client.retry(ask).groups[0].topics:
        for each in topic.partitions:
            what = f"partition {topic.topic_name}-{each.partition_index}"
            check(what, each.error_code, each.error_message)
            found[topic.topic_name, each.partition_index] = _offset(each)
    return found


def _offset(
    answer: messages.DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition,
) -> ShareOffset:
    if answer.start_offset < 0:
        return ShareOffset(None, None, None)
    return ShareOffset(
        answer.start_offset,
        answer.leader_epoch if answer.leader_epoch >= 0 else None,
        answer.lag if answer.lag >= 0 else None,
    )


def alter_share_offsets(client: Client, group: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Set where a share group without members starts; it is made if there is none.

    Raises:
        Refused: the group has members, a partition does not exist, or the coordinator refused.
    """
    make = messages.AlterShareGroupOffsetsRequest
    topics = [
        make.AlterShareGroupOffsetsRequestTopic(
            topic_name=name,
            partitions=[
                make.AlterShareGroupOffsetsRequestPartition(
                    partition_index=number, start_offset=offsets[name, number]
                )
                for number in numbers
            ],
        )
        for name, numbers in by_topic(offsets).items()
    ]

    def ask() -> messages.AlterShareGroupOffsetsResponse:
        value = make(group_id=group, topics=topics)
        answer = client.request(value, node_id=client.coordinator(group))
        check(f"group {group}", answer.error_code, answer.error_message)
        return answer

    for topic in client.retry(ask).responses:
        for each in topic.partitions:
            what = f"partition {topic.topic_name}-{each.partition_index}"
            check(what, each.error_code, each.error_message)


def delete_share_offsets(
    client: Client, group: str, topics: Iterable[str]
) -> dict[str, tuple[int, str | None]]:
    """Forget where a share group without members starts in topics.

    Returns:
        The error code of each topic, and the broker's text.

    Raises:
        Refused: the whole request was refused.
    """
    make = messages.DeleteShareGroupOffsetsRequest
    asked = [make.DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in topics]

    def ask() -> messages.DeleteShareGroupOffsetsResponse:
        value = make(group_id=group, topics=asked)
        answer = client.request(value, node_id=client.coordinator(group))
        check(f"group {group}", answer.error_code, answer.error_message)
        return answer

    return {
        each.topic_name: (each.error_code, each.error_message)
        for each in client.retry(ask).responses
    }
