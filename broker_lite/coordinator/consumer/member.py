"""One member of a consumer group: what it asked for, and what it holds.

Values of this module never change; a member that moves on is another value under the same id.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType

from broker_lite.coordinator.assignors.assignor import Target
from broker_lite.coordinator.held_bytes import size_of_new, size_of_protocols, size_of_text

LEAVE_EPOCH = -1
STATIC_LEAVE_EPOCH = -2

EpochsByPartition = Mapping[int, int]
Assigned = Mapping[bytes, EpochsByPartition]
"""Partitions by topic id, each with the member epoch at which it was given."""

NO_EPOCHS: EpochsByPartition = MappingProxyType({})
NOTHING_ASSIGNED: Assigned = MappingProxyType({})
NO_TARGET: Target = MappingProxyType({})


class MemberState(IntEnum):
    """How far a member is on its way to its target; the numbers are those of the record."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicMemberData:
    """What a member that uses the classic protocol brought with its JoinGroup (G-106, G-108).

    Args:
        session_timeout_ms: its own, not the group's.
        protocols: names with the member's metadata bytes, in its order of preference.
    """

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]

    @property
    def protocol_names(self) -> tuple[str, ...]:
        """Their names, each once."""
        return tuple(dict(self.protocols))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerMember:
    """A member of a consumer group.

    Args:
        member_id: made by the client, or with version 0 by the coordinator.
        regex: "" for none.
        topic_names: the subscription by name, sorted.
        member_epoch: 0 until its first assignment, STATIC_LEAVE_EPOCH while a static one is away.
        assigned: what it owns or is about to own.
        pending_revocation: what it owns and has to give back; no other member gets it before.
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

    def assignment_epoch(self, topic_id: bytes, partition: int) -> int | None:
        """The epoch since which it has a partition without interruption, None if it has it not.

        See: G-63 (ConsumerGroup.createAssignmentEpochValidator).
        """
        epoch = self.assigned.get(topic_id, NO_EPOCHS).get(partition)
        if epoch is None:
            epoch = self.pending_revocation.get(topic_id, NO_EPOCHS).get(partition)
        return epoch

    def is_reconciled_to(self, target_epoch: int) -> bool:
        """Whether it has all of the target of this epoch."""
        return self.state is MemberState.STABLE and self.member_epoch == target_epoch


def size_of_subscription(member: ConsumerMember) -> int:
    """What a member of a consumer group takes by what it told."""
    size_bytes = size_of_new(member.member_id, member.instance_id, member.client_id)
    size_bytes += sum(map(size_of_text, member.topic_names))
    size_bytes += size_of_text(member.regex) + size_of_text(member.rack_id)
    if member.classic is not None:
        size_bytes += size_of_protocols(member.classic.protocols)
    return size_bytes


def is_same_subscription(one: ConsumerMember, other: ConsumerMember) -> bool:
    """Whether one value is another one's with the same subscription; most heartbeats' are."""
    return (
        one.topic_names is other.topic_names
        and one.regex is other.regex
        and one.client_id is other.client_id
        and one.instance_id is other.instance_id
        and one.rack_id is other.rack_id
        and one.classic is other.classic
    )
