"""Removes members from a consumer group: they leave, or a timer has run out."""

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from broker_lite.coordinator import group_changes
from broker_lite.coordinator.consumer import changes
from broker_lite.coordinator.consumer.checks import known_member, known_static_member
from broker_lite.coordinator.consumer.group import ConsumerGroup
from broker_lite.coordinator.consumer.member import (
    LEAVE_EPOCH,
    NOTHING_ASSIGNED,
    STATIC_LEAVE_EPOCH,
    MemberState,
)
from broker_lite.coordinator.consumer.regexes import drop_unused_regex
from broker_lite.coordinator.effects import Effects
from broker_lite.coordinator.group_history import shown
from broker_lite.coordinator.timers import JOIN, REBALANCE, SYNC
from broker_lite.wire import messages

_SHOWN_MAX: Final = 3


def leave(
    group: ConsumerGroup,
    request: messages.ConsumerGroupHeartbeatRequest,
    effects: Effects,
    now_ms: int,
) -> messages.ConsumerGroupHeartbeatResponse:
    """Handle the heartbeat of a member that leaves, for good or (if static) until it rejoins.

    Returns:
        The response.

    Rule: G-79 (GroupMetadataManager.consumerGroupLeave).
    """
    member = (
        known_member(group, request.member_id)
        if request.instance_id is None
        else known_static_member(group, request.member_id, request.instance_id)
    )
    if request.member_epoch == LEAVE_EPOCH:
        put_out(group, [member.member_id], effects, now_ms)
    else:
        away = replace(
            member,
            member_epoch=STATIC_LEAVE_EPOCH,
            # the member rejoins with new epochs, so the old assignment epochs no longer count
            assigned={
                topic_id: dict.fromkeys(partitions, 0)
                for topic_id, partitions in member.assigned.items()
            },
            pending_revocation=NOTHING_ASSIGNED,
        )
        changes.put_current(group, away, effects)
        group.timers.cancel(REBALANCE, member.member_id)
    return messages.ConsumerGroupHeartbeatResponse(
        member_id=member.member_id, member_epoch=request.member_epoch
    )


def on_timer(
    group: ConsumerGroup, kind: str, member_id: str, effects: Effects, now_ms: int
) -> None:
    """Remove a member whose timer has run out, unless the timer no longer applies to it.

    See: G-89.
    """
    member = group.roster.members.get(member_id)
    if member is None:
        return
    if kind == REBALANCE and member.state is not MemberState.UNREVOKED_PARTITIONS:
        return
    if kind in (JOIN, SYNC) and member.classic is None:
        return  # the member has changed to the consumer protocol meanwhile
    put_out(group, [member_id], effects, now_ms)


def put_out(
    group: ConsumerGroup, member_ids: Collection[str], effects: Effects, now_ms: int
) -> None:
    """Remove members and raise the group epoch; without members nothing changes.

    See: G-79, G-89 (consumerGroupFenceMembers).
    """
    if not member_ids:
        return
    if group.downgrade is not None and group.downgrade(member_ids, effects, now_ms):
        return
    regexes = dict.fromkeys(group.roster.members[member_id].regex for member_id in member_ids)
    for member_id in member_ids:
        group_changes.drop_member(group, member_id, effects)
        group.cancel_timers(member_id)
    for regex in regexes:
        drop_unused_regex(group, regex, effects)
    changes.put_group_epoch(group, group.group_epoch + 1, group.topics_hash(), effects)
    gone = ", ".join(shown(each) for each in list(member_ids)[:_SHOWN_MAX])
    what = f"new assignment: {len(member_ids)} members left or were silent for too long: {gone}"
    effects.note(group.group_id, group.group_epoch, what)


def delete_group(group: ConsumerGroup, effects: Effects) -> None:
    """Stop all timers of a group, and write its tombstones.

    See: G-104 (ConsumerGroup.createGroupTombstoneRecords).
    """
    for member_id in group.roster.members:
        group.cancel_timers(member_id)
    changes.drop_group(group, effects)
