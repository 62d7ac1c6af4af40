"""Finds topics with their ids, partitions and leaders.

A missing topic is left out; the caller decides whether that is an error, and how long to wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from broker_lite.client.client import Client
from broker_lite.client.errors import check
from broker_lite.errors import ErrorCode
from broker_lite.wire import messages

TopicPartition = tuple[str, int]

NO_LEADER: Final = -1

MISSING: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.LEADER_NOT_AVAILABLE,
    }
)
"""Codes of a topic that may exist soon."""

MOVED: Final = MISSING | {
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.INCONSISTENT_TOPIC_ID,
    ErrorCode.REPLICA_NOT_AVAILABLE,
    ErrorCode.OFFSET_NOT_AVAILABLE,
    ErrorCode.KAFKA_STORAGE_ERROR,
}
"""Codes of a partition after which the client must ask for its leader again."""


class Topic(NamedTuple):
    """A topic with at least one partition.

    Attributes:
        topic_id: zero if the broker is too old for ids.
        leaders: node ids by partition; partitions without a leader are left out.
        partition_count: with those without a leader.
    """

    name: str
    topic_id: bytes
    is_internal: bool
    leaders: Mapping[int, int]
    partition_count: int


def find_topics(
    client: Client, names: Iterable[str] | None = None, *, create: bool = False
) -> dict[str, Topic]:
    """Ask for topics; missing ones are left out.

    Args:
        client: of the cluster.
        names: None for all topics.
        create: whether to create missing topics, if the broker allows that.

    Raises:
        Refused: a name is invalid, or the broker refused in another way.
    """
    found = {}
    for answer in client.metadata(names, create=create).topics:
        if answer.error_code not in MISSING:
            check(f"topic {answer.name}", answer.error_code)
            found[name_of(answer)] = _topic(answer)
    return found


def name_of(
    topic: messages.MetadataResponse.MetadataResponseTopic
    | messages.DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic,
) -> str:
    """The name of a topic that was asked for by it; only who asks by id may get none."""
    assert topic.name is not None
    return topic.name


def _topic(answer: messages.MetadataResponse.MetadataResponseTopic) -> Topic:
    leaders = {
        partition.partition_index: partition.leader_id
        for partition in answer.partitions
        if partition.leader_id >= 0
    }
    count = len(answer.partitions)
    return Topic(name_of(answer), answer.topic_id, answer.is_internal, leaders, count)
