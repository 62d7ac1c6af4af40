"""A member leaves a streams group, or is put out; and the timers of the group."""

from broker_lite.coordinator import group_changes
from broker_lite.coordinator.effects import Effects
from broker_lite.coordinator.group_history import shown
from broker_lite.coordinator.streams import changes, target
from broker_lite.coordinator.streams.group import StreamsGroup
from broker_lite.coordinator.streams.member import LEAVE_EPOCH
from broker_lite.coordinator.timers import INITIAL_DELAY, REBALANCE
from broker_lite.errors import UnknownMemberId
from broker_lite.wire import messages

_Answer = messages.StreamsGroupHeartbeatResponse


def leave(
    group: StreamsGroup, request: messages.StreamsGroupHeartbeatRequest, effects: Effects
) -> messages.StreamsGroupHeartbeatResponse:
    """Remove a member at its own wish; it may ask the others to end, too.

    Raises:
        UnknownMemberId: the group has no such member.

    Rule: U-09 (GroupMetadataManager.streamsGroupLeave).
    """
    member_id = request.member_id
    if request.shutdown_application and group.shutdown_by is None and group.roster.members:
        group.shutdown_by = member_id
    if member_id not in group.roster.members:
        raise UnknownMemberId(f"Member {member_id} is not a member of group {group.group_id}.")
    put_out(group, member_id, "left", effects)
    return _Answer(member_id=member_id, member_epoch=LEAVE_EPOCH, status=[])


def put_out(group: StreamsGroup, member_id: str, why: str, effects: Effects) -> None:
    """Remove a member if it is there, and begin the next group epoch.

    The next heartbeat of another member computes the assignment without it.
    """
    if member_id not in group.roster.members:
        return
    changes.drop_member(group, member_id, effects)
    group.cancel_timers(member_id)
    changes.next_epoch(group, effects)
    what = f"new assignment: a member {why}: {shown(member_id)}"
    effects.note(group.group_id, group.group_epoch, what)


def on_timer(group: StreamsGroup, kind: str, member_id: str, effects: Effects, now_ms: int) -> None:
    """Put out a member that was silent or slow for too long, or make the first assignment."""
    if kind == INITIAL_DELAY:
        _assign_delayed(group, effects, now_ms)
    elif kind == REBALANCE:
        put_out(group, member_id, "did not give its tasks back in time", effects)
    else:
        put_out(group, member_id, "was silent for too long", effects)


def _assign_delayed(group: StreamsGroup, effects: Effects, now_ms: int) -> None:
    """Compute the target that had to wait for more members.

    See: U-15 (GroupMetadataManager.computeDelayedTargetAssignment).
    """
    members, configured = group.roster.members, group.configured
    if not members or configured is None or group.group_epoch <= group.target_epoch:
        return
    if target.why_delayed(group, group.group_epoch, now_ms) is not None:
        return
    found = target.compute(group, group.group_epoch, members, configured, group.last_configs)
    write_target(group, found, effects, now_ms)


def write_target(
    group: StreamsGroup, found: target.NewTarget, effects: Effects, now_ms: int
) -> None:
    """Store a target assignment, and write what is new in it."""
    for member_id in found.changed(group):
        changes.put_target(group, member_id, found.targets[member_id], effects)
    group_changes.put_target_epoch(group, found.epoch, now_ms, effects)
