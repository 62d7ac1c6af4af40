"""Creates the internal topics of a streams group that a heartbeat has found missing.

A difference to Kafka: the topics exist when the heartbeat is answered, and the answer says which
could not be created. Kafka creates them beside the answer, tells what failed with a later one, and
does not try that again for two heartbeat intervals.
"""

import logging
from collections.abc import Sequence
from typing import Final

from broker_lite.control.topics.topic_rules import USE_DEFAULT, NewTopic
from broker_lite.coordinator.streams.configured import StatusCode
from broker_lite.coordinator.streams.topology import TopicInfo
from broker_lite.errors import BrokerError, cause_of
from broker_lite.handler.authorized import is_allowed, is_allowed_on_cluster
from broker_lite.handler.context import HandlerContext, Request
from broker_lite.handler.topics.charged import mutation_quota
from broker_lite.handler.topics.create_topics import make_logs, some_at_a_time
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.wire import messages

_log = logging.getLogger("broker_lite.handler")

_SHOWN_MAX: Final = 3


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
    (status,), missing = found, group.missing
    denied = _denied(context, missing)
    if denied:
        status.status_detail += f"; Unauthorized to CREATE on topics {', '.join(denied)}."
        return
    failed = []
    for some in some_at_a_time(missing, lambda topic: topic.partition_count):
        failed += await _create(context, request, some)
    if failed:
        shown = ", ".join(failed[:_SHOWN_MAX])
        more = len(failed) - _SHOWN_MAX
        shown += f" and {more} more" if more > 0 else ""
        status.status_detail += f"; Creation failed: {shown}."


def _denied(context: HandlerContext, topics: Sequence[TopicInfo]) -> list[str]:
    if is_allowed_on_cluster(context, Operation.CREATE):
        return []
    names = [topic.name for topic in topics]
    return [
        name
        for name in names
        if not is_allowed(context, Operation.CREATE, ResourceType.TOPIC, name)
    ]


async def _create(
    context: HandlerContext, request: Request, topics: Sequence[TopicInfo]
) -> list[str]:
    """Create topics as one change, except those that exist; return what failed, and why."""
    cluster, failed, plans = context.cluster, [], []
    quota = mutation_quota(context, request, strict_since=0)
    for topic in topics:
        if topic.name in cluster.topics:
            continue
        factor = topic.replication_factor or USE_DEFAULT
        new = NewTopic(topic.name, topic.partition_count, factor, configs=topic.configs)
        try:
            plan = cluster.plan_topic(new)
            if quota is not None:
                quota.record(plan.partition_count)
            plans.append(plan)
        except BrokerError as error:
            failed.append(f"{topic.name} ({error.message or error.code.name})")
    try:
        created = cluster.create_topics(plans) if plans else []
    except BrokerError as error:
        _log.warning("internal topics not created: %s", cause_of(error))
        return failed + [f"{plan.name} ({error.message or error.code.name})" for plan in plans]
    for made in created:
        await make_logs(cluster, made, 0)
    return failed
