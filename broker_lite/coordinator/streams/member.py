"""A member of a streams group. The objects are immutable; a changed member is a new object."""

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final, NamedTuple

from broker_lite.coordinator.held_bytes import size_of_new, size_of_text
from broker_lite.coordinator.streams.tasks import NOTHING_ASSIGNED, AssignedTasks

# what Python needs for a client tag besides its characters, measured with CPython 3.11
_TAG_BYTES: Final = 170

LEAVE_EPOCH: Final = -1
STATIC_LEAVE_EPOCH: Final = -2


class StreamsMemberState(IntEnum):
    """The state of a member on the way to its target; the numbers are those of the record."""

    STABLE = 1
    UNREVOKED_TASKS = 2
    UNRELEASED_TASKS = 3
    UNKNOWN = 127

    @classmethod
    def of(cls, number: int) -> "StreamsMemberState":
        """Return the state with the number of a record; UNKNOWN for one of a later Kafka."""
        try:
            return cls(number)
        except ValueError:
            return cls.UNKNOWN


class Endpoint(NamedTuple):
    """Where other instances of the application ask a member for what is in its stores."""

    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsMember:
    """A member of a streams group.

    Args:
        member_id: made by the client.
        topology_epoch: of the topology that it runs; -1 if it is not known.
        process_id: members with the same one share their local state.
        client_tags: keys with values, sorted.
        member_epoch: the epoch of the target assignment that it has; 0 until its first one.
        assigned: the tasks that it has.
        pending: the tasks that it has to give back.
    """

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topology_epoch: int = -1
    process_id: str = ""
    user_endpoint: Endpoint | None = None
    client_tags: tuple[tuple[str, str], ...] = ()
    state: StreamsMemberState = StreamsMemberState.STABLE
    member_epoch: int = 0
    previous_member_epoch: int = 0
    assigned: AssignedTasks = NOTHING_ASSIGNED
    pending: AssignedTasks = NOTHING_ASSIGNED

    def with_assignment_of(self, other: "StreamsMember") -> "StreamsMember":
        """Return this member with the epochs, the state and the tasks of another one."""
        return replace(
            self,
            state=other.state,
            member_epoch=other.member_epoch,
            previous_member_epoch=other.previous_member_epoch,
            assigned=other.assigned,
            pending=other.pending,
        )

    def is_reconciled(self, target_epoch: int) -> bool:
        """Return whether it has all of the target of this epoch, and nothing else."""
        return self.state is StreamsMemberState.STABLE and self.member_epoch == target_epoch


def size_of_member(member: StreamsMember) -> int:
    """Return the memory of a member with its data, without its tasks."""
    size_bytes = size_of_new(member.member_id, member.instance_id, member.client_id)
    texts = [
        member.rack_id,
        member.process_id,
        *(text for tag in member.client_tags for text in tag),
    ]
    if member.user_endpoint is not None:
        texts.append(member.user_endpoint.host)
    return size_bytes + _TAG_BYTES * len(member.client_tags) + sum(map(size_of_text, texts))
