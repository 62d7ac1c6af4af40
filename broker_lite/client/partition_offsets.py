"""Lists offsets of partitions, and fetches and commits offsets of groups.

Requests about groups use the last version with topic names, because the ids may be unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from broker_lite.client.broker_connection import Connection
from broker_lite.client.client import Client
from broker_lite.client.errors import Refused, check
from broker_lite.client.topic_partitions import NO_LEADER, Topic, TopicPartition
from broker_lite.errors import ErrorCode
from broker_lite.wire import messages

EARLIEST: Final = -2
LATEST: Final = -1
UNKNOWN_OFFSET: Final = -1

_LAST_WITH_NAMES: Final = 9  # of OffsetCommit and OffsetFetch
_FIRST_WITH_STABLE: Final = 7  # of OffsetFetch
_FIRST_WITH_SEVERAL_GROUPS: Final = 8  # of OffsetFetch
_READ_COMMITTED: Final = 1


class Committed(NamedTuple):
    """A committed offset; leader_epoch is -1 if unknown, metadata the text of who committed it."""

    offset: int
    leader_epoch: int
    metadata: str = ""


def list_offsets(
    client: Client,
    timestamps: Mapping[TopicPartition, int],
    topics: Mapping[str, Topic],
    *,
    read_committed: bool = False,
) -> dict[TopicPartition, int]:
    """Find the offsets of timestamps.

    Args:
        client: of the cluster; each leader is asked once.
        timestamps: of each partition, in ms, or EARLIEST or LATEST.
        topics: have the leaders of the partitions.
        read_committed: LATEST is then the start of the first open transaction.

    Returns:
        The offset of each partition; UNKNOWN_OFFSET if no record reaches the timestamp.

    Raises:
        Refused: a partition does not exist, or its leader refused.
    """
    by_leader: dict[int, dict[str, dict[int, int]]] = {}
    for (name, partition), timestamp in timestamps.items():
        leader = topics[name].leaders.get(partition, NO_LEADER) if name in topics else NO_LEADER
        if leader == NO_LEADER:
            raise Refused(f"partition {name}-{partition}", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        by_leader.setdefault(leader, {}).setdefault(name, {})[partition] = timestamp
    found = {}
    for leader, asked in by_leader.items():
        for topic in client.request(
            offsets_request(asked, read_committed=read_committed), node_id=leader
        ).topics:
            for answer in topic.partitions:
                check(f"partition {topic.name}-{answer.partition_index}", answer.error_code)
                found[topic.name, answer.partition_index] = answer.offset
    return found


def offsets_request(
    asked: Mapping[str, Mapping[int, int]], *, read_committed: bool = False
) -> messages.ListOffsetsRequest:
    """Make the request to one leader for the offsets of timestamps."""
    make = messages.ListOffsetsRequest
    topics = [
        make.ListOffsetsTopic(
            name=name,
            partitions=[
                make.ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
                for partition, timestamp in partitions.items()
            ],
        )
        for name, partitions in asked.items()
    ]
    isolation_level = _READ_COMMITTED if read_committed else 0
    return make(replica_id=-1, isolation_level=isolation_level, topics=topics)


def fetch_committed(
    connection: Connection,
    group: str,
    partitions: Iterable[TopicPartition] | None = None,
    *,
    member_id: str | None = None,
    member_epoch: int = -1,
) -> dict[TopicPartition, Committed]:
    """Fetch the committed offsets of a group; partitions without one are left out.

    Args:
        connection: to the group's coordinator.
        group: its id.
        partitions: None for all partitions with a committed offset.
        member_id: of the asking member, in a group of the consumer protocol.
        member_epoch: of that member.

    Raises:
        Refused: the coordinator refused.
    """
    wanted = None if partitions is None else by_topic(partitions).items()
    request = messages.OffsetFetchRequest
    version = connection.version_of(request, _LAST_WITH_NAMES)
    if version < _FIRST_WITH_SEVERAL_GROUPS:
        make = request.OffsetFetchRequestTopic
        value = request(
            group_id=group,
            topics=None
            if wanted is None
            else [make(name=name, partition_indexes=numbers) for name, numbers in wanted],
            require_stable=version >= _FIRST_WITH_STABLE,
        )
    else:
        asked = request.OffsetFetchRequestGroup(
            group_id=group,
            member_id=member_id,
            member_epoch=member_epoch,
            topics=None
            if wanted is None
            else [
                request.OffsetFetchRequestTopics(name=name, partition_indexes=numbers)
                for name, numbers in wanted
            ],
        )
        value = request(groups=[asked], require_stable=True)
    answer = connection.request(value, version_max=_LAST_WITH_NAMES)
    found = answer.groups[0] if version >= _FIRST_WITH_SEVERAL_GROUPS else answer
    check(f"group {group}", found.error_code)
    return dict(_committed(found.topics))


def _committed(
    topics: Iterable[
        messages.OffsetFetchResponse.OffsetFetchResponseTopic
        | messages.OffsetFetchResponse.OffsetFetchResponseTopics
    ],
) -> Iterable[tuple[TopicPartition, Committed]]:
    for topic in topics:
        for answer in topic.partitions:
            check(f"partition {topic.name}-{answer.partition_index}", answer.error_code)
            if answer.committed_offset >= 0:
                committed = Committed(
                    answer.committed_offset, answer.committed_leader_epoch, answer.metadata or ""
                )
                yield (topic.name, answer.partition_index), committed


def commit(
    connection: Connection,
    group: str,
    offsets: Mapping[TopicPartition, int],
    *,
    member_id: str = "",
    generation: int = -1,
    instance_id: str | None = None,
    metadata: str = "",
) -> None:
    """Commit offsets, as a member, or without a member id for an empty group.

    Args:
        connection: to the group's coordinator.
        group: its id.
        offsets: the next offset to read, by partition.
        member_id: of the member.
        generation: of a member, or its epoch.
        instance_id: of a static member.
        metadata: a text that is kept beside each offset.

    Raises:
        Refused: the coordinator refused an offset.
    """
    make = messages.OffsetCommitRequest
    topics = [
        make.OffsetCommitRequestTopic(
            name=name,
            partitions=[
                make.OffsetCommitRequestPartition(
                    partition_index=number,
                    committed_offset=offsets[name, number],
                    committed_metadata=metadata,
                )
                for number in numbers
            ],
        )
        for name, numbers in by_topic(offsets).items()
    ]
    value = make(
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member_id,
        group_instance_id=instance_id,
        topics=topics,
    )
    for topic in connection.request(value, version_max=_LAST_WITH_NAMES).topics:
        for partition in topic.partitions:
            check(f"partition {topic.name}-{partition.partition_index}", partition.error_code)


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Group partition numbers by topic, both sorted."""
    found: dict[str, list[int]] = {}
    for name, number in sorted(partitions):
        found.setdefault(name, []).append(number)
    return found
