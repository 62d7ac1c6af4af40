"""Removes members from groups as if they had left."""

from typing import Final, cast

from broker_lite.coordinator.effects import Caller
from broker_lite.coordinator.share.group import ShareGroup
from broker_lite.coordinator.share.member import LEAVE_EPOCH as SHARE_LEAVE_EPOCH
from broker_lite.coordinator.streams.group import StreamsGroup
from broker_lite.coordinator.streams.member import LEAVE_EPOCH as STREAMS_LEAVE_EPOCH
from broker_lite.errors import ErrorCode
from broker_lite.server.life import Life
from broker_lite.testbench.group_views import group_of
from broker_lite.wire import messages

_LEAVE_WITH_REASON: Final = 5
_REASON: Final = "removed by the control API"
_ANY_VERSION: Final = 1


async def put_out(life: Life, group_id: str, member_id: str, instance_id: str | None) -> ErrorCode:
    """Remove a member of a group of any type; its client is told with its next request.

    Returns:
        The coordinator's error; NONE if the member has gone.

    Raises:
        NotCoordinator: the state of the group cannot be read now.
    """
    group = group_of(life, group_id)
    if isinstance(group, ShareGroup):
        return await _put_out_sharer(life, group_id, member_id)
    if isinstance(group, StreamsGroup):
        return await _put_out_of_streams(life, group_id, member_id)
    service = life.coordinators.groups
    identity = messages.LeaveGroupRequest.MemberIdentity(
        member_id=member_id, group_instance_id=instance_id, reason=_REASON
    )
    answer = cast(
        "messages.LeaveGroupResponse",
        await service.ask(
            service.coordinator.members.leave,
            group_id,
            messages.LeaveGroupRequest(group_id=group_id, members=[identity]),
            Caller(_LEAVE_WITH_REASON, "", "", None),
        ),
    )
    return ErrorCode(answer.error_code or answer.members[0].error_code)


async def _put_out_sharer(life: Life, group_id: str, member_id: str) -> ErrorCode:
    service = life.coordinators.groups
    request = messages.ShareGroupHeartbeatRequest(
        group_id=group_id, member_id=member_id, member_epoch=SHARE_LEAVE_EPOCH
    )
    event = service.coordinator.members.share_heartbeat
    answer = await service.ask(event, group_id, request, Caller(_ANY_VERSION, "", "", None))
    return ErrorCode(cast("messages.ShareGroupHeartbeatResponse", answer).error_code)


async def _put_out_of_streams(life: Life, group_id: str, member_id: str) -> ErrorCode:
    service = life.coordinators.groups
    request = messages.StreamsGroupHeartbeatRequest(
        group_id=group_id, member_id=member_id, member_epoch=STREAMS_LEAVE_EPOCH
    )
    event = service.coordinator.streams.heartbeat
    answer = await service.ask(event, group_id, request, Caller(_ANY_VERSION, "", "", None))
    return ErrorCode(cast("messages.StreamsGroupHeartbeatResponse", answer).error_code)
