"""Moves a member from its current assignment to its target, one step per heartbeat.

A partition moves from one member to another in three steps. First it goes from the old member's
assigned partitions to those pending revocation. Then the old member no longer reports it as owned.
Only then the new member gets it. So two members never read a partition at the same time.
"""

from collections.abc import Callable, Mapping, Set
from dataclasses import replace
from typing import NamedTuple

from broker_lite.coordinator.assignors.assignor import Target
from broker_lite.coordinator.consumer.member import (
    Assigned,
    ConsumerMember,
    MemberState,
)

Owned = Mapping[bytes, Set[int]] | None
"""The partitions that a member reported as owned; None if it reported nothing."""

OwnerOf = Callable[[bytes, int], str | None]


class Reconciliation(NamedTuple):
    """The input for the next step of a member.

    Attributes:
        target_epoch: of the target assignment.
        target: the member's part of it.
        subscribed_ids: the topics that it subscribes to now; the target may be older.
        owned: the partitions that it reported as owned.
        owner_of: returns the member that has a partition.
        is_subscription_changed: whether this heartbeat changed its subscription.
    """

    target_epoch: int
    target: Target
    subscribed_ids: Set[bytes]
    owned: Owned
    owner_of: OwnerOf
    is_subscription_changed: bool = False


def reconcile(member: ConsumerMember, by: Reconciliation) -> ConsumerMember:
    """Return the member after its next step, or the same object if there is no step to take.

    Rule: G-92 (CurrentAssignmentBuilder).
    """
    if member.state is MemberState.STABLE and member.member_epoch == by.target_epoch:
        return _drop_unsubscribed(member, by) if by.is_subscription_changed else member
    if member.state is MemberState.UNREVOKED_PARTITIONS and _may_own(
        by.owned, member.pending_revocation
    ):
        return _drop_unsubscribed(member, by) if by.is_subscription_changed else member
    return _next_assignment(member, by)


def _may_own(owned: Owned, partitions: Assigned) -> bool:
    """Return whether the member may own some of these partitions, by its own report."""
    if owned is None:
        return True
    return any(
        not owned[topic_id].isdisjoint(partitions[topic_id])
        for topic_id in owned.keys() & partitions.keys()
    )


def _drop_unsubscribed(member: ConsumerMember, by: Reconciliation) -> ConsumerMember:
    """Revoke the topics that a member no longer subscribes to, without waiting for a new target."""
    dropped = {
        topic_id: epochs
        for topic_id, epochs in member.assigned.items()
        if topic_id not in by.subscribed_ids
    }
    if not dropped:
        return member
    assigned = {
        topic_id: epochs for topic_id, epochs in member.assigned.items() if topic_id not in dropped
    }
    pending = dict(member.pending_revocation)
    for topic_id, epochs in dropped.items():
        pending[topic_id] = {**pending.get(topic_id, {}), **epochs}
    if _may_own(by.owned, pending):
        return replace(
            member,
            state=MemberState.UNREVOKED_PARTITIONS,
            previous_member_epoch=member.member_epoch,
            assigned=assigned,
            pending_revocation=pending,
        )
    return replace(member, previous_member_epoch=member.member_epoch, assigned=assigned)


def _next_assignment(member: ConsumerMember, by: Reconciliation) -> ConsumerMember:
    """Compare the assignment with the target: keep and revoke partitions, and add free ones.

    Rule: G-93 (CurrentAssignmentBuilder.computeNextAssignment).
    """
    keep: dict[bytes, Mapping[int, int]] = {}
    revoke: dict[bytes, Mapping[int, int]] = {}
    for topic_id, epochs in member.assigned.items():
        target = by.target.get(topic_id, frozenset()) if topic_id in by.subscribed_ids else ()
        kept = {partition: epoch for partition, epoch in epochs.items() if partition in target}
        if kept:
            keep[topic_id] = kept
        if len(kept) < len(epochs):
            revoke[topic_id] = {p: epoch for p, epoch in epochs.items() if p not in kept}
    if revoke and _may_own(by.owned, revoke):
        return replace(
            member,
            state=MemberState.UNREVOKED_PARTITIONS,
            previous_member_epoch=member.member_epoch,
            assigned=keep,
            pending_revocation=revoke,
        )
    is_waiting = _add_free(member, by, keep)
    return replace(
        member,
        state=MemberState.UNRELEASED_PARTITIONS if is_waiting else MemberState.STABLE,
        member_epoch=by.target_epoch,
        previous_member_epoch=member.member_epoch,
        assigned=keep,
        pending_revocation={},
    )


def _add_free(
    member: ConsumerMember, by: Reconciliation, keep: dict[bytes, Mapping[int, int]]
) -> bool:
    """Add the partitions of the target to `keep` that no other member has.

    Returns:
        Whether another member still has a partition of the target.
    """
    is_waiting = False
    for topic_id, target in by.target.items():
        if topic_id not in by.subscribed_ids:
            continue
        kept = keep.get(topic_id, {})
        added = {}
        for partition in target:
            if partition in kept:
                continue
            if by.owner_of(topic_id, partition) in (None, member.member_id):
                added[partition] = by.target_epoch
            else:
                is_waiting = True
        if added:
            keep[topic_id] = {**kept, **added}
    return is_waiting
