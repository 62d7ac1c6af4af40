"""What an assignor is given and gives back; which one there are is in ASSIGNORS of by_name.py."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

Target = Mapping[bytes, frozenset[int]]
"""Partitions by topic id that a member is to have."""


class AssignorMember(NamedTuple):
    """A member as an assignor sees it.

    Attributes:
        topic_ids: the topics that it subscribes to and that exist. Members with the same
            subscription have the very same set, which is what makes comparing them cheap.
        target: what it was to have before; may name topics and partitions that are gone.
    """

    member_id: str
    instance_id: str | None
    topic_ids: frozenset[bytes]
    target: Target


PartitionCounts = Mapping[bytes, int]
"""Of every topic that some member subscribes to, by topic id."""

Assignment = dict[str, Target]
"""The target of every member. One that did not change is the same object as before."""

Assignor = Callable[[Sequence[AssignorMember], PartitionCounts], Assignment]


def valid_target(member: AssignorMember, counts: PartitionCounts) -> Target:
    """What of a member's target is still possible: the same object when all of it is."""
    target = member.target
    topic_ids = member.topic_ids
    if all(
        topic_id in topic_ids and max(partitions, default=0) < counts[topic_id]
        for topic_id, partitions in target.items()
    ):
        return target
    valid = {
        topic_id: frozenset(p for p in partitions if p < counts[topic_id])
        for topic_id, partitions in target.items()
        if topic_id in topic_ids
    }
    return {topic_id: partitions for topic_id, partitions in valid.items() if partitions}


def reuse(old: Target, new: Target) -> Target:
    """The old object where the new one says the same."""
    return old if old == new else new
