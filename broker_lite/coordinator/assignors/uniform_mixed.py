"""The harder case of the `uniform` assignor: members that subscribe to different topics.

Every partition stays with its member if that member still subscribes to the topic. Each unassigned
partition goes to the subscriber with the fewest partitions, topic by topic. Then partitions move
from a member to another subscriber of the topic that has at least two fewer, until no such move is
left. Each move reduces the sum of the squared sizes, so the moves come to an end.

Topics with the same subscribers are handled as one class. So the work grows with the number of
partitions plus the number of members, and not with their product.
"""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush, heapreplace

from broker_lite.coordinator.assignors.assignor import (
    Assignment,
    AssignorMember,
    PartitionCounts,
    reuse,
    valid_target,
)

TopicPartition = tuple[bytes, int]

# A handful of passes is enough, except for long chains of subscriptions that overlap. Those may
# stay unbalanced, because a heartbeat must not take too long.
_PASSES_MAX = 50


class _TopicClass:
    """Topics that have the same subscribers, and the partitions that each subscriber has."""

    __slots__ = ("held", "subscribers", "topic_ids")

    def __init__(self, subscribers: list[str]) -> None:
        self.subscribers = subscribers
        self.topic_ids: list[bytes] = []
        self.held: dict[str, list[TopicPartition]] = {member_id: [] for member_id in subscribers}


def assign_mixed(members: Sequence[AssignorMember], counts: PartitionCounts) -> Assignment:
    """Assign partitions evenly to the subscribers of their topics, and move as few as possible.

    Rule: G-99 (UniformHeterogeneousAssignmentBuilder).
    """
    classes = _topic_classes(members, counts)
    class_of = {topic_id: one for one in classes for topic_id in one.topic_ids}
    sizes = {member.member_id: 0 for member in members}
    taken: dict[bytes, set[int]] = {topic_id: set() for topic_id in counts}
    for member in members:
        for topic_id, partitions in valid_target(member, counts).items():
            taken[topic_id] |= partitions
            sizes[member.member_id] += len(partitions)
            class_of[topic_id].held[member.member_id].extend(
                (topic_id, partition) for partition in sorted(partitions)
            )
    # topics with few subscribers first: the topics with many can even out the sizes afterwards
    for one in sorted(classes, key=lambda one: len(one.subscribers)):
        _hand_out(one, taken, counts, sizes)
    _balance(classes, sizes)
    return _assignment(members, classes)


def _topic_classes(members: Sequence[AssignorMember], counts: PartitionCounts) -> list[_TopicClass]:
    subscriptions = list({member.topic_ids for member in members})
    classes: dict[tuple[int, ...], _TopicClass] = {}
    for topic_id in sorted(counts):
        key = tuple(index for index, topic_ids in enumerate(subscriptions) if topic_id in topic_ids)
        if key not in classes:
            of_class = {subscriptions[index] for index in key}
            classes[key] = _TopicClass(
                [member.member_id for member in members if member.topic_ids in of_class]
            )
        classes[key].topic_ids.append(topic_id)
    return list(classes.values())


def _hand_out(
    one: _TopicClass,
    taken: dict[bytes, set[int]],
    counts: PartitionCounts,
    sizes: dict[str, int],
) -> None:
    fewest = [(sizes[member_id], member_id) for member_id in one.subscribers]
    heapify(fewest)
    for topic_id in one.topic_ids:
        for partition in range(counts[topic_id]):
            if partition in taken[topic_id]:
                continue
            size, member_id = fewest[0]
            heapreplace(fewest, (size + 1, member_id))
            sizes[member_id] = size + 1
            one.held[member_id].append((topic_id, partition))


def _balance(classes: list[_TopicClass], sizes: dict[str, int]) -> None:
    """Move partitions until no move makes the sizes more equal."""
    for _ in range(_PASSES_MAX):
        is_moved = False
        for one in classes:
            is_moved |= _balance_class(one, sizes)
        if not is_moved:
            return


def _balance_class(one: _TopicClass, sizes: dict[str, int]) -> bool:
    """Move partitions of one class between its subscribers until their sizes are balanced.

    A class always has partitions, so the heap of the members that have some never gets empty.

    Returns:
        Whether any partition moved.
    """
    fewest = [(sizes[member_id], member_id) for member_id in one.subscribers]
    most = [(-sizes[member_id], member_id) for member_id, held in one.held.items() if held]
    heapify(fewest)
    heapify(most)
    is_moved = False
    while True:
        negative_size, giver = heappop(most)
        if -negative_size != sizes[giver] or not one.held[giver]:
            continue
        while fewest[0][0] != sizes[fewest[0][1]]:
            heappop(fewest)
        taker = fewest[0][1]
        if sizes[giver] - sizes[taker] <= 1:
            return is_moved
        one.held[taker].append(one.held[giver].pop())
        for member_id, change in ((giver, -1), (taker, 1)):
            sizes[member_id] += change
            heappush(most, (-sizes[member_id], member_id))
            heappush(fewest, (sizes[member_id], member_id))
        is_moved = True


def _assignment(members: Sequence[AssignorMember], classes: list[_TopicClass]) -> Assignment:
    sets: dict[str, dict[bytes, set[int]]] = {member.member_id: {} for member in members}
    for one in classes:
        for member_id, held in one.held.items():
            for topic_id, partition in held:
                sets[member_id].setdefault(topic_id, set()).add(partition)
    return {
        member.member_id: reuse(
            member.target,
            {
                topic_id: frozenset(partitions)
                for topic_id, partitions in sets[member.member_id].items()
            },
        )
        for member in members
    }
