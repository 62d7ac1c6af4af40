"""The members of a classic group, with their ids, their protocols and the leader.

The number of members that support each protocol is updated with every change, so that a join takes
no longer in a group of thousands.
"""

from collections.abc import Iterable, Mapping, Sequence

from broker_lite.coordinator.classic.member import ClassicMember, Protocol, size_of_classic
from broker_lite.coordinator.held_bytes import (
    HeldBytes,
    size_of_promise,
    size_of_protocols,
)
from broker_lite.errors import ErrorCode


class Roster:
    """The members of one group, in the order in which they joined.

    Attributes:
        members: by member id.
        leader: the member id of the leader, None without members.
        static_members: the member id of each instance id.
        pending_members: ids that were given out, and that no member has joined with yet.
        held: how much memory the members, and the ids that were given out, take.
    """

    __slots__ = (
        "_protocol_counts",
        "held",
        "leader",
        "members",
        "pending_members",
        "static_members",
    )

    def __init__(self) -> None:
        self.members: dict[str, ClassicMember] = {}
        self.leader: str | None = None
        self.static_members: dict[str, str] = {}
        self.pending_members: set[str] = set()
        self.held = HeldBytes()
        self._protocol_counts: dict[str, int] = {}

    # members

    def add(self, member: ClassicMember) -> None:
        """Add a member; the first one becomes the leader."""
        self.members[member.member_id] = member
        self._count_protocols(member.protocols, 1)
        self.held.add(size_of_classic(member))
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        if self.leader is None:
            self.leader = member.member_id
        self._end_promise(member.member_id)

    def promise(self, member_id: str) -> None:
        """Remember an id that is given to a member, until the member joins with it."""
        self.pending_members.add(member_id)
        self.held.add(size_of_promise(member_id))

    def _end_promise(self, member_id: str) -> None:
        if member_id in self.pending_members:
            self.pending_members.remove(member_id)
            self.held.add(-size_of_promise(member_id))

    def remove(self, member_id: str) -> ClassicMember | None:
        """Remove a member or a pending id; after the leader, the next member becomes the leader.

        Returns:
            The member, None for a pending or unknown id.
        """
        self._end_promise(member_id)
        member = self.members.pop(member_id, None)
        if member is None:
            return None
        self._count_protocols(member.protocols, -1)
        self.held.add(-size_of_classic(member))
        if member.instance_id is not None:
            del self.static_members[member.instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        return member

    def replace_static(self, member: ClassicMember, member_id: str) -> None:
        """Change the member id of a static member; it keeps everything else.

        See: G-49 (ClassicGroup.replaceStaticMember).
        """
        assert member.instance_id is not None
        del self.members[member.member_id]
        self.held.add(-size_of_classic(member))
        if self.leader == member.member_id:
            self.leader = member_id
        member.member_id = member_id
        member.is_new = False
        self.members[member_id] = member
        self.held.add(size_of_classic(member))
        self.static_members[member.instance_id] = member_id

    def check_member(self, member_id: str, instance_id: str | None) -> ErrorCode | None:
        """Return the error if a request's ids are not those of a member, None if they are.

        See: G-42 (ClassicGroup.validateMember).
        """
        if instance_id is not None:
            holder = self.static_members.get(instance_id)
            if holder is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if holder != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return None if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout of the members; takes time for every member."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    # protocols

    def set_protocols(self, member: ClassicMember, protocols: Sequence[Protocol]) -> None:
        """Replace the protocols of a member."""
        self._count_protocols(member.protocols, -1)
        self.held.add(size_of_protocols(protocols) - size_of_protocols(member.protocols))
        member.protocols = list(protocols)
        self._count_protocols(member.protocols, 1)

    def set_assignment(self, member: ClassicMember, assignment: bytes) -> None:
        """Replace the assignment of a member."""
        self.held.add(len(assignment) - len(member.assignment))
        member.assignment = assignment

    def can_hold(self, assignments: Mapping[str, bytes], bytes_max: int) -> bool:
        """Return whether there is memory for these assignments in place of the current ones."""
        more_bytes = sum(
            len(assignments.get(member_id, b"")) - len(member.assignment)
            for member_id, member in self.members.items()
        )
        return self.held.allows(more_bytes, bytes_max)

    def everyone_knows_one_of(self, names: Iterable[str]) -> bool:
        """Return whether at least one of some protocols is supported by all members."""
        size = len(self.members)
        counts = self._protocol_counts
        return any(counts.get(name, 0) == size for name in names)

    def select_protocol(self) -> str:
        """Return the protocol that all members support and most of them prefer.

        If several have the same number of votes, the one that got its first vote first wins.

        Rule: G-46 (ClassicGroup.selectProtocol).
        """
        size = len(self.members)
        candidates = {name for name, count in self._protocol_counts.items() if count == size}
        if len(candidates) == 1:
            return next(iter(candidates))
        votes: dict[str, int] = {}
        for member in self.members.values():
            choice = next(name for name, _ in member.protocols if name in candidates)
            votes[choice] = votes.get(choice, 0) + 1
        return max(votes, key=votes.__getitem__)

    def _count_protocols(self, protocols: Iterable[Protocol], change: int) -> None:
        counts = self._protocol_counts
        for name in {name for name, _ in protocols}:
            count = counts.get(name, 0) + change
            if count:
                counts[name] = count
            else:
                del counts[name]
