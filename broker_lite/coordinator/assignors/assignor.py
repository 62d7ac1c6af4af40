"""The types that an assignor takes and returns; ASSIGNORS in by_name.py lists the assignors."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

Target = Mapping[bytes, frozenset[int]]
"""The target assignment of a member: partitions by topic id."""


class AssignorMember(NamedTuple):
    """A member as an assignor sees it.

    Attributes:
        topic_ids: the topics that it subscribes to and that exist. Members with the same
            subscription share one set object, which makes comparing them cheap.
        target: its target before; it may name topics and partitions that no longer exist.
    """

    member_id: str
    instance_id: str | None
    topic_ids: frozenset[bytes]
    target: Target


PartitionCounts = Mapping[bytes, int]
"""The number of partitions of every topic that some member subscribes to, by topic id."""

Assignment = dict[str, Target]
"""The new target of every member. A target that did not change is the same object as before."""

Assignor = Callable[[Sequence[AssignorMember], PartitionCounts], Assignment]


def valid_target(member: AssignorMember, counts: PartitionCounts) -> Target:
    """Return the part of a member's target that is still valid: the same object if all of it is."""
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
    """Return the old target if the new one is equal, so that an unchanged target stays the same."""
    return old if old == new else new
