"""A member of a share group. The objects are immutable; a changed member is a new object."""

from dataclasses import dataclass, field, replace
from types import MappingProxyType

from broker_lite.coordinator.assignors.assignor import Target
from broker_lite.coordinator.held_bytes import size_of_new, size_of_text

LEAVE_EPOCH = -1
NO_TARGET: Target = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareMember:
    """A member of a share group.

    Args:
        member_id: made by the client.
        topic_names: the subscription, sorted.
        member_epoch: the epoch of the target assignment that it has; 0 until its first one.
        assigned: the partitions that it reads from, by topic id. Other members may have them, too.
    """

    member_id: str
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topic_names: tuple[str, ...] = ()
    member_epoch: int = 0
    previous_member_epoch: int = -1
    assigned: Target = field(default_factory=dict)

    def with_assignment_of(self, other: "ShareMember") -> "ShareMember":
        """Return this member with the epochs and the partitions of another one."""
        return replace(
            self,
            member_epoch=other.member_epoch,
            previous_member_epoch=other.previous_member_epoch,
            assigned=other.assigned,
        )


def size_of_member(member: ShareMember) -> int:
    """Return the memory of a member with its subscription."""
    size_bytes = size_of_new(member.member_id, None, member.client_id)
    return size_bytes + sum(map(size_of_text, (*member.topic_names, member.rack_id)))
