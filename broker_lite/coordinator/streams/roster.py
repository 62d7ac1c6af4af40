"""The members of a streams group, and which process has which task."""

from collections.abc import Iterator

from broker_lite.coordinator.held_bytes import HeldBytes
from broker_lite.coordinator.streams.java_order import MemberHashes, hashes_of
from broker_lite.coordinator.streams.member import StreamsMember, size_of_member
from broker_lite.coordinator.streams.tasks import AssignedTasks, TaskId


class StreamsRoster:
    """The members of one group.

    Attributes:
        members: by member id, in the order in which they joined; changed by put() and remove().
        held: how much memory the members and the topology take. Not in the log.

    Rule: U-19 (StreamsGroup.updateMember).
    """

    __slots__ = ("_active", "_copies", "_hashes", "held", "members")

    def __init__(self) -> None:
        self.members: dict[str, StreamsMember] = {}
        self.held = HeldBytes()
        self._hashes: dict[str, MemberHashes] = {}
        self._active: dict[TaskId, str] = {}
        # standby and warm-up tasks, each with the processes that have it
        self._copies: dict[tuple[str, TaskId], set[str]] = {}

    def active(self, task: TaskId) -> str | None:
        """Return the process that runs a task, or still has to give it back."""
        return self._active.get(task)

    def has_copy(self, task: TaskId, process_id: str) -> bool:
        """Return whether a process has a task as standby or warm-up, or has to give it back."""
        return any(process_id in self._copies.get((role, task), ()) for role in _COPIES)

    def hashes_of(self, member: StreamsMember) -> MemberHashes:
        """Return the hashes of a member's ids; those of a member of the group are kept."""
        known = self.members.get(member.member_id)
        if known is not None and known.process_id == member.process_id:
            return self._hashes[member.member_id]
        return hashes_of(member.member_id, member.process_id)

    def put(self, member: StreamsMember) -> None:
        """Store a member, whether it is new or changed."""
        self._hashes[member.member_id] = self.hashes_of(member)
        self._forget(self.members.get(member.member_id))
        self.members[member.member_id] = member
        self.held.add(size_of_member(member))
        for tasks in (member.assigned, member.pending):
            for task in _active(tasks):
                self._active[task] = member.process_id
            for copy in _copies(tasks):
                self._copies.setdefault(copy, set()).add(member.process_id)

    def remove(self, member_id: str) -> None:
        """Remove a member if it exists; the group still has its target."""
        self._forget(self.members.pop(member_id, None))
        self._hashes.pop(member_id, None)

    def _forget(self, member: StreamsMember | None) -> None:
        if member is None:
            return
        self.held.add(-size_of_member(member))
        for tasks in (member.assigned, member.pending):
            for task in _active(tasks):
                # another process may have got it in the meantime
                if self._active.get(task) == member.process_id:
                    del self._active[task]
            for copy in _copies(tasks):
                processes = self._copies.get(copy, set())
                processes.discard(member.process_id)
                if not processes:
                    self._copies.pop(copy, None)


_STANDBY = "standby"
_WARMUP = "warmup"
_COPIES = (_STANDBY, _WARMUP)


def _active(tasks: AssignedTasks) -> Iterator[TaskId]:
    return (TaskId(key, index) for key, some in tasks.active.items() for index in some)


def _copies(tasks: AssignedTasks) -> Iterator[tuple[str, TaskId]]:
    for role, some in ((_STANDBY, tasks.standby), (_WARMUP, tasks.warmup)):
        for key, indexes in some.items():
            for index in indexes:
                yield role, TaskId(key, index)
