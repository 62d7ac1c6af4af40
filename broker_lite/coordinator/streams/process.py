"""A process with its members, while tasks are assigned: how loaded they are, and what they get.

See: U-16 (ProcessState).
"""

from collections.abc import Mapping

from broker_lite.coordinator.streams.java_order import JavaHeap, hash_order
from broker_lite.coordinator.streams.tasks import TaskId


class Process:
    """A process of the application.

    Args:
        member_hashes: the spread hashes of its members, at least one, by id.

    Attributes:
        counts: how many tasks each member has.
        active: the active tasks by member.
        standby: the standby tasks by member.
    """

    __slots__ = ("_by_load", "_task_count", "_tasks", "active", "counts", "standby")

    def __init__(self, member_hashes: Mapping[str, int]) -> None:
        order = hash_order(member_hashes, hash_of=member_hashes.__getitem__)
        self.counts = dict.fromkeys(order, 0)
        self.active: dict[str, list[TaskId]] = {each: [] for each in order}
        self.standby: dict[str, list[TaskId]] = {each: [] for each in order}
        self._task_count = 0
        self._tasks: set[TaskId] = set()
        self._by_load: JavaHeap[str] | None = None

    @property
    def load(self) -> float:
        """How many tasks its members have, on average."""
        return self._task_count / len(self.counts)

    def has_task(self, task: TaskId) -> bool:
        """Return whether one of its members has a task, in any role."""
        return task in self._tasks

    def add(self, member_id: str, task: TaskId, *, is_active: bool) -> int:
        """Give a task to a member; return how many it has now."""
        self._by_load = None
        return self._add(member_id, task, is_active=is_active)

    def add_to_least_loaded(self, task: TaskId, *, is_active: bool) -> int:
        """Give a task to the member with the fewest; return how many it has now."""
        if len(self.counts) == 1:  # as in most processes: a heap would take half of the time
            (member_id,) = self.counts
            return self._add(member_id, task, is_active=is_active)
        by_load = self._by_load
        if by_load is None:
            by_load = self._by_load = JavaHeap()
            for each, count in self.counts.items():
                by_load.add(each, count)
        least = by_load.poll()
        assert least is not None, "a process has a member"
        count = self._add(least, task, is_active=is_active)
        by_load.add(least, count)
        return count

    def _add(self, member_id: str, task: TaskId, *, is_active: bool) -> int:
        self._tasks.add(task)
        self._task_count += 1
        (self.active if is_active else self.standby)[member_id].append(task)
        count = self.counts[member_id] = self.counts[member_id] + 1
        return count
