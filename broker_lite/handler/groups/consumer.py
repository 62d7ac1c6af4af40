"""ConsumerGroupHeartbeat (68), ConsumerGroupDescribe (69): the newer group protocol (KIP-848).

- ConsumerGroupHeartbeat: v1 adds regular expressions, and member ids that the client chooses.
- ConsumerGroupDescribe: v1 adds the type of each member.

Both are refused (35) if the feature group.version is off, or if `consumer` is not among
group.coordinator.rebalance.protocols.

Not done: authorization of the topics that a group subscribes to.
"""

from typing import Final

from broker_lite.errors import BrokerError, ErrorCode, UnsupportedVersion
from broker_lite.handler.authorized import GROUP_OPERATIONS
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.groups.ask_group import ask_group
from broker_lite.handler.groups.coordinated import foreign_groups
from broker_lite.handler.groups.regexes import prepare_regexes
from broker_lite.wire import messages

_FEATURE: Final = "group.version"
_PROTOCOL: Final = "consumer"


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

    See: G-78 to G-90.
    """
    body = decode(messages.ConsumerGroupHeartbeatRequest, request)
    if _is_on(context):
        prepared = await prepare_regexes(context, body)
        coordinator = context.groups.coordinator
        event = coordinator.members.consumer_heartbeat
        with coordinator.members.with_prepared(prepared):
            response = await ask_group(context, request, event, body, _refusal)
    else:
        response = _refusal(UnsupportedVersion())
    return encode(messages.ConsumerGroupHeartbeatResponse, response, request)


async def handle_describe(context: HandlerContext, request: Request) -> Parts:
    """Describe consumer groups.

    See: G-101.
    """
    body = decode(messages.ConsumerGroupDescribeRequest, request)
    try:
        if not _is_on(context):
            raise UnsupportedVersion
        foreign = foreign_groups(context, body.group_ids)
        context.groups.check_loaded(each for each in body.group_ids if each not in foreign)
        response = context.groups.coordinator.admin.describe_consumer_groups(body, foreign)
    except BrokerError as error:
        response = messages.ConsumerGroupDescribeResponse(
            groups=[
                messages.ConsumerGroupDescribeResponse.DescribedGroup(
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
                group.authorized_operations = GROUP_OPERATIONS
    return encode(messages.ConsumerGroupDescribeResponse, response, request)
