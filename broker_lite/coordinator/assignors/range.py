"""The `range` assignor: consecutive partitions of each topic, with the members in the same order.

If two topics have the same number of partitions, partition n of both goes to the same member. So a
member can join the data of topics that belong together.
"""

from collections.abc import Sequence

from broker_lite.coordinator.assignors.assignor import (
    Assignment,
    AssignorMember,
    PartitionCounts,
    reuse,
)


def assign_range(members: Sequence[AssignorMember], counts: PartitionCounts) -> Assignment:
    """Assign every subscriber of a topic its share of consecutive partitions.

    Static members come first, sorted by instance id, so that the assignment stays the same when one
    of them restarts with a new member id.

    Rule: G-97 (RangeAssignor).
    """
    ordered = sorted(members, key=_sort_key)
    shares: dict[str, dict[bytes, frozenset[int]]] = {member.member_id: {} for member in members}
    subscribers_by_classes: dict[frozenset[frozenset[bytes]], list[str]] = {}
    classes = {member.topic_ids for member in members}
    for topic_id in sorted(counts):
        key = frozenset(topic_ids for topic_ids in classes if topic_id in topic_ids)
        subscribers = subscribers_by_classes.get(key)
        if subscribers is None:
            subscribers = [member.member_id for member in ordered if member.topic_ids in key]
            subscribers_by_classes[key] = subscribers
        _share_out(topic_id, counts[topic_id], subscribers, shares)
    return {member.member_id: reuse(member.target, shares[member.member_id]) for member in members}


def _sort_key(member: AssignorMember) -> tuple[bool, str]:
    if member.instance_id is not None:
        return False, member.instance_id
    return True, member.member_id


def _share_out(
    topic_id: bytes,
    partition_count: int,
    subscribers: list[str],
    shares: dict[str, dict[bytes, frozenset[int]]],
) -> None:
    quota, larger_shares = divmod(partition_count, len(subscribers))
    start = 0
    # if there are more subscribers than partitions, the last ones get nothing
    for index, member_id in enumerate(subscribers[:partition_count]):
        end = start + quota + (index < larger_shares)
        shares[member_id][topic_id] = frozenset(range(start, end))
        start = end
