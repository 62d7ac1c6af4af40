"""The assignor `simple`: every partition has a member, and every member a partition.

With more members than partitions of a topic several members share a partition. With fewer, each
member has several. Members and partitions are taken in order, so the same group always gets the
same assignment. Kafka moves fewer partitions when members come and go, which costs nothing here: a
member of a share group owns no partition.

Each member has something of each of its topics. So all targets together have as many entries as
all members have topics, and an entry may cost no more than to store it: topics with the same
subscribers are looked at together, and so are the equal sets of partitions.

Rule: K-05 (SimpleAssignor).
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import TypeAlias

from broker_lite.coordinator.assignors.assignor import PartitionCounts, Target

_Filling: TypeAlias = dict[bytes, frozenset[int]]


def assign_simple(
    subscriptions: Mapping[str, frozenset[bytes]], counts: PartitionCounts
) -> dict[str, Target]:
    """Return the target of every member.

    Args:
        subscriptions: the ids of the topics that each member subscribes to and that exist, by
            member id.
        counts: the number of partitions of every one of these topics.
    """
    targets: dict[str, _Filling] = {member_id: {} for member_id in subscriptions}
    in_order = [targets[each] for each in sorted(subscriptions)]
    positions: dict[frozenset[bytes], list[int]] = {}
    for position, each in enumerate(sorted(subscriptions)):
        positions.setdefault(subscriptions[each], []).append(position)
    subscribers_of: dict[tuple[int, ...], list[_Filling]] = {}
    subscribed = _subscribed(positions)
    members_with = [*positions.values()]
    shares_of: dict[tuple[int, int], Sequence[frozenset[int]]] = {}
    first = 0
    for topic_id in sorted(subscribed):
        key = tuple(subscribed[topic_id])
        subscribers = subscribers_of.get(key)
        if subscribers is None:
            members = sorted(chain.from_iterable(members_with[number] for number in key))
            subscribers = [in_order[position] for position in members]
            subscribers_of[key] = subscribers
        partition_count, member_count = counts[topic_id], len(subscribers)
        shares = shares_of.get((partition_count, member_count))
        if shares is None:
            shares = _shares(partition_count, member_count)
            shares_of[partition_count, member_count] = shares
        start = first % member_count
        for target, share in zip((*subscribers[start:], *subscribers[:start]), shares, strict=True):
            target[topic_id] = share
        # the next topic goes on with the member after the last one, so that all have as many
        first += partition_count
    return dict(targets)


def _subscribed(subscriptions: Iterable[frozenset[bytes]]) -> dict[bytes, list[int]]:
    """Return for each topic the numbers of the different subscriptions that it is in."""
    found: dict[bytes, list[int]] = {}
    for number, topic_ids in enumerate(subscriptions):
        for topic_id in topic_ids:
            found.setdefault(topic_id, []).append(number)
    return found


def _shares(partition_count: int, member_count: int) -> Sequence[frozenset[int]]:
    """Return the partitions of a topic that its first member has, its second one and so on."""
    if partition_count > member_count:
        return [
            frozenset(range(each, partition_count, member_count)) for each in range(member_count)
        ]
    return [_single(each % partition_count) for each in range(member_count)]


@lru_cache(maxsize=4096)
def _single(partition: int) -> frozenset[int]:
    """Return a set of one partition, which most members of a large group have of a topic.

    That these sets are the same for all members, and the next time, saves 200 bytes for each entry,
    and makes it fast to find out that a target is still the same.
    """
    return frozenset((partition,))
