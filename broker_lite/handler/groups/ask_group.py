"""Pass a request to the group that it is about, and wait for the answer."""

from collections.abc import Callable
from typing import TypeVar, cast

from broker_lite.coordinator.effects import Caller, Effects
from broker_lite.errors import BrokerError, GroupAuthorizationFailed
from broker_lite.handler.authorized import is_allowed
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.large import leave_lane
from broker_lite.handler.refusals import tell_group
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.wire import messages

Asked = TypeVar(
    "Asked",
    bound="messages.JoinGroupRequest | messages.SyncGroupRequest | messages.HeartbeatRequest"
    " | messages.LeaveGroupRequest | messages.ConsumerGroupHeartbeatRequest"
    " | messages.ShareGroupHeartbeatRequest | messages.StreamsGroupHeartbeatRequest"
    " | messages.AlterShareGroupOffsetsRequest"
    " | messages.DeleteShareGroupOffsetsRequest"
    " | messages.OffsetCommitRequest | messages.OffsetDeleteRequest",
)
Answer = TypeVar("Answer", bound="messages.Message")
CodeAnswer = TypeVar(
    "CodeAnswer",
    bound="messages.SyncGroupResponse | messages.HeartbeatResponse | messages.LeaveGroupResponse"
    " | messages.OffsetDeleteResponse",
)
Event = Callable[[Asked, Caller, int], Effects]
"""A method of the coordinator that takes a request, and may answer it later."""


def caller_of(context: HandlerContext, request: Request, group_id: str) -> Caller:
    """Return the sender of a request, as groups remember it; a null client id becomes empty.

    It is made right before the group is asked: it tells whether this broker coordinates the group.

    See: C-33.
    """
    client_host = f"/{context.client_address[0]}"
    is_coordinator = context.groups.topic.is_led(group_id, context.node_id)
    return Caller(request.api_version, request.client_id or "", client_host, None, is_coordinator)


def check_group(
    context: HandlerContext, group_id: str, operation: Operation = Operation.READ
) -> None:
    """Demand a right on a group; whoever belongs to it, or commits offsets, needs READ.

    Raises:
        GroupAuthorizationFailed: the client does not have it.

    Rule: X-51 (KafkaApis.handleJoinGroupRequest).
    """
    if not is_allowed(context, operation, ResourceType.GROUP, group_id):
        raise GroupAuthorizationFailed


async def wait_for_turn(context: HandlerContext, request: Request) -> None:
    """Wait until other connections have had their turn, if very many members ask at once.

    Call it first: what is decoded or looked up by then would be kept while the request waits.
    """
    leave_lane(request)
    await context.cluster.rounds.turn()


async def ask_group(
    context: HandlerContext,
    request: Request,
    event: Event[Asked],
    body: Asked,
    refusal: Callable[[BrokerError], Answer],
    operation: Operation = Operation.READ,
) -> Answer:
    """Return the coordinator's response to a request; it may come only once the group has settled.

    If the client goes away meanwhile, its member stays in the group until the member's timers end.

    Args:
        context: of the connection.
        request: the request as it came.
        event: the coordinator's method for the request.
        body: the decoded request.
        refusal: makes the response from an error.
        operation: what the client has to be allowed to do with the group.

    Rule: G-118, G-119.
    See: C-60, C-63, X-51.
    """
    leave_lane(request)
    try:
        check_group(context, body.group_id, operation)
        caller = caller_of(context, request, body.group_id)
        response = cast("Answer", await context.groups.ask(event, body.group_id, body, caller))
    except BrokerError as error:
        response = refusal(error)
    tell_group(context, request, body.group_id, response)
    return response


async def answer_group(
    context: HandlerContext,
    request: Request,
    event: Event[Asked],
    request_type: type[Asked],
    response_type: type[CodeAnswer],
) -> Parts:
    """Answer a request whose response to an error has nothing but the error code."""
    await wait_for_turn(context, request)
    body = decode(request_type, request)

    def refusal(error: BrokerError) -> CodeAnswer:
        return response_type(error_code=error.code)

    response = await ask_group(context, request, event, body, refusal)
    return encode(response_type, response, request)
