"""The assignor `sticky`: tasks stay where they are, processes get equal loads, standbys stay apart.

Members keep their active tasks up to an equal share. Then who has a task as a standby gets it, up
to the same share. What is left goes to the process with the least load, there to the member with
the fewest tasks. A standby task goes to a process that does not have the task: to who had it
before, else to the process with the least load.

Rule: U-16 (StickyTaskAssignor).
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from broker_lite.coordinator.streams.java_order import JavaHeap, MemberHashes, hash_order
from broker_lite.coordinator.streams.process import Process
from broker_lite.coordinator.streams.tasks import TaskId, Tasks, TaskSets


class MemberBefore(NamedTuple):
    """A member before the assignment.

    Attributes:
        process_id: of its process.
        target: what the last assignment gave it.
        hashes: of its id and its process id.
    """

    process_id: str
    target: TaskSets
    hashes: MemberHashes


class Wanted(NamedTuple):
    """The tasks to assign.

    Attributes:
        task_counts: how many tasks each subtopology has, by id, sorted.
        stateful: the ids of those that have state.
        standby_count: standby tasks for each task with state.
    """

    task_counts: Mapping[str, int]
    stateful: frozenset[str]
    standby_count: int

    def tasks(self) -> list[TaskId]:
        """Return all tasks."""
        counts = self.task_counts.items()
        return [TaskId(key, index) for key, count in counts for index in range(count)]


class _Share:
    """How many of the tasks that are left each of the members may have that are not full yet."""

    __slots__ = ("_member_count", "_task_count", "per_member")

    def __init__(self, task_count: int, member_count: int) -> None:
        self._task_count = task_count
        self._member_count = member_count
        self._divide()

    def took(self, count: int) -> None:
        """Note how many tasks a member has now: a full one leaves the rest to the others."""
        if count == self.per_member:
            self._member_count -= 1
            self._task_count -= count
            self._divide()

    def _divide(self) -> None:
        members = self._member_count
        self.per_member = -(-self._task_count // members) if members else 0


class _Holder(NamedTuple):
    """A member, and its process."""

    member_id: str
    process: Process


class _Assignment:
    """An assignment in the making."""

    def __init__(self, members: Mapping[str, MemberBefore], wanted: Wanted) -> None:
        self.wanted = wanted
        self.processes = _processes(members)
        self.active_before: dict[TaskId, _Holder] = {}
        self.standby_before: dict[TaskId, list[_Holder]] = {}
        for member_id, (process_id, target, _) in members.items():
            holder = _Holder(member_id, self.processes[process_id])
            for task in _each(target.active):
                self.active_before[task] = holder
            for task in _each(target.standby):
                self.standby_before.setdefault(task, []).append(holder)
        counts = wanted.task_counts
        total = sum(counts.values())
        standbys = wanted.standby_count * sum(counts[key] for key in wanted.stateful)
        self.active_share = _Share(total, len(members))
        self.total_share = _Share(total + standbys, len(members))

    def _by_load(self) -> JavaHeap[Process]:
        heap: JavaHeap[Process] = JavaHeap()
        for process in self.processes.values():
            heap.add(process, process.load)
        return heap

    # -- active tasks

    def assign_active(self) -> None:
        """Give every task to a member."""
        tasks = sorted(self.wanted.tasks(), key=lambda task: (task.partition, task.subtopology_id))
        left = [task for task in tasks if not self._return_active(task, self._active_holder(task))]
        left = [task for task in left if not self._return_active(task, self._standby_holder(task))]
        by_load = self._by_load()
        for task in sorted(left):
            process = by_load.poll()
            assert process is not None, "there is a member, so there is a process"
            self._took_active(process.add_to_least_loaded(task, is_active=True))
            by_load.add(process, process.load)

    def _active_holder(self, task: TaskId) -> _Holder | None:
        return self.active_before.get(task)

    def _standby_holder(self, task: TaskId) -> _Holder | None:
        return _least_loaded(self.standby_before.get(task, []), None)

    def _return_active(self, task: TaskId, holder: _Holder | None) -> bool:
        """Give a task to who had it, unless that member is full; return whether it got it."""
        if holder is None:
            return False
        member_id, process = holder
        if process.counts[member_id] >= self.active_share.per_member:
            return False
        self._took_active(process.add(member_id, task, is_active=True))
        return True

    def _took_active(self, count: int) -> None:
        self.active_share.took(count)
        self.total_share.took(count)

    # -- standby tasks

    def assign_standby(self) -> None:
        """Give the tasks with state to further members, as far as there are processes for them."""
        tasks = [
            task for task in self.wanted.tasks() if task.subtopology_id in self.wanted.stateful
        ]
        tasks.sort(key=lambda task: (task.partition, task.subtopology_id), reverse=True)
        left: list[tuple[TaskId, int]] = []
        for task in tasks:
            count = self.wanted.standby_count
            while count and self._return_standby(task):
                count -= 1
            if count:
                left.append((task, count))
        left.sort(key=lambda one: one[0], reverse=True)
        by_load = self._by_load()
        for task, count in left:
            while count and self._add_standby(by_load, task):
                count -= 1

    def _return_standby(self, task: TaskId) -> bool:
        """Give a standby task to who ran the task, or had the standby; tell whether one got it."""
        holder = self.active_before.get(task)
        if holder is not None and not holder.process.has_task(task) and self._has_room(holder):
            self._take_standby(holder, task)
            return True
        holder = _least_loaded(self.standby_before.get(task, []), task)
        if holder is not None and self._has_room(holder):
            self._take_standby(holder, task)
            return True
        return False

    def _has_room(self, holder: _Holder) -> bool:
        return holder.process.counts[holder.member_id] < self.total_share.per_member

    def _take_standby(self, holder: _Holder, task: TaskId) -> None:
        self.total_share.took(holder.process.add(holder.member_id, task, is_active=False))

    def _add_standby(self, by_load: JavaHeap[Process], task: TaskId) -> bool:
        """Give a standby task to the least loaded process without the task, if there is one."""
        polled: list[Process] = []
        found = False
        while not found and (process := by_load.poll()) is not None:
            polled.append(process)
            if not process.has_task(task):
                self.total_share.took(process.add_to_least_loaded(task, is_active=False))
                found = True
        for process in reversed(polled):
            by_load.add(process, process.load)
        return found


def assign_sticky(members: Mapping[str, MemberBefore], wanted: Wanted) -> dict[str, TaskSets]:
    """Return the target of every member, in the order of the members.

    Args:
        members: by id, with what they had; at least one. Their order is that of the HashMap from
            which Kafka takes them.
        wanted: the tasks.
    """
    assignment = _Assignment(members, wanted)
    assignment.assign_active()
    if wanted.standby_count:
        assignment.assign_standby()
    targets = {}
    for member_id, (process_id, _, _) in members.items():
        process = assignment.processes[process_id]
        active, standby = process.active[member_id], process.standby[member_id]
        targets[member_id] = TaskSets(_grouped(active), _grouped(standby))
    return targets


def _processes(members: Mapping[str, MemberBefore]) -> dict[str, Process]:
    """Return the processes by id, in the order in which Kafka looks at them."""
    member_hashes: dict[str, dict[str, int]] = {}
    hashes: dict[str, int] = {}
    for member_id, (process_id, _, known) in members.items():
        member_hashes.setdefault(process_id, {})[member_id] = known.member_id
        hashes[process_id] = known.process_id
    order = hash_order(member_hashes, len(members), hashes.__getitem__)
    return {process_id: Process(member_hashes[process_id]) for process_id in order}


def _least_loaded(holders: list[_Holder], task: TaskId | None) -> _Holder | None:
    """Return the holder that is less loaded than the others, as member and as process.

    With a task, processes that have it do not count. As in Kafka there is none if the process of
    the first holder has it, even if another has not.
    """
    if not holders:
        return None
    least = holders[0]
    for holder in holders[1:]:
        if (
            holder.process.load < least.process.load
            and not (task is not None and holder.process.has_task(task))
            and holder.process.counts[holder.member_id] < least.process.counts[least.member_id]
        ):
            least = holder
    return None if task is not None and holders[0].process.has_task(task) else least


def _each(tasks: Tasks) -> Iterable[TaskId]:
    return (TaskId(key, index) for key in sorted(tasks) for index in sorted(tasks[key]))


def _grouped(tasks: Iterable[TaskId]) -> Tasks:
    found: dict[str, set[int]] = {}
    for key, index in tasks:
        found.setdefault(key, set()).add(index)
    return {key: frozenset(some) for key, some in found.items()}
