"""The assignor `simple`: every partition has a member, and every member a partition.

With more members than partitions of a topic several members share a partition. With fewer, each
member has several. Members and partitions are taken in order, so the same group always gets the
same assignment. Kafka moves fewer partitions when members come and go, which costs nothing here: a
member of a share group owns no partition.

Rule: K-05 (SimpleAssignor).
"""

from collections.abc import Mapping, Sequence

from broker_lite.coordinator.assignors.assignor import PartitionCounts, Target


def assign_simple(
    subscriptions: Mapping[str, frozenset[bytes]], counts: PartitionCounts
) -> dict[str, Target]:
    """Return the target of every member.

    Args:
        subscriptions: the ids of the topics that each member subscribes to and that exist, by
            member id.
        counts: the number of partitions of every one of these topics.
    """
    targets: dict[str, dict[bytes, set[int]]] = {member_id: {} for member_id in subscriptions}
    member_ids = sorted(subscriptions)
    first = 0
    for topic_id in sorted(counts):
        subscribers = [each for each in member_ids if topic_id in subscriptions[each]]
        if subscribers:
            _assign_topic(targets, subscribers, topic_id, counts[topic_id], first)
            # the next topic goes on with the member after the last one, so that all have as many
            first += counts[topic_id]
    return {
        member_id: {topic_id: frozenset(some) for topic_id, some in target.items()}
        for member_id, target in targets.items()
    }


def _assign_topic(
    targets: Mapping[str, dict[bytes, set[int]]],
    subscribers: Sequence[str],
    topic_id: bytes,
    partition_count: int,
    first: int,
) -> None:
    for turn in range(max(partition_count, len(subscribers))):
        member_id = subscribers[(first + turn) % len(subscribers)]
        targets[member_id].setdefault(topic_id, set()).add(turn % partition_count)
