"""StreamsGroupHeartbeat (88), StreamsGroupDescribe (89): groups of Kafka Streams (KIP-1071).

- StreamsGroupHeartbeat: v1 may have the offsets of tasks, and its answer a wider lag of recovery.
- StreamsGroupDescribe: v1 adds the assignor, and descriptions of topologies (KIP-1331).

Both are refused (35) if the feature streams.version is off, or if `streams` is not among
group.coordinator.rebalance.protocols.

Whether they are on is looked at before the client's rights. A group with topics that the client may
not describe is not described at all.

Not done: the offsets of tasks are accepted and not used; no description of a topology is stored, as
on a Kafka 4.4 without a plugin for it. Warm-up tasks, static members and regular expressions are
refused, as by Kafka 4.3. A group that a request names more than ten times is described ten times.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

from broker_lite.control.metadata.topic_names import INTERNAL_TOPICS, is_legal_topic_name
from broker_lite.coordinator.groups.streams_members import StreamsMembers
from broker_lite.coordinator.streams.ahead import ConfiguredAhead
from broker_lite.coordinator.streams.bounds import check_topology_size
from broker_lite.coordinator.streams.told import ToldTopology
from broker_lite.coordinator.texts import cut
from broker_lite.errors import (
    BrokerError,
    ErrorCode,
    StreamsInvalidTopology,
    TopicAuthorizationFailed,
    UnsupportedVersion,
)
from broker_lite.handler.codec import decode, encode, encode_long
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.denied import denied_topics_in_turns
from broker_lite.handler.groups.ask_group import ask_group, check_group, wait_for_turn
from broker_lite.handler.groups.describe import Kind, describe_groups
from broker_lite.handler.large import LargeRequest, in_lane, in_slices
from broker_lite.handler.refusals import tell_group
from broker_lite.handler.streams.internal_topics import create_missing
from broker_lite.security.acls.acl import Operation
from broker_lite.wire import messages

STREAMS_VERSION: Final = "streams.version"
_PROTOCOL: Final = "streams"
_NOT_STORED: Final = 1  # the status of a description that was asked for, and that nobody has stored
_DENIED_TOPICS: Final = (
    "The described group uses topics that the client is not authorized to describe."
)


def check_enabled(context: HandlerContext) -> None:
    """Demand that streams groups are on.

    Raises:
        UnsupportedVersion: they are off.

    Rule: U-01 (KafkaApis.isStreamsGroupProtocolEnabled).
    """
    cluster = context.cluster
    protocols = cluster.settings.group_coordinator_rebalance_protocols
    if _PROTOCOL not in protocols or cluster.features.get(STREAMS_VERSION, 0) <= 0:
        raise UnsupportedVersion


def _refusal(error: BrokerError) -> messages.StreamsGroupHeartbeatResponse:
    message = messages.StreamsGroupHeartbeatResponse
    return message(error_code=error.code, error_message=cut(error.message), status=[])


async def handle_heartbeat(context: HandlerContext, request: Request) -> Parts:
    """Keep a member in its group, and answer which tasks it runs.

    See: U-02, U-06 to U-19, X-51 (KafkaApis.handleStreamsGroupHeartbeat).
    """
    await wait_for_turn(context, request)
    body = decode(messages.StreamsGroupHeartbeatRequest, request)
    message = messages.StreamsGroupHeartbeatResponse
    try:
        check_enabled(context)
        check_group(context, body.group_id)
        if body.topology is not None:
            check_topology_size(body.topology)
            await _check_topics(context, body.topology)
    except BrokerError as error:
        response = _refusal(error)
        tell_group(context, request, body.group_id, response)
        return encode(message, response, request)
    members = context.groups.coordinator.streams
    told, ahead = await _prepared(context, members, request, body)
    event = partial(members.heartbeat, told=told, ahead=ahead)
    response = await ask_group(context, request, event, body, _refusal)
    await create_missing(context, request, body.group_id, response)
    return encode(message, response, request)


async def _prepared(
    context: HandlerContext,
    members: StreamsMembers,
    request: Request,
    body: messages.StreamsGroupHeartbeatRequest,
) -> tuple[ToldTopology | None, ConfiguredAhead | None]:
    """Make what the group needs of large topologies, and let others have their turn in between.

    Returns:
        The topology of the request, and that of the group with its topics; None if it is small, or
        not needed.

    See: U-07, U-12.
    """
    told = None
    if body.topology is not None and isinstance(request, LargeRequest):
        told = ToldTopology(body.topology)
    if told is None and not members.takes_long(body):
        return None, None
    async with in_lane(context, request):  # so that the steps of all members take turns
        return told, await in_slices(members.prepare(told, body))


async def _check_topics(
    context: HandlerContext, topology: "messages.StreamsGroupHeartbeatRequest.Topology"
) -> None:
    """Check the names of a topology's topics, and what the client may do with them.

    Raises:
        StreamsInvalidTopology: they are topics of Kafka itself, or no names of topics.
        TopicAuthorizationFailed: the client may not describe all of them.

    Rule: U-02 (KafkaApis.handleStreamsGroupHeartbeat).
    """
    names = list(dict.fromkeys(_names_of(topology.subtopologies)))
    internal = [name for name in names if name in INTERNAL_TOPICS]
    if internal:
        raise StreamsInvalidTopology(
            f"Use of Kafka internal topics {','.join(internal)} in a Kafka Streams topology is "
            "prohibited."
        )
    invalid = [name for name in names if not is_legal_topic_name(name)]
    if invalid:
        raise StreamsInvalidTopology(f"Topic names {','.join(invalid)} are not valid topic names.")
    if names and await denied_topics_in_turns(context, Operation.DESCRIBE, names):
        raise TopicAuthorizationFailed


def _names_of(
    subtopologies: "list[messages.StreamsGroupHeartbeatRequest.Subtopology]"
    " | list[messages.StreamsGroupDescribeResponse.Subtopology]",
) -> Iterator[str]:
    """Iterate over the topics of subtopologies, as requests and answers have them."""
    for each in subtopologies:
        yield from each.source_topics
        yield from each.repartition_sink_topics
        for topic in (*each.repartition_source_topics, *each.state_changelog_topics):
            yield topic.name


def _topic_names(
    group: "messages.StreamsGroupDescribeResponse.DescribedGroup",
) -> Iterable[str]:
    return () if group.topology is None else _names_of(group.topology.subtopologies or [])


def _ask(
    context: HandlerContext, group_id: str, is_foreign: bool, *, with_description: bool
) -> "messages.StreamsGroupDescribeResponse.DescribedGroup":
    admin = context.groups.coordinator.admin
    group = admin.describe_streams_group(group_id, is_foreign=is_foreign)
    if with_description and group.error_code == ErrorCode.NONE:
        group.topology_description_status = _NOT_STORED
    return group


async def handle_describe(context: HandlerContext, request: Request) -> Parts:
    """Describe streams groups; those that the client may not describe come first.

    See: U-23, X-53 (KafkaApis.handleStreamsGroupDescribe).
    """
    body = decode(messages.StreamsGroupDescribeRequest, request)
    message = messages.StreamsGroupDescribeResponse
    ask = partial(_ask, with_description=body.include_topology_description)
    kind = Kind(check_enabled, ask, message, message.DescribedGroup, _topic_names, _DENIED_TOPICS)
    groups = await describe_groups(context, body, request.api_version, kind)
    return await encode_long(message, message(groups=groups), request)
