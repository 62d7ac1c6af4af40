"""How a member gets from what it holds to its target, one step a heartbeat.

A partition goes from one member to another in three steps: it moves from the first one's assigned
partitions to those pending revocation, the first one stops to report it as owned, and only then
another member gets it. So no partition is ever read by two members at once.
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
"""The partitions that a member says it owns; None when it said nothing."""

OwnerOf = Callable[[bytes, int], str | None]


class Reconciliation(NamedTuple):
    """What a member is to be reconciled with.

    Attributes:
        target_epoch: of the target assignment.
        target: the member's part of it.
        subscribed_ids: the topics that it subscribes to now; the target may be older than that.
        owned: what it reported.
        owner_of: tells who has a partition.
        is_subscription_changed: it subscribed to something else in this very heartbeat.
    """

    target_epoch: int
    target: Target
    subscribed_ids: Set[bytes]
    owned: Owned
    owner_of: OwnerOf
    is_subscription_changed: bool = False


def reconcile(member: ConsumerMember, by: Reconciliation) -> ConsumerMember:
    """The member after its next step, or the same value when there is none to take.

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
    """Whether the member owns some of these partitions, for all that is known."""
    if owned is None:
        return True
    return any(
        not owned[topic_id].isdisjoint(partitions[topic_id])
        for topic_id in owned.keys() & partitions.keys()
    )


def _drop_unsubscribed(member: ConsumerMember, by: Reconciliation) -> ConsumerMember:
    """Take from a member the topics that it no longer subscribes to, before a new target does."""
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
    """Compare what is assigned with the target: keep, revoke, add what is free.

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
    """Add to `keep` what the target has beyond it and nobody else holds.

    Returns:
        Whether some of the target is still held by another member.
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
