"""Tasks of streams groups: by role, and by subtopology. All of these objects are immutable."""

from collections.abc import Callable, Iterable, Mapping, Set
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol, TypeVar

Tasks = Mapping[str, frozenset[int]]
"""Partitions by subtopology id; a subtopology without any is left out."""

Epochs = Mapping[str, Mapping[int, int]]
"""Partitions by subtopology id, each with the epoch at which a member got it."""

AnyTasks = Mapping[str, Set[int] | Mapping[int, int]]
"""Tasks with or without epochs."""

_NO_TASKS: Final[Tasks] = MappingProxyType({})
_NO_EPOCHS: Final[Epochs] = MappingProxyType({})


class TaskId(NamedTuple):
    """One task."""

    subtopology_id: str
    partition: int


class TaskSets(NamedTuple):
    """The tasks of a member by role, as its target has them or as it reports them."""

    active: Tasks = _NO_TASKS
    standby: Tasks = _NO_TASKS
    warmup: Tasks = _NO_TASKS


class AssignedTasks(NamedTuple):
    """The tasks that a member has by role; those that it runs with the epoch of their begin."""

    active: Epochs = _NO_EPOCHS
    standby: Tasks = _NO_TASKS
    warmup: Tasks = _NO_TASKS

    @property
    def is_empty(self) -> bool:
        """Whether there is no task of any role."""
        return not (self.active or self.standby or self.warmup)

    def has_any_of(self, owned: TaskSets) -> bool:
        """Return whether one of these tasks is owned in the same role."""
        return (
            _overlap({key: some.keys() for key, some in self.active.items()}, owned.active)
            or _overlap(self.standby, owned.standby)
            or _overlap(self.warmup, owned.warmup)
        )

    def sets(self) -> TaskSets:
        """Return the tasks without their epochs."""
        active = {key: frozenset(some) for key, some in self.active.items()}
        return TaskSets(active, self.standby, self.warmup)


NO_TASKS: Final = TaskSets()
NOTHING_ASSIGNED: Final = AssignedTasks()


def _overlap(some: Mapping[str, Set[int]], others: Tasks) -> bool:
    return any(not others[key].isdisjoint(some[key]) for key in some.keys() & others.keys())


class Entry(Protocol):
    """The tasks of a subtopology, as messages and records have them."""

    subtopology_id: str
    partitions: list[int]


E = TypeVar("E")


def tasks_of(entries: Iterable[Entry]) -> Tasks:
    """Return the tasks in the entries of a message: each a subtopology id with partitions."""
    return {each.subtopology_id: frozenset(each.partitions) for each in entries}


def contains(assigned: AnyTasks, entries: Iterable[Entry] | None) -> bool:
    """Return whether all tasks in the entries of a message are assigned; null has none of them.

    See: U-08 (GroupMetadataManager.areOwnedTasksContainedInAssignedTasks).
    """
    if entries is None:
        return False
    return all(
        each.subtopology_id in assigned
        and all(partition in assigned[each.subtopology_id] for partition in each.partitions)
        for each in entries
    )


def entries_of(make: Callable[..., E], tasks: AnyTasks) -> list[E]:
    """Return the entries of a message with these tasks, sorted.

    Args:
        make: the type of the entries.
        tasks: with or without epochs; the epochs are not in the entries.
    """
    return [make(subtopology_id=key, partitions=sorted(tasks[key])) for key in sorted(tasks)]
