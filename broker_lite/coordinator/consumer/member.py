"""A member of a consumer group: its subscription and its current assignment.

The objects of this module are immutable; a changed member is a new object with the same id.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from types import MappingProxyType

from broker_lite.coordinator.assignors.assignor import Target
from broker_lite.coordinator.held_bytes import size_of_new, size_of_protocols, size_of_text

LEAVE_EPOCH = -1
STATIC_LEAVE_EPOCH = -2

EpochsByPartition = Mapping[int, int]
Assigned = Mapping[bytes, EpochsByPartition]
"""Partitions by topic id, each with the member epoch at which it was assigned."""

NO_EPOCHS: EpochsByPartition = MappingProxyType({})
NOTHING_ASSIGNED: Assigned = MappingProxyType({})
NO_TARGET: Target = MappingProxyType({})


class MemberState(IntEnum):
    """The state of a member on the way to its target; the numbers are those of the record."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127

    @classmethod
    def of(cls, number: int) -> "MemberState":
        """Return the state with the number of a record; UNKNOWN for one of a later Kafka."""
        try:
            return cls(number)
        except ValueError:
            return cls.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicMemberData:
    """The data of a JoinGroup, kept for a member that uses the classic protocol (G-106, G-108).

    Args:
        session_timeout_ms: of the member, which replaces the group's setting.
        protocols: names with the member's metadata bytes, in its order of preference.
    """

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]

    @property
    def protocol_names(self) -> tuple[str, ...]:
        """The names of its protocols, each once."""
        return tuple(dict(self.protocols))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerMember:
    """A member of a consumer group.

    Args:
        member_id: made by the client, or with version 0 by the coordinator.
        regex: "" for none.
        topic_names: the subscription by name, sorted.
        member_epoch: 0 until its first assignment, STATIC_LEAVE_EPOCH while a static member is
            away.
        assigned: the partitions that it owns or may take now.
        pending_revocation: the partitions that it owns and has to give back; until it has done so,
            no other member gets them.
        classic: set for a member that uses the classic protocol.
    """

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topic_names: tuple[str, ...] = ()
    regex: str = ""
    server_assignor: str | None = None
    classic: ClassicMemberData | None = None
    member_epoch: int = 0
    previous_member_epoch: int = -1
    state: MemberState = MemberState.STABLE
    assigned: Assigned = field(default_factory=dict)
    pending_revocation: Assigned = field(default_factory=dict)

    def with_assignment_of(self, other: "ConsumerMember") -> "ConsumerMember":
        """Return this member with the epochs, the state and the partitions of another one."""
        return replace(
            self,
            member_epoch=other.member_epoch,
            previous_member_epoch=other.previous_member_epoch,
            state=other.state,
            assigned=other.assigned,
            pending_revocation=other.pending_revocation,
        )

    def assignment_epoch(self, topic_id: bytes, partition: int) -> int | None:
        """Return the epoch at which the member got a partition, or None if it does not have it.

        See: G-63 (ConsumerGroup.createAssignmentEpochValidator).
        """
        epoch = self.assigned.get(topic_id, NO_EPOCHS).get(partition)
        if epoch is None:
            epoch = self.pending_revocation.get(topic_id, NO_EPOCHS).get(partition)
        return epoch

    def is_reconciled_to(self, target_epoch: int) -> bool:
        """Return whether the member has its whole target of this epoch."""
        return self.state is MemberState.STABLE and self.member_epoch == target_epoch


def size_of_subscription(member: ConsumerMember) -> int:
    """Return the memory of a member of a consumer group, with its subscription."""
    size_bytes = size_of_new(member.member_id, member.instance_id, member.client_id)
    size_bytes += sum(map(size_of_text, member.topic_names))
    size_bytes += size_of_text(member.regex) + size_of_text(member.rack_id)
    if member.classic is not None:
        size_bytes += size_of_protocols(member.classic.protocols)
    return size_bytes


def is_same_subscription(one: ConsumerMember, other: ConsumerMember) -> bool:
    """Return whether two objects of a member share the same subscription objects.

    It compares identities, which is enough: most heartbeats leave the subscription unchanged.
    """
    return (
        one.topic_names is other.topic_names
        and one.regex is other.regex
        and one.client_id is other.client_id
        and one.instance_id is other.instance_id
        and one.rack_id is other.rack_id
        and one.classic is other.classic
    )
