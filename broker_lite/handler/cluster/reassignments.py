"""AlterPartitionReassignments (45), ListPartitionReassignments (46): move replicas.

- AlterPartitionReassignments: v1 adds allow_replication_factor_change.

A reassignment to brokers that are alive is complete when its request is answered. So it is listed,
and can be cancelled, only while one of its new brokers is gone or the partition has no leader.

Not done: timeout_ms, because the answer waits for nothing.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.cluster.controller import Alteration
from broker_lite.control.cluster.reassigning import is_in_progress, plan_reassignment
from broker_lite.control.metadata.topic import Topic
from broker_lite.errors import BrokerError, ClusterAuthorizationFailed, KafkaStorageError
from broker_lite.handler.authorized import check_cluster
from broker_lite.handler.codec import code_and_message, decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.large import in_turns, some_at_a_time
from broker_lite.security.acls.acl import Operation
from broker_lite.wire import messages

PARTITIONS_AT_A_TIME: Final = 256
"""So many reassignments are one change of the metadata."""


class _Asked(NamedTuple):
    """One partition of the request; its result is added to `results`."""

    results: list[Any]
    topic: str
    partition: int
    replicas: Sequence[int] | None


async def handle_alter(context: HandlerContext, request: Request) -> Parts:
    """Move partitions to other brokers, or cancel that.

    Rule: P-147 (ReplicationControlManager.alterPartitionReassignments).
    See: C-44, C-45, X-60.
    """
    body = decode(messages.AlterPartitionReassignmentsRequest, request)
    types = messages.AlterPartitionReassignmentsResponse
    response = types(
        # if there is nothing to do, Kafka answers with the defaults of the message
        error_message=None if body.topics else "",
        responses=[types.ReassignableTopicResponse(name=asked.name) for asked in body.topics],
    )
    try:
        check_cluster(context, Operation.ALTER)
    except ClusterAuthorizationFailed as error:
        _refuse(body, response, error)
        return encode(types, response, request)
    may_change_factor = True
    if request.api_version > 0 and body.topics:
        may_change_factor = body.allow_replication_factor_change
        response.allow_replication_factor_change = may_change_factor
    asked_ones = (
        _Asked(told.partitions, topic.name, one.partition_index, one.replicas)
        for topic, told in zip(body.topics, response.responses, strict=True)
        for one in topic.partitions
    )
    async for some in in_turns(some_at_a_time(asked_ones, PARTITIONS_AT_A_TIME), at_least=1):
        _reassign(context.cluster, some, may_change_factor=may_change_factor)
    return encode(messages.AlterPartitionReassignmentsResponse, response, request)


def _refuse(
    body: messages.AlterPartitionReassignmentsRequest,
    response: messages.AlterPartitionReassignmentsResponse,
    error: BrokerError,
) -> None:
    """Answer each partition, and the whole request, with an error."""
    result = messages.AlterPartitionReassignmentsResponse.ReassignablePartitionResponse
    told = code_and_message(error)
    response.error_code, response.error_message = told["error_code"], told["error_message"]
    for asked, topic in zip(body.topics, response.responses, strict=True):
        topic.partitions = [
            result(partition_index=one.partition_index, **told) for one in asked.partitions
        ]


def _reassign(cluster: Cluster, some: Sequence[_Asked], *, may_change_factor: bool) -> None:
    """Move some partitions, and add their results; if one is named again, its first move counts."""
    altered: dict[tuple[str, int], Alteration] = {}
    outcomes: list[BrokerError | None] = []
    for asked in some:
        try:
            alteration = plan_reassignment(
                cluster,
                asked.topic,
                asked.partition,
                asked.replicas,
                may_change_factor=may_change_factor,
            )
        except BrokerError as error:
            outcomes.append(error.with_traceback(None))
        else:
            altered.setdefault((asked.topic, asked.partition), alteration)
            outcomes.append(None)
    try:
        cluster.controller.alter_all(altered.values())
    except KafkaStorageError as error:
        outcomes = [outcome or error for outcome in outcomes]
    result = messages.AlterPartitionReassignmentsResponse.ReassignablePartitionResponse
    for asked, outcome in zip(some, outcomes, strict=True):
        asked.results.append(result(partition_index=asked.partition, **code_and_message(outcome)))


async def handle_list(context: HandlerContext, request: Request) -> Parts:
    """List the partitions that are being reassigned.

    Rule: P-148 (ReplicationControlManager.listPartitionReassignments).
    See: X-59.
    """
    body = decode(messages.ListPartitionReassignmentsRequest, request)
    topics = context.cluster.topics
    if body.topics is None:
        asked: Iterable[tuple[Topic | None, Iterable[int]]] = [
            (topic, range(topic.partition_count)) for topic in topics.values()
        ]
    else:
        asked = [(topics.get(one.name), one.partition_indexes) for one in body.topics]
    types = messages.ListPartitionReassignmentsResponse
    response = types(error_message=None)
    try:
        check_cluster(context, Operation.DESCRIBE)
    except ClusterAuthorizationFailed as error:
        response = types(**code_and_message(error))
        response.topics = [
            types.OngoingTopicReassignment(
                name=one.name,
                partitions=[
                    types.OngoingPartitionReassignment(partition_index=index)
                    for index in one.partition_indexes
                ],
            )
            for one in body.topics or ()
        ]
        return encode(types, response, request)
    async for topic, indexes in in_turns(asked, at_least=1):
        ongoing = [] if topic is None else _ongoing(topic, indexes)
        if topic is not None and ongoing:
            response.topics.append(
                types.OngoingTopicReassignment(name=topic.name, partitions=ongoing)
            )
    return encode(messages.ListPartitionReassignmentsResponse, response, request)


def _ongoing(topic: Topic, indexes: Iterable[int]) -> list[Any]:
    types = messages.ListPartitionReassignmentsResponse
    return [
        types.OngoingPartitionReassignment(
            partition_index=index,
            replicas=list(partition.replicas),
            adding_replicas=list(partition.adding),
            removing_replicas=list(partition.removing),
        )
        for index in indexes
        if 0 <= index < topic.partition_count
        and is_in_progress(partition := topic.partitions[index])
    ]
