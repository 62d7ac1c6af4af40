"""A process with its members, while tasks are assigned: how loaded they are, and what they get.

See: U-16 (ProcessState).
"""

from collections.abc import Mapping

from broker_lite.coordinator.streams.java_order import JavaHeap, hash_order
from broker_lite.coordinator.streams.tasks import TaskId


class _Loaded:
    """A member in the heap of its process, with the number of its tasks."""

    __slots__ = ("count", "member_id")

    def __init__(self, member_id: str, count: int) -> None:
        self.member_id = member_id
        self.count = count


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
        self._by_load: JavaHeap[_Loaded] | None = None

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
        if self._by_load is None:
            loaded = [_Loaded(member_id, count) for member_id, count in self.counts.items()]
            self._by_load = JavaHeap(_count_of, loaded)
        least = self._by_load.poll()
        assert least is not None, "a process has a member"
        least.count = self._add(least.member_id, task, is_active=is_active)
        self._by_load.add(least)
        return least.count

    def _add(self, member_id: str, task: TaskId, *, is_active: bool) -> int:
        self._tasks.add(task)
        self._task_count += 1
        (self.active if is_active else self.standby)[member_id].append(task)
        self.counts[member_id] += 1
        return self.counts[member_id]


def _count_of(loaded: _Loaded) -> int:
    return loaded.count
