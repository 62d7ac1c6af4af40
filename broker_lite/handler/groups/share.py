"""ShareGroupHeartbeat (76), ShareGroupDescribe (77): the members of share groups (KIP-932).

Both are refused (35) if the feature share.version is off.

Rule: G-112.

Not done: nothing that a client asks for.
"""

from collections.abc import Iterator
from typing import Final

from broker_lite.errors import BrokerError, ErrorCode, TopicAuthorizationFailed, UnsupportedVersion
from broker_lite.handler.authorized import authorized_operations, denied_names
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.denied import denied_topics_in_turns
from broker_lite.handler.groups.ask_group import ask_group, check_group, wait_for_turn
from broker_lite.handler.groups.coordinated import foreign_groups
from broker_lite.handler.refusals import tell_group
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.wire import messages

SHARE_VERSION: Final = "share.version"
_DENIED_TOPICS: Final = (
    "The group has described topic(s) that the client is not authorized to describe."
)


def check_enabled(context: HandlerContext) -> None:
    """Demand that share groups are on.

    Raises:
        UnsupportedVersion: they are off.

    Rule: K-01 (KafkaApis.isShareGroupProtocolEnabled).
    """
    if context.cluster.features.get(SHARE_VERSION, 0) <= 0:
        raise UnsupportedVersion


def _refusal(error: BrokerError) -> messages.ShareGroupHeartbeatResponse:
    message = messages.ShareGroupHeartbeatResponse
    return message(error_code=error.code, error_message=error.message)


async def handle_heartbeat(context: HandlerContext, request: Request) -> Parts:
    """Keep a member in its group, and answer which partitions it reads from.

    See: G-113, X-51 (KafkaApis.handleShareGroupHeartbeat).
    """
    await wait_for_turn(context, request)
    body = decode(messages.ShareGroupHeartbeatRequest, request)
    message = messages.ShareGroupHeartbeatResponse
    try:
        check_enabled(context)
        check_group(context, body.group_id)
        names = body.subscribed_topic_names
        if names and await denied_topics_in_turns(context, Operation.DESCRIBE, names):
            raise TopicAuthorizationFailed
    except BrokerError as error:
        response = _refusal(error)
        tell_group(context, request, body.group_id, response)
        return encode(message, response, request)
    event = context.groups.coordinator.members.share_heartbeat
    return encode(message, await ask_group(context, request, event, body, _refusal), request)


async def handle_describe(context: HandlerContext, request: Request) -> Parts:
    """Describe share groups; those that the client may not describe come first.

    See: K-06, X-53 (KafkaApis.handleShareGroupDescribe).
    """
    body = decode(messages.ShareGroupDescribeRequest, request)
    described = messages.ShareGroupDescribeResponse.DescribedGroup
    refused: list[str] = []
    try:
        check_enabled(context)
        denied = denied_names(context, Operation.DESCRIBE, ResourceType.GROUP, body.group_ids)
        if denied:
            refused = [each for each in body.group_ids if each in denied]
            body.group_ids = [each for each in body.group_ids if each not in denied]
        foreign = foreign_groups(context, body.group_ids)
        context.groups.check_loaded(each for each in body.group_ids if each not in foreign)
        response = context.groups.coordinator.admin.describe_share_groups(body, foreign)
    except BrokerError as error:
        response = messages.ShareGroupDescribeResponse(
            groups=[
                described(
                    group_id=group_id,
                    error_code=error.code if group_id else ErrorCode.INVALID_GROUP_ID,
                    error_message=error.message,
                )
                for group_id in body.group_ids
            ]
        )
    if body.include_authorized_operations:
        for group in response.groups:
            if group.error_code == ErrorCode.NONE:
                group.authorized_operations = authorized_operations(
                    context, ResourceType.GROUP, group.group_id
                )
    if context.authorizer is not None:
        code = ErrorCode.GROUP_AUTHORIZATION_FAILED
        first = [described(group_id=group_id, error_code=code) for group_id in refused]
        response.groups = first + [await _visible(context, each) for each in response.groups]
    return encode(messages.ShareGroupDescribeResponse, response, request)


async def _visible(
    context: HandlerContext, group: "messages.ShareGroupDescribeResponse.DescribedGroup"
) -> "messages.ShareGroupDescribeResponse.DescribedGroup":
    """Return a group, or an error in its place if the client may not describe all its topics."""
    if not await denied_topics_in_turns(context, Operation.DESCRIBE, _topic_names(group)):
        return group
    return messages.ShareGroupDescribeResponse.DescribedGroup(
        group_id=group.group_id,
        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        error_message=_DENIED_TOPICS,
    )


def _topic_names(
    group: "messages.ShareGroupDescribeResponse.DescribedGroup",
) -> Iterator[str]:
    for member in group.members:
        for topic in member.assignment.topic_partitions:
            yield topic.topic_name
