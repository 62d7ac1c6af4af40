"""Creates the internal topics of a streams group that a heartbeat has found missing.

What could not be created is not tried again for two heartbeat intervals, as in Kafka; the answers
tell until then why it failed.

A difference to Kafka: internal topics of a streams group exist when the heartbeat is answered, and
the answer says which could not be created. Kafka creates them beside the answer, and tells what
failed with a later one.

A difference to Kafka: internal topics of a streams group that could not be created are remembered
together, for two heartbeat intervals or until others are missing. Kafka remembers up to 1,000
topics of all groups, one by one.

As for CreateTopics, one heartbeat may ask for 10,000 partitions, and many topics are created some
at a time. Only one heartbeat of the node does that at a time: others of the group find the topics,
or what failed.
"""

import logging
from collections.abc import Sequence
from itertools import islice
from typing import Final

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.topics.topic_rules import USE_DEFAULT, NewTopic, check_partition_total
from broker_lite.coordinator.streams.configured import StatusCode
from broker_lite.coordinator.streams.group import NotCreated, StreamsGroup
from broker_lite.coordinator.streams.topology import TopicInfo
from broker_lite.coordinator.texts import cut
from broker_lite.errors import BrokerError, PolicyViolation, cause_of
from broker_lite.handler.authorized import is_allowed_on_cluster
from broker_lite.handler.context import HandlerContext, Request
from broker_lite.handler.denied import denied_topics_in_turns
from broker_lite.handler.large import in_lane, in_slices, in_turns
from broker_lite.handler.topics.charged import mutation_quota
from broker_lite.handler.topics.create_topics import (
    AHEAD_FROM,
    TOPICS_AT_A_TIME,
    make_logs,
    some_at_a_time,
)
from broker_lite.security.acls.acl import Operation
from broker_lite.wire import messages

_log = logging.getLogger("broker_lite.handler")

_SHOWN_MAX: Final = 3
_INTERVALS_UNTIL_NEXT_TRY: Final = 2


async def create_missing(
    context: HandlerContext,
    request: Request,
    group_id: str,
    response: messages.StreamsGroupHeartbeatResponse,
) -> None:
    """Create what is missing, if an answer says that internal topics are.

    Args:
        context: of the connection; its client has to have the right to create the topics.
        request: the heartbeat.
        group_id: of the group.
        response: its status tells what could not be created, and why.

    Rule: U-24 (KafkaApis.handleStreamsGroupHeartbeat).
    See: P-102.
    """
    found = [
        each
        for each in response.status or ()
        if each.status_code == StatusCode.MISSING_INTERNAL_TOPICS
    ]
    group = context.groups.coordinator.registry.streams(group_id)
    if not found or group is None:
        return
    (status,) = found
    what = await _create_unless_failed(context, request, group, group.missing)
    status.status_detail = cut(status.status_detail + what) or ""


async def _create_unless_failed(
    context: HandlerContext, request: Request, group: StreamsGroup, wanted: Sequence[TopicInfo]
) -> str:
    """Create topics; return what the status tells besides: what could not be created, and why."""
    denied = await _denied(context, wanted)
    if denied:
        return f"; Unauthorized to CREATE on topics {', '.join(denied)}."
    told = _failed_before(context, group, wanted)
    if told is not None:
        return told
    if len(wanted) <= TOPICS_AT_A_TIME:
        return await _create_all(context, request, group, wanted)
    async with in_lane(context, request):
        # a heartbeat that this one has waited for may have tried to create the same topics
        told = _failed_before(context, group, wanted)
        return await _create_all(context, request, group, wanted) if told is None else told


def _failed_before(
    context: HandlerContext, group: StreamsGroup, wanted: Sequence[TopicInfo]
) -> str | None:
    """Return what the status tells of topics that are not tried again yet; None if they are."""
    last, topics = group.not_created, context.cluster.topics
    if last is None:
        return None
    missing = [topic.name for topic in wanted if topic.name not in topics]
    return last.text if last.holds(missing, context.clock.steady_ms()) else None


async def _create_all(
    context: HandlerContext, request: Request, group: StreamsGroup, wanted: Sequence[TopicInfo]
) -> str:
    # a heartbeat that this one has waited for may have created some
    missing = [topic for topic in wanted if topic.name not in context.cluster.topics]
    failed = await _try_all(context, request, missing)
    if not failed:
        group.not_created = None
        return ""
    first = [f"{name} ({why})" for name, why in islice(failed.items(), _SHOWN_MAX)]
    more = len(failed) - len(first)
    shown = ", ".join(first) + (f" and {more} more" if more else "")
    text = cut(f"; Creation failed: {shown}.") or ""
    names = tuple(topic.name for topic in missing if topic.name in failed)
    wait_ms = _INTERVALS_UNTIL_NEXT_TRY * group.settings.streams_heartbeat_interval_ms
    group.not_created = NotCreated(names, text, context.clock.steady_ms() + wait_ms)
    return text


async def _try_all(
    context: HandlerContext, request: Request, topics: Sequence[TopicInfo]
) -> dict[str, str]:
    """Create topics; return what failed, and why."""
    try:
        check_partition_total([topic.partition_count for topic in topics])
    except PolicyViolation as error:
        return dict.fromkeys([topic.name for topic in topics], error.message or error.code.name)
    failed: dict[str, str] = {}
    parts = some_at_a_time(topics, lambda topic: topic.partition_count)
    async for some in in_turns(parts, at_least=1):
        failed |= await _create(context, request, some)
    return failed


async def _denied(context: HandlerContext, topics: Sequence[TopicInfo]) -> list[str]:
    """Return the topics that the client may not create, in their order."""
    if is_allowed_on_cluster(context, Operation.CREATE):
        return []
    names = [topic.name for topic in topics]
    denied = await denied_topics_in_turns(context, Operation.CREATE, names)
    return [name for name in names if name in denied]


async def _new_topics(cluster: Cluster, topics: Sequence[TopicInfo]) -> list[NewTopic]:
    """Return what is wanted of some topics, with their places if they have many partitions."""
    new_topics = [
        NewTopic(
            topic.name,
            topic.partition_count,
            topic.replication_factor or USE_DEFAULT,
            configs=topic.configs,
        )
        for topic in topics
    ]
    if sum(topic.partition_count for topic in topics) <= AHEAD_FROM:
        return new_topics
    return [
        new._replace(ahead=await in_slices(cluster.place_topic_ahead(new))) for new in new_topics
    ]


async def _create(
    context: HandlerContext, request: Request, topics: Sequence[TopicInfo]
) -> dict[str, str]:
    """Create topics as one change, except those that exist; return what failed, and why."""
    cluster, failed, plans = context.cluster, dict[str, str](), []
    quota = mutation_quota(context, request, strict_since=0)
    for new in await _new_topics(cluster, topics):
        if new.name in cluster.topics:
            continue
        try:
            plan = cluster.plan_topic(new)
            if quota is not None:
                quota.record(plan.partition_count)
            plans.append(plan)
        except BrokerError as error:
            failed[new.name] = error.message or error.code.name
    try:
        created = cluster.create_topics(plans) if plans else []
    except BrokerError as error:
        _log.warning("internal topics not created: %s", cause_of(error))
        why = error.message or error.code.name
        return failed | dict.fromkeys([plan.name for plan in plans], why)
    for made in created:
        await make_logs(cluster, made, 0)
    return failed
