"""ShareGroupHeartbeat (76), ShareGroupDescribe (77): the members of share groups (KIP-932).

Both are refused (35) if the feature share.version is off.

Rule: G-112.

Not done: showing a group that a request names more than ten times as often as that.
"""

from collections.abc import Iterator
from typing import Final

from broker_lite.errors import BrokerError, TopicAuthorizationFailed, UnsupportedVersion
from broker_lite.handler.codec import decode, encode, encode_long
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.denied import denied_topics_in_turns
from broker_lite.handler.groups.ask_group import ask_group, check_group, wait_for_turn
from broker_lite.handler.groups.describe import Kind, describe_groups
from broker_lite.handler.refusals import tell_group
from broker_lite.security.acls.acl import Operation
from broker_lite.wire import messages

SHARE_VERSION: Final = "share.version"


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


def _topic_names(
    group: "messages.ShareGroupDescribeResponse.DescribedGroup",
) -> Iterator[str]:
    for member in group.members:
        for topic in member.assignment.topic_partitions:
            yield topic.topic_name


def _ask(
    context: HandlerContext, group_id: str, is_foreign: bool
) -> "messages.ShareGroupDescribeResponse.DescribedGroup":
    admin = context.groups.coordinator.admin
    return admin.describe_share_group(group_id, is_foreign=is_foreign)


async def handle_describe(context: HandlerContext, request: Request) -> Parts:
    """Describe share groups; those that the client may not describe come first.

    See: K-06, X-53 (KafkaApis.handleShareGroupDescribe).
    """
    body = decode(messages.ShareGroupDescribeRequest, request)
    message = messages.ShareGroupDescribeResponse
    kind = Kind(check_enabled, _ask, message, message.DescribedGroup, _topic_names)
    groups = await describe_groups(context, body, request.api_version, kind)
    return await encode_long(message, message(groups=groups), request)
