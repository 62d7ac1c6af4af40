"""ConsumerGroupHeartbeat (68), ConsumerGroupDescribe (69): the newer group protocol (KIP-848).

- ConsumerGroupHeartbeat: v1 adds regular expressions, and member ids that the client chooses.
- ConsumerGroupDescribe: v1 adds the type of each member.

Both are refused (35) if the feature group.version is off, or if `consumer` is not among
group.coordinator.rebalance.protocols.

Whether they are on is looked at before the client's rights. A group whose members have topics that
the client may not describe is not described at all.

Not done: group.consumer.regex.refresh.interval.ms; it is always ten minutes.
"""

from collections.abc import Iterator
from typing import Final

from broker_lite.errors import (
    BrokerError,
    ErrorCode,
    TopicAuthorizationFailed,
    UnsupportedVersion,
)
from broker_lite.handler.authorized import authorized_operations, denied_names
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.denied import denied_topics_in_turns
from broker_lite.handler.groups.ask_group import Event, ask_group, check_group, wait_for_turn
from broker_lite.handler.groups.coordinated import foreign_groups
from broker_lite.handler.groups.regexes import prepare_regexes, visible_topics, with_regexes
from broker_lite.handler.refusals import tell_group
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.wire import messages

_FEATURE: Final = "group.version"
_PROTOCOL: Final = "consumer"
_DENIED_TOPICS: Final = (
    "The group has described topic(s) that the client is not authorized to describe."
)


def _is_on(context: HandlerContext) -> bool:
    """See: P-54 (KafkaApis.isConsumerGroupProtocolEnabled)."""
    cluster = context.cluster
    protocols = cluster.settings.group_coordinator_rebalance_protocols
    return _PROTOCOL in protocols and cluster.features.get(_FEATURE, 0) > 0


def _refusal(error: BrokerError) -> messages.ConsumerGroupHeartbeatResponse:
    response = messages.ConsumerGroupHeartbeatResponse
    return response(error_code=error.code, error_message=error.message)


async def handle_heartbeat(context: HandlerContext, request: Request) -> Parts:
    """Keep a member in its group, and answer which partitions it has.

    See: G-78 to G-90, X-51.
    """
    await wait_for_turn(context, request)
    body = decode(messages.ConsumerGroupHeartbeatRequest, request)
    if not _is_on(context):
        response = _refusal(UnsupportedVersion())
        return encode(messages.ConsumerGroupHeartbeatResponse, response, request)
    try:
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


async def handle_describe(context: HandlerContext, request: Request) -> Parts:
    """Describe consumer groups; those that the client may not describe come first.

    See: G-101, X-53 (KafkaApis.handleConsumerGroupDescribe).
    """
    body = decode(messages.ConsumerGroupDescribeRequest, request)
    described = messages.ConsumerGroupDescribeResponse.DescribedGroup
    refused: list[str] = []
    try:
        if not _is_on(context):
            raise UnsupportedVersion
        denied = denied_names(context, Operation.DESCRIBE, ResourceType.GROUP, body.group_ids)
        if denied:
            refused = [each for each in body.group_ids if each in denied]
            body.group_ids = [each for each in body.group_ids if each not in denied]
        foreign = foreign_groups(context, body.group_ids)
        context.groups.check_loaded(each for each in body.group_ids if each not in foreign)
        response = context.groups.coordinator.admin.describe_consumer_groups(body, foreign)
    except BrokerError as error:
        response = messages.ConsumerGroupDescribeResponse(
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
    return encode(messages.ConsumerGroupDescribeResponse, response, request)


async def _visible(
    context: HandlerContext, group: "messages.ConsumerGroupDescribeResponse.DescribedGroup"
) -> "messages.ConsumerGroupDescribeResponse.DescribedGroup":
    """Return a group, or an error in its place if the client may not describe all its topics."""
    names = _topic_names(group)
    if not await denied_topics_in_turns(context, Operation.DESCRIBE, names):
        return group
    return messages.ConsumerGroupDescribeResponse.DescribedGroup(
        group_id=group.group_id,
        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        error_message=_DENIED_TOPICS,
    )


def _topic_names(
    group: "messages.ConsumerGroupDescribeResponse.DescribedGroup",
) -> Iterator[str]:
    for member in group.members:
        for assignment in (member.assignment, member.target_assignment):
            for topic in assignment.topic_partitions:
                yield topic.topic_name
