"""Responses of the classic group protocol, and the checks that need no group."""

from collections.abc import Sequence
from typing import Final

from broker_lite.coordinator.effects import Caller, Effects
from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.coordinator.texts import is_too_long
from broker_lite.errors import ErrorCode
from broker_lite.wire import messages

# from this version of JoinGroup on, the protocol's name may be null
_JOIN_NULLABLE_PROTOCOL: Final = 7
# from this version on, SyncGroup names the protocol
_SYNC_WITH_PROTOCOL: Final = 5
# stands for the UUID that makes a member id from a client id or an instance id
_ID_TAIL: Final = "-00000000-0000-0000-0000-000000000000"
# from this version on, LeaveGroup names several members
_LEAVE_WITH_MEMBERS: Final = 3

# member id, instance id, result
LeaveResult = tuple[str, str | None, ErrorCode]


def refuse_join(
    effects: Effects, caller: Caller, error_code: ErrorCode, member_id: str = ""
) -> None:
    """Answer a JoinGroup with an error."""
    effects.reply(caller.token, join_refusal(caller.version, error_code, member_id))
    effects.prompt += (caller.token,)


def join_refusal(
    version: int, error_code: ErrorCode, member_id: str = ""
) -> messages.JoinGroupResponse:
    """Make a JoinGroup's error response.

    Rule: G-35.
    """
    return messages.JoinGroupResponse(
        error_code=error_code,
        protocol_name=None if version >= _JOIN_NULLABLE_PROTOCOL else "",
        member_id=member_id,
    )


def check_join(
    request: messages.JoinGroupRequest, version: int, settings: GroupSettings
) -> "messages.JoinGroupResponse | None":
    """Check the parts of a JoinGroup that do not depend on its group.

    Returns:
        The error response, None if the request may go to its group.

    Rule: G-35 (GroupCoordinatorService.joinGroup).
    """
    if not request.group_id:
        return join_refusal(version, ErrorCode.INVALID_GROUP_ID, request.member_id)
    timeout_ms = request.session_timeout_ms
    if not settings.session_timeout_ms_min <= timeout_ms <= settings.session_timeout_ms_max:
        return join_refusal(version, ErrorCode.INVALID_SESSION_TIMEOUT, request.member_id)
    return None


def check_join_texts(
    request: messages.JoinGroupRequest, caller: Caller
) -> "messages.JoinGroupResponse | None":
    """Check that no text of a JoinGroup is too long for a record or a response.

    Without this check the error would come only when the group's record is written.

    Returns:
        The error response, None if all texts fit.

    Rule: G-35; Kafka fails on it when it gets there.
    """
    texts = [
        caller.client_id + _ID_TAIL,
        (request.group_instance_id or "") + _ID_TAIL,
        request.member_id,
        request.protocol_type,
        *(protocol.name for protocol in request.protocols),
    ]
    if any(map(is_too_long, texts)):
        return join_refusal(caller.version, ErrorCode.INVALID_REQUEST)
    return None


def refuse_sync(effects: Effects, caller: Caller, error_code: ErrorCode) -> None:
    """Answer a SyncGroup with an error.

    Rule: G-53.
    """
    effects.reply(caller.token, messages.SyncGroupResponse(error_code=error_code))
    effects.prompt += (caller.token,)


def check_sync(request: messages.SyncGroupRequest, version: int) -> ErrorCode | None:
    """Return the error of a SyncGroup that does not depend on its group, None if there is none.

    See: G-51 (KafkaApis.handleSyncGroupRequest).
    """
    if version >= _SYNC_WITH_PROTOCOL and None in (request.protocol_type, request.protocol_name):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    return None if request.group_id else ErrorCode.INVALID_GROUP_ID


def answer_heartbeat(effects: Effects, caller: Caller, error_code: ErrorCode) -> None:
    """Answer a Heartbeat."""
    effects.reply(caller.token, messages.HeartbeatResponse(error_code=error_code))


def leaving_members(
    request: messages.LeaveGroupRequest, version: int
) -> list[tuple[str, str | None]]:
    """Return the member and instance ids that a LeaveGroup names."""
    if version < _LEAVE_WITH_MEMBERS:
        return [(request.member_id, None)]
    return [(member.member_id, member.group_instance_id) for member in request.members]


def answer_leave(effects: Effects, caller: Caller, results: Sequence[LeaveResult]) -> None:
    """Answer a LeaveGroup; before v3 the result of the only member is that of the request.

    See: G-55, G-56.
    """
    response = messages.LeaveGroupResponse()
    if caller.version < _LEAVE_WITH_MEMBERS:
        response.error_code = results[0][2]
    else:
        response.members = [
            messages.LeaveGroupResponse.MemberResponse(
                member_id=member_id, group_instance_id=instance_id, error_code=error_code
            )
            for member_id, instance_id, error_code in results
        ]
    effects.reply(caller.token, response)


def refuse_leave(request: messages.LeaveGroupRequest, effects: Effects, caller: Caller) -> None:
    """Answer a LeaveGroup for a group that does not exist, or for the empty group id.

    See: G-55, G-56 (GroupCoordinatorService.leaveGroup).
    """
    if not request.group_id:
        error_code = ErrorCode.INVALID_GROUP_ID
        effects.reply(caller.token, messages.LeaveGroupResponse(error_code=error_code))
        return
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    named = leaving_members(request, caller.version)
    answer_leave(effects, caller, [(member, instance, unknown) for member, instance in named])
    effects.prompt += (caller.token,)
