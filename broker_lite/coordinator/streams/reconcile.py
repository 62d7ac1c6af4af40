"""Moves a member from the tasks that it has to its target, one step per heartbeat.

A task moves in three steps: it is pending revocation at the old member, the old member no longer
reports it as owned, and only then the new member gets it. A process has a task in one role only,
because its members share the directory with the task's state.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple, Protocol

from broker_lite.coordinator.streams.member import StreamsMember, StreamsMemberState
from broker_lite.coordinator.streams.tasks import (
    NO_TASKS,
    NOTHING_ASSIGNED,
    AssignedTasks,
    Epochs,
    TaskId,
    Tasks,
    TaskSets,
)
from broker_lite.errors import FencedMemberEpoch

_IsTaken = Callable[[TaskId], bool]


class Holders(Protocol):
    """Tells which processes have a task, or still have to give it back."""

    def active(self, task: TaskId) -> str | None:
        """Return the process that runs a task, None if there is none."""

    def has_copy(self, task: TaskId, process_id: str) -> bool:
        """Return whether a process has a task as standby or warm-up."""


class Reconciliation(NamedTuple):
    """The input for the next step of a member.

    Attributes:
        target_epoch: of the target assignment.
        target: the member's part of it.
        owned: the tasks that it reported as owned; None if it reported nothing.
        holders: who has which task now.
    """

    target_epoch: int
    target: TaskSets
    owned: TaskSets | None
    holders: Holders


def reconcile(member: StreamsMember, by: Reconciliation) -> StreamsMember:
    """Return the member after its next step, or the same object if there is no step to take.

    Raises:
        FencedMemberEpoch: the member was written by a later Kafka in a state that is not known
            here, and has not given up its tasks.

    Rule: U-17 (CurrentAssignmentBuilder).
    """
    state = member.state
    if member.is_reconciled(by.target_epoch):
        return member
    if state is StreamsMemberState.UNREVOKED_TASKS:
        if _may_own(by.owned, member.pending):
            return member
        return _next(member, member.member_epoch + 1, by)
    if state is StreamsMemberState.UNKNOWN and by.owned != NO_TASKS:
        raise FencedMemberEpoch(
            "The streams group member is in a unknown state. The member must abandon all its tasks "
            "and rejoin."
        )
    epoch = by.target_epoch if state is StreamsMemberState.UNKNOWN else member.member_epoch
    return _next(member, epoch, by)


def _may_own(owned: TaskSets | None, tasks: AssignedTasks) -> bool:
    """Return whether the member may own some of these tasks, by its own report."""
    return owned is None or tasks.has_any_of(owned)


class _Step(NamedTuple):
    """What changes for the tasks of one role, or of all.

    Attributes:
        keep: it has them and keeps them.
        revoke: it has them and must give them back.
        add: it gets them.
        is_waiting: whether others of its target are not free yet.
    """

    keep: Epochs
    revoke: Epochs
    add: Epochs
    is_waiting: bool


def _step(had: Epochs, target: Tasks, epoch: int, is_taken: _IsTaken) -> _Step:
    keep: dict[str, Mapping[int, int]] = {}
    revoke: dict[str, Mapping[int, int]] = {}
    add: dict[str, Mapping[int, int]] = {}
    is_waiting = False
    for key in sorted(had.keys() | target.keys()):
        epochs, wanted = had.get(key, {}), target.get(key, frozenset())
        kept = {index: since for index, since in epochs.items() if index in wanted}
        gone = {index: since for index, since in epochs.items() if index not in wanted}
        new = [index for index in wanted if index not in epochs]
        free = {index: epoch for index in new if not is_taken(TaskId(key, index))}
        is_waiting = is_waiting or len(free) < len(new)
        for found, some in ((keep, kept), (revoke, gone), (add, free)):
            if some:
                found[key] = some
    return _Step(keep, revoke, add, is_waiting)


def _next(member: StreamsMember, member_epoch: int, by: Reconciliation) -> StreamsMember:
    """Compare the assignment with the target: keep and revoke tasks, and add free ones.

    Rule: U-18 (CurrentAssignmentBuilder.computeNextAssignment).
    """
    process_id, holders, had = member.process_id, by.holders, member.assigned

    def is_run(task: TaskId) -> bool:
        return holders.active(task) is not None or holders.has_copy(task, process_id)

    def is_here(task: TaskId) -> bool:
        return holders.active(task) == process_id or holders.has_copy(task, process_id)

    active = _step(had.active, by.target.active, by.target_epoch, is_run)
    standby = _step(_aged(had.standby), by.target.standby, 0, is_here)
    warmup = _step(_aged(had.warmup), by.target.warmup, 0, is_here)
    keep = AssignedTasks(active.keep, _ageless(standby.keep), _ageless(warmup.keep))
    revoke = AssignedTasks(active.revoke, _ageless(standby.revoke), _ageless(warmup.revoke))
    if not revoke.is_empty and _may_own(by.owned, revoke):
        return replace(
            member,
            state=StreamsMemberState.UNREVOKED_TASKS,
            member_epoch=member_epoch,
            previous_member_epoch=member.member_epoch,
            assigned=keep,
            pending=revoke,
        )
    is_waiting = active.is_waiting or standby.is_waiting or warmup.is_waiting
    return replace(
        member,
        state=StreamsMemberState.UNRELEASED_TASKS if is_waiting else StreamsMemberState.STABLE,
        member_epoch=by.target_epoch,
        previous_member_epoch=member.member_epoch,
        assigned=AssignedTasks(
            _merged(active.keep, active.add),
            _ageless(_merged(standby.keep, standby.add)),
            _ageless(_merged(warmup.keep, warmup.add)),
        ),
        pending=NOTHING_ASSIGNED,
    )


def _aged(tasks: Tasks) -> Epochs:
    """Return standby or warm-up tasks with an epoch that means nothing."""
    return {key: dict.fromkeys(some, 0) for key, some in tasks.items()}


def _ageless(epochs: Epochs) -> Tasks:
    return {key: frozenset(some) for key, some in epochs.items()}


def _merged(some: Epochs, others: Epochs) -> Epochs:
    return {
        key: {**some.get(key, {}), **others.get(key, {})} for key in some.keys() | others.keys()
    }
