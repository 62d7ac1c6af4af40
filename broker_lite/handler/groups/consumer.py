"""ConsumerGroupHeartbeat (68), ConsumerGroupDescribe (69): the newer group protocol (KIP-848).

- ConsumerGroupHeartbeat: v1 adds regular expressions, and member ids that the client chooses.
- ConsumerGroupDescribe: v1 adds the type of each member.

Both are refused (35) if the feature group.version is off, or if `consumer` is not among
group.coordinator.rebalance.protocols.

Whether they are on is looked at before the client's rights. A group whose members have topics that
the client may not describe is not described at all.

Not done: group.consumer.regex.refresh.interval.ms; it is always ten minutes. A group that a request
names more than ten times is described ten times.
"""

from collections.abc import Iterator
from typing import Final

from broker_lite.errors import (
    BrokerError,
    TopicAuthorizationFailed,
    UnsupportedVersion,
)
from broker_lite.handler.codec import decode, encode, encode_long
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.denied import denied_topics_in_turns
from broker_lite.handler.groups.ask_group import Event, ask_group, check_group, wait_for_turn
from broker_lite.handler.groups.describe import Kind, describe_groups
from broker_lite.handler.groups.regexes import prepare_regexes, visible_topics, with_regexes
from broker_lite.handler.refusals import tell_group
from broker_lite.security.acls.acl import Operation
from broker_lite.wire import messages

_FEATURE: Final = "group.version"
_PROTOCOL: Final = "consumer"


def _check_enabled(context: HandlerContext) -> None:
    """Demand that consumer groups are on.

    Raises:
        UnsupportedVersion: they are off.

    See: P-54 (KafkaApis.isConsumerGroupProtocolEnabled).
    """
    cluster = context.cluster
    protocols = cluster.settings.group_coordinator_rebalance_protocols
    if _PROTOCOL not in protocols or cluster.features.get(_FEATURE, 0) <= 0:
        raise UnsupportedVersion


def _refusal(error: BrokerError) -> messages.ConsumerGroupHeartbeatResponse:
    response = messages.ConsumerGroupHeartbeatResponse
    return response(error_code=error.code, error_message=error.message)


async def handle_heartbeat(context: HandlerContext, request: Request) -> Parts:
    """Keep a member in its group, and answer which partitions it has.

    See: G-78 to G-90, X-51.
    """
    await wait_for_turn(context, request)
    body = decode(messages.ConsumerGroupHeartbeatRequest, request)
    try:
        _check_enabled(context)
        await _check_rights(context, body)
    except BrokerError as error:
        response = _refusal(error)
        tell_group(context, request, body.group_id, response)
        return encode(messages.ConsumerGroupHeartbeatResponse, response, request)
    is_visible = visible_topics(context)
    prepared = await prepare_regexes(context, body, is_visible)
    members = context.groups.coordinator.members
    event: Event[messages.ConsumerGroupHeartbeatRequest] = members.consumer_heartbeat
    if prepared or is_visible is not None:
        event = with_regexes(context, event, is_visible, prepared)
    response = await ask_group(context, request, event, body, _refusal)
    return encode(messages.ConsumerGroupHeartbeatResponse, response, request)


async def _check_rights(
    context: HandlerContext, body: messages.ConsumerGroupHeartbeatRequest
) -> None:
    """Check what the client may do, before the group is asked.

    Raises:
        GroupAuthorizationFailed, TopicAuthorizationFailed: the client may not read the group, or
            not describe all topics that it names.

    See: X-51 (KafkaApis.handleConsumerGroupHeartbeat).
    """
    check_group(context, body.group_id)
    names = body.subscribed_topic_names
    if names and await denied_topics_in_turns(context, Operation.DESCRIBE, names):
        raise TopicAuthorizationFailed


def _topic_names(
    group: "messages.ConsumerGroupDescribeResponse.DescribedGroup",
) -> Iterator[str]:
    for member in group.members:
        for assignment in (member.assignment, member.target_assignment):
            for topic in assignment.topic_partitions:
                yield topic.topic_name


def _ask(
    context: HandlerContext, group_id: str, is_foreign: bool
) -> "messages.ConsumerGroupDescribeResponse.DescribedGroup":
    admin = context.groups.coordinator.admin
    return admin.describe_consumer_group(group_id, is_foreign=is_foreign)


async def handle_describe(context: HandlerContext, request: Request) -> Parts:
    """Describe consumer groups; those that the client may not describe come first.

    See: G-101, X-53 (KafkaApis.handleConsumerGroupDescribe).
    """
    body = decode(messages.ConsumerGroupDescribeRequest, request)
    message = messages.ConsumerGroupDescribeResponse
    kind = Kind(_check_enabled, _ask, message, message.DescribedGroup, _topic_names)
    groups = await describe_groups(context, body, request.api_version, kind)
    return await encode_long(message, message(groups=groups), request)
