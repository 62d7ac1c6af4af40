"""The `uniform` assignor: it spreads partitions evenly and moves few of them.

When all members subscribe to the same topics, the shares differ by at most one partition, and a
member keeps the partitions that it has, up to its share. Otherwise see uniform_mixed.
"""

from collections.abc import Iterable, Iterator, Sequence

from broker_lite.coordinator.assignors.assignor import (
    Assignment,
    AssignorMember,
    PartitionCounts,
    Target,
    valid_target,
)
from broker_lite.coordinator.assignors.uniform_mixed import assign_mixed

TopicPartition = tuple[bytes, int]


def assign_uniform(members: Sequence[AssignorMember], counts: PartitionCounts) -> Assignment:
    """Assign all partitions evenly, and leave as many as possible with their members.

    Rule: G-98 (UniformAssignor).
    See: G-99.
    """
    if not members:
        return {}
    if len({member.topic_ids for member in members}) > 1:
        return assign_mixed(members, counts)
    return _assign_same(members, counts)


def _assign_same(members: Sequence[AssignorMember], counts: PartitionCounts) -> Assignment:
    targets = {member.member_id: valid_target(member, counts) for member in members}
    sizes = {member_id: sum(map(len, target.values())) for member_id, target in targets.items()}
    quota, larger_shares = divmod(sum(counts.values()), len(members))
    shares = _shares(sizes, quota, larger_shares)
    for member_id, share in shares.items():
        if sizes[member_id] > share:
            targets[member_id] = _first(targets[member_id], share)
    unassigned = _unassigned(targets.values(), counts)
    for member_id, share in shares.items():
        missing = share - sizes[member_id]
        if missing > 0:
            taken = [next(unassigned) for _ in range(missing)]
            targets[member_id] = _with(targets[member_id], taken)
    return targets


def _shares(sizes: dict[str, int], quota: int, larger_shares: int) -> dict[str, int]:
    """Return how many partitions each member gets.

    The larger shares go first to members that already have more than the quota.
    """
    shares = dict.fromkeys(sizes, quota)
    for member_id in sorted(sizes, key=lambda member_id: sizes[member_id] <= quota)[:larger_shares]:
        shares[member_id] += 1
    return shares


def _first(target: Target, count: int) -> Target:
    """Return `count` partitions of a target, of each topic the lowest ones."""
    kept: dict[bytes, frozenset[int]] = {}
    for topic_id, partitions in target.items():
        if not count:
            break
        kept[topic_id] = (
            partitions if len(partitions) <= count else frozenset(sorted(partitions)[:count])
        )
        count -= len(kept[topic_id])
    return kept


def _unassigned(targets: Iterable[Target], counts: PartitionCounts) -> Iterator[TopicPartition]:
    taken: dict[bytes, set[int]] = {topic_id: set() for topic_id in counts}
    for target in targets:
        for topic_id, partitions in target.items():
            taken[topic_id] |= partitions
    return iter(
        [
            (topic_id, partition)
            for topic_id in sorted(counts)
            if len(taken[topic_id]) < counts[topic_id]
            for partition in range(counts[topic_id])
            if partition not in taken[topic_id]
        ]
    )


def _with(target: Target, added: Iterable[TopicPartition]) -> Target:
    changed: dict[bytes, frozenset[int]] = dict(target)
    by_topic: dict[bytes, list[int]] = {}
    for topic_id, partition in added:
        by_topic.setdefault(topic_id, []).append(partition)
    for topic_id, partitions in by_topic.items():
        changed[topic_id] = changed.get(topic_id, frozenset()).union(partitions)
    return changed
