"""JoinGroup (11), SyncGroup (14), Heartbeat (12), LeaveGroup (13): the classic group protocol.

- JoinGroup: v1 adds the rebalance timeout, v4 MEMBER_ID_REQUIRED (KIP-394), v5 static
  members (KIP-345), v7 the protocol type (KIP-559), v8 a reason (KIP-800), v9 skip_assignment
  (KIP-814).
- SyncGroup: v3 adds static members, v5 protocol type and name (KIP-559).
- Heartbeat: v3 adds static members.
- LeaveGroup: v3 takes several members (KIP-345), v5 a reason (KIP-800).

A JoinGroup waits until all members have joined, a SyncGroup waits for the leader's assignment.
Later requests on the same connection wait, too (P-04).

All of them need READ on the group (X-51).

Not done: the reasons of v8 and v5, which Kafka only logs.
"""

from typing import Final

from broker_lite.errors import BrokerError
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.groups.ask_group import Event, answer_group, ask_group, wait_for_turn
from broker_lite.handler.groups.regexes import visible_topics, with_regexes
from broker_lite.wire import messages

_NULLABLE_PROTOCOL_SINCE: Final = 7


async def handle_join(context: HandlerContext, request: Request) -> Parts:
    """Let a member join a group.

    See: G-35 to G-50, G-108, C-60 (GroupCoordinatorService.joinGroup).
    """
    await wait_for_turn(context, request)
    body = decode(messages.JoinGroupRequest, request)

    def refusal(error: BrokerError) -> messages.JoinGroupResponse:
        return messages.JoinGroupResponse(
            error_code=error.code,
            protocol_name=None if request.api_version >= _NULLABLE_PROTOCOL_SINCE else "",
        )

    members = context.groups.coordinator.members
    event: Event[messages.JoinGroupRequest] = members.join
    if context.authorizer is not None:  # the group may have members with regular expressions
        event = with_regexes(context, event, visible_topics(context), {})
    response = await ask_group(context, request, event, body, refusal)
    return encode(messages.JoinGroupResponse, response, request)


async def handle_sync(context: HandlerContext, request: Request) -> Parts:
    """Answer a member's assignment; take the assignments of all members from the leader.

    See: G-51 to G-53, G-109.
    """
    event = context.groups.coordinator.members.sync
    return await answer_group(
        context, request, event, messages.SyncGroupRequest, messages.SyncGroupResponse
    )


async def handle_heartbeat(context: HandlerContext, request: Request) -> Parts:
    """Keep a member in its group, and answer whether the group rebalances.

    See: G-54, G-110.
    """
    event = context.groups.coordinator.members.heartbeat
    return await answer_group(
        context, request, event, messages.HeartbeatRequest, messages.HeartbeatResponse
    )


async def handle_leave(context: HandlerContext, request: Request) -> Parts:
    """Let members leave a group.

    See: G-55, G-56, G-111.
    """
    event = context.groups.coordinator.members.leave
    return await answer_group(
        context, request, event, messages.LeaveGroupRequest, messages.LeaveGroupResponse
    )
