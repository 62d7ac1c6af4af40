"""G-92, G-93: one step of a member towards its target.

Also tests: broker_lite.coordinator.consumer.member.
"""

from collections.abc import Mapping

import pytest

from broker_lite.coordinator.consumer.member import ConsumerMember, MemberState
from broker_lite.coordinator.consumer.reconcile import Reconciliation, reconcile

T, U = b"t" * 16, b"u" * 16
STABLE, UNREVOKED, UNRELEASED = (
    MemberState.STABLE,
    MemberState.UNREVOKED_PARTITIONS,
    MemberState.UNRELEASED_PARTITIONS,
)


def member(
    state: MemberState,
    epoch: int,
    assigned: set[int],
    pending: set[int] = frozenset(),  # type: ignore[assignment]
) -> ConsumerMember:
    return ConsumerMember(
        member_id="m",
        state=state,
        member_epoch=epoch,
        previous_member_epoch=epoch - 1,
        assigned={T: dict.fromkeys(assigned, epoch)} if assigned else {},
        pending_revocation={T: dict.fromkeys(pending, epoch)} if pending else {},
    )


def step(
    before: ConsumerMember,
    target: set[int],
    *,
    epoch: int = 5,
    owned: set[int] | None = frozenset(),  # type: ignore[assignment]
    taken: Mapping[int, str] = {},
    subscribed: frozenset[bytes] = frozenset({T, U}),
    is_changed: bool = False,
) -> tuple[MemberState, int, int, set[int], set[int]]:
    after = reconcile(
        before,
        Reconciliation(
            target_epoch=epoch,
            target={T: frozenset(target)} if target else {},
            subscribed_ids=subscribed,
            owned=None if owned is None else {T: owned},
            owner_of=lambda _, partition: taken.get(partition),
            is_subscription_changed=is_changed,
        ),
    )
    return (
        after.state,
        after.member_epoch,
        after.previous_member_epoch,
        set(after.assigned.get(T, ())),
        set(after.pending_revocation.get(T, ())),
    )


def test_nothing_to_do() -> None:
    """G-92: stable at the target epoch."""
    before = member(STABLE, 5, {0})
    assert step(before, {0, 1}) == (STABLE, 5, 4, {0}, set())


@pytest.mark.parametrize("owned", [None, {0, 1}, {1}])
def test_revoke(owned: set[int] | None) -> None:
    """G-93 (a): as long as the member may own it."""
    assert step(member(STABLE, 4, {0, 1}), {0, 2}, owned=owned) == (UNREVOKED, 4, 4, {0}, {1})


def test_revoked_already() -> None:
    """G-93 (b): what it says not to own needs no revocation."""
    assert step(member(STABLE, 4, {0, 1}), {0, 2}, owned={0}) == (STABLE, 5, 4, {0, 2}, set())


def test_add() -> None:
    """G-93 (b): what is free at once, the rest later."""
    before = member(STABLE, 4, {0})
    assert step(before, {0, 1, 2}, taken={2: "x"}) == (UNRELEASED, 5, 4, {0, 1}, set())
    assert step(before, {0, 1, 2}) == (STABLE, 5, 4, {0, 1, 2}, set())


def test_wait() -> None:
    """G-93 (c)."""
    assert step(member(STABLE, 4, {0}), {0, 1}, taken={1: "x"}) == (UNRELEASED, 5, 4, {0}, set())
    waiting = member(UNRELEASED, 5, {0})
    assert step(waiting, {0, 1}, taken={1: "x"})[0] is UNRELEASED
    assert step(waiting, {0, 1}) == (STABLE, 5, 5, {0, 1}, set())


def test_only_the_epoch_moves() -> None:
    """G-93 (d)."""
    assert step(member(STABLE, 4, {0}), {0}) == (STABLE, 5, 4, {0}, set())


@pytest.mark.parametrize("owned", [None, {0, 1}])
def test_still_owes(owned: set[int] | None) -> None:
    """G-92: unrevoked, and the member has not said that it gave up."""
    before = member(UNREVOKED, 4, {0}, {1})
    assert step(before, {0, 2}, owned=owned) == (UNREVOKED, 4, 3, {0}, {1})


def test_gave_up() -> None:
    """G-92: then on with the latest target, which may even give the partition back."""
    before = member(UNREVOKED, 4, {0}, {1})
    assert step(before, {0}, owned={0}) == (STABLE, 5, 4, {0}, set())
    assert step(before, {0, 1}, owned={0}, taken={1: "m"}) == (STABLE, 5, 4, {0, 1}, set())


def test_and_has_to_give_up_more() -> None:
    """G-93 (a): at the same epoch."""
    assert step(member(UNREVOKED, 4, {0}, {1}), set(), owned={0}) == (UNREVOKED, 4, 4, set(), {0})


def test_a_target_beyond_the_subscription() -> None:
    """G-93: with an assignment interval the target is older than the subscription."""
    before = member(STABLE, 4, {0})
    subscribed = frozenset({U})
    assert step(before, {0, 1}, subscribed=subscribed) == (STABLE, 5, 4, set(), set())
    owning = step(before, {0, 1}, subscribed=subscribed, owned={0})
    assert owning == (UNREVOKED, 4, 4, set(), {0})


@pytest.mark.parametrize(
    ("before", "owned", "after"),
    [
        pytest.param(member(STABLE, 5, {0}), {0}, (UNREVOKED, 5, 5, set(), {0}), id="owned"),
        pytest.param(member(STABLE, 5, {0}), set(), (STABLE, 5, 5, set(), set()), id="not owned"),
        pytest.param(
            member(UNREVOKED, 4, {0}, {1}), {1}, (UNREVOKED, 4, 4, set(), {0, 1}), id="owes more"
        ),
    ],
)
def test_a_topic_is_left(
    before: ConsumerMember,
    owned: set[int],
    after: tuple[MemberState, int, int, set[int], set[int]],
) -> None:
    """G-92: at once, without waiting for a new target."""
    assert step(before, {0}, owned=owned, subscribed=frozenset({U}), is_changed=True) == after


def test_a_changed_subscription_may_keep_all() -> None:
    """G-92."""
    before = member(STABLE, 5, {0})
    assert step(before, {0}, is_changed=True) == (STABLE, 5, 4, {0}, set())
    owing = member(UNREVOKED, 4, {0}, {1})
    assert step(owing, {0}, owned={1}, is_changed=True) == (UNREVOKED, 4, 3, {0}, {1})
