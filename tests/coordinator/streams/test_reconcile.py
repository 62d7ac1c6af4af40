"""The steps of a member towards its target."""

from typing import Any

import pytest

from broker_lite.coordinator.streams.member import StreamsMember, StreamsMemberState
from broker_lite.coordinator.streams.reconcile import Reconciliation, reconcile
from broker_lite.coordinator.streams.roster import StreamsRoster
from broker_lite.coordinator.streams.tasks import AssignedTasks, TaskSets
from broker_lite.errors import FencedMemberEpoch

STABLE = StreamsMemberState.STABLE
UNREVOKED = StreamsMemberState.UNREVOKED_TASKS
UNRELEASED = StreamsMemberState.UNRELEASED_TASKS


def some(*indexes: int) -> dict[str, frozenset[int]]:
    return {"0": frozenset(indexes)} if indexes else {}


def member(key: str = "a", *indexes: int, **fields: Any) -> StreamsMember:
    """A member of a process of its name, with active tasks of epoch 2."""
    active = {"0": dict.fromkeys(indexes, 2)} if indexes else {}
    fields.setdefault("assigned", AssignedTasks(active))
    return StreamsMember(member_id=key, process_id=key, member_epoch=2, **fields)


def step(
    one: StreamsMember,
    target: TaskSets,
    *others: StreamsMember,
    owned: TaskSets | None = None,
    epoch: int = 3,
) -> StreamsMember:
    roster = StreamsRoster()
    for each in (one, *others):
        roster.put(each)
    return reconcile(one, Reconciliation(epoch, target, owned, roster))


def test_a_member_with_its_target_stays_as_it_is() -> None:
    """U-17."""
    one = member("a", 0)
    assert step(one, TaskSets(some(0)), epoch=2) is one


def test_free_tasks_are_added_with_the_epoch_of_the_target() -> None:
    """U-18."""
    after = step(member("a", 0), TaskSets(some(0, 1)))
    assert (after.state, after.member_epoch, after.previous_member_epoch) == (STABLE, 3, 2)
    assert after.assigned.active == {"0": {0: 2, 1: 3}}


def test_tasks_that_go_are_revoked_first() -> None:
    """U-17, U-18: the epoch stays until the member no longer reports them."""
    one = member("a", 0, 1)
    after = step(one, TaskSets(some(0)), owned=TaskSets(some(0, 1)))
    assert (after.state, after.member_epoch) == (UNREVOKED, 2)
    assert (after.assigned.active, after.pending.active) == ({"0": {0: 2}}, {"0": {1: 2}})
    assert step(after, TaskSets(some(0)), owned=None) is after
    assert step(after, TaskSets(some(0)), owned=TaskSets(some(0, 1))) is after
    last = step(after, TaskSets(some(0)), owned=TaskSets(some(0)))
    assert (last.state, last.member_epoch, last.pending.is_empty) == (STABLE, 3, True)


def test_what_the_member_no_longer_owns_needs_no_revocation() -> None:
    after = step(member("a", 0, 1), TaskSets(some(0)), owned=TaskSets(some(0)))
    assert (after.state, after.assigned.active) == (STABLE, {"0": {0: 2}})


def test_a_task_that_another_has_is_waited_for() -> None:
    """U-18, U-19: also while the other has to give it back."""
    other = member("b", pending=AssignedTasks({"0": {1: 2}}))
    after = step(member("a", 0), TaskSets(some(0, 1)), other)
    assert (after.state, after.member_epoch, after.assigned.active) == (
        UNRELEASED,
        3,
        {"0": {0: 2}},
    )
    last = step(after, TaskSets(some(0, 1)), member("b"))
    assert (last.state, last.assigned.active) == (STABLE, {"0": {0: 2, 1: 3}})


def test_a_revocation_that_is_done_may_begin_the_next_one() -> None:
    """U-17: with the epoch after the old one."""
    one = member("a", 0, 1, state=UNREVOKED, pending=AssignedTasks({"0": {2: 2}}))
    after = step(one, TaskSets(some(0)), owned=TaskSets(some(0, 1)), epoch=9)
    assert (after.state, after.member_epoch, after.pending.active) == (UNREVOKED, 3, {"0": {1: 2}})


@pytest.mark.parametrize(
    ("target", "waits"),
    [
        (TaskSets(active=some(5)), True),
        (TaskSets(standby=some(5)), True),
        (TaskSets(active=some(6)), True),
        (TaskSets(standby=some(6)), True),
        (TaskSets(standby=some(7)), False),
        (TaskSets(active=some(7)), True),
        (TaskSets(warmup=some(5)), True),
        (TaskSets(warmup=some(7)), False),
    ],
)
def test_a_process_has_a_task_in_one_role(target: TaskSets, waits: bool) -> None:
    """U-18: 5 runs in the member's process, 6 is its standby, 7 runs in another process."""
    same = StreamsMember(
        member_id="c",
        process_id="a",
        assigned=AssignedTasks({"0": {5: 2}}, some(6)),
    )
    after = step(member("a"), target, same, member("b", 7))
    assert after.state is (UNRELEASED if waits else STABLE)


def test_standby_tasks_are_revoked_and_kept_as_active_ones() -> None:
    one = member("a", assigned=AssignedTasks({}, some(1, 2)))
    owned = TaskSets({}, some(1, 2))
    after = step(one, TaskSets({}, some(2)), owned=owned)
    assert (after.assigned.standby, after.pending.standby) == (some(2), some(1))


def test_a_state_of_a_later_kafka_is_fenced() -> None:
    """U-17: unless the member reports that it has nothing."""
    one = member("a", 0, state=StreamsMemberState.UNKNOWN)
    with pytest.raises(FencedMemberEpoch):
        step(one, TaskSets(some(0)))
    after = step(one, TaskSets(some(0)), owned=TaskSets())
    assert (after.state, after.member_epoch) == (STABLE, 3)
