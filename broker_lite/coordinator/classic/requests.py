"""SyncGroup, Heartbeat and LeaveGroup to a classic group.

Rule: G-51, G-54 to G-56.
See: G-52, G-53.
"""

from typing import Final

from broker_lite.coordinator.classic.answers import (
    LeaveResult,
    answer_heartbeat,
    answer_leave,
    leaving_members,
    refuse_sync,
)
from broker_lite.coordinator.classic.group import ClassicGroup
from broker_lite.coordinator.classic.member import ClassicGroupState
from broker_lite.coordinator.classic.phases import assign, park_sync, rebalance_or_complete
from broker_lite.coordinator.effects import Caller, Effects
from broker_lite.coordinator.group_history import shown
from broker_lite.errors import ErrorCode
from broker_lite.wire import messages

_EMPTY: Final = ClassicGroupState.EMPTY
_PREPARING: Final = ClassicGroupState.PREPARING_REBALANCE
_STABLE: Final = ClassicGroupState.STABLE


def sync(
    group: ClassicGroup,
    request: messages.SyncGroupRequest,
    caller: Caller,
    effects: Effects,
    now_ms: int,
) -> None:
    """Handle a SyncGroup that `check_sync` accepted.

    Rule: G-51 (GroupMetadataManager.classicGroupSyncToClassicGroup).
    See: G-52.
    """
    error_code = _check_sync(group, request)
    if error_code is not None:
        refuse_sync(effects, caller, error_code)
        return
    member = group.roster.members[request.member_id]
    if group.state is _STABLE:
        group.rebalance.note_sync(member.member_id)
        group.answer_sync(member, caller, effects)
        return
    leads = group.roster.leader == member.member_id
    assignments = {entry.member_id: entry.assignment for entry in request.assignments}
    if leads and not group.roster.can_hold(assignments, group.settings.held_bytes_max):
        refuse_sync(effects, caller, ErrorCode.GROUP_MAX_SIZE_REACHED)
        return
    park_sync(group, member, caller, effects)
    if leads:
        assign(group, assignments, effects, now_ms)


def _check_sync(group: ClassicGroup, request: messages.SyncGroupRequest) -> ErrorCode | None:
    if (error_code := _check_generation(group, request, request.generation_id)) is not None:
        return error_code
    for given, ours in (
        (request.protocol_type, group.protocol_type),
        (request.protocol_name, group.protocol_name),
    ):
        if given is not None and ours is not None and given != ours:
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    return ErrorCode.REBALANCE_IN_PROGRESS if group.state is _PREPARING else None


def heartbeat(
    group: ClassicGroup,
    request: messages.HeartbeatRequest,
    caller: Caller,
    effects: Effects,
    now_ms: int,
) -> None:
    """Handle a Heartbeat with a group id.

    Rule: G-54 (GroupMetadataManager.classicGroupHeartbeatToClassicGroup).
    """
    error_code = _check_generation(group, request, request.generation_id)
    if error_code is None:
        group.rebalance.restart_session(group.roster.members[request.member_id], now_ms)
        error_code = ErrorCode.NONE
        if group.state is _PREPARING:
            error_code = ErrorCode.REBALANCE_IN_PROGRESS
    answer_heartbeat(effects, caller, error_code)


def _check_generation(
    group: ClassicGroup,
    request: "messages.SyncGroupRequest | messages.HeartbeatRequest",
    generation: int,
) -> ErrorCode | None:
    """Return the error if a request is not from a member of this generation, None if it is.

    In an empty group every member id is unknown.
    """
    error_code = group.roster.check_member(request.member_id, request.group_instance_id)
    if error_code is None and generation != group.rebalance.generation:
        return ErrorCode.ILLEGAL_GENERATION
    return error_code


def leave(
    group: ClassicGroup,
    request: messages.LeaveGroupRequest,
    caller: Caller,
    effects: Effects,
    now_ms: int,
) -> None:
    """Handle a LeaveGroup with a group id; one rebalance follows for all members that left.

    Rule: G-55, G-56 (GroupMetadataManager.classicGroupLeaveToClassicGroup).
    """
    results: list[LeaveResult] = []
    for member_id, instance_id in leaving_members(request, caller.version):
        error_code = _leave_one(group, member_id, instance_id, effects)
        results.append((member_id, instance_id, error_code))
    answer_leave(effects, caller, results)
    if group.state is not _EMPTY and any(result[2] is ErrorCode.NONE for result in results):
        left = [shown(each[0]) for each in results if each[2] is ErrorCode.NONE]
        why = f"member {left[0]} left" if len(left) == 1 else f"{len(left)} members left"
        rebalance_or_complete(group, effects, now_ms, why)


def _leave_one(
    group: ClassicGroup, member_id: str, instance_id: str | None, effects: Effects
) -> ErrorCode:
    if not member_id and instance_id is not None:
        # an operator removes a static member by its instance id only (KIP-345)
        member_id = group.roster.static_members.get(instance_id, "")
    if member_id not in group.roster.pending_members:
        error_code = group.roster.check_member(member_id, instance_id)
        if error_code is not None:
            return error_code
    group.drop_member(member_id, effects)
    return ErrorCode.NONE
