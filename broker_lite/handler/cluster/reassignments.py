"""AlterPartitionReassignments (45), ListPartitionReassignments (46): move replicas.

- AlterPartitionReassignments: v1 adds allow_replication_factor_change.

With one broker, a partition can be reassigned only to the broker where it is, which is done at
once. So there is never a reassignment to list or to cancel.

Not done: timeout_ms, because the answer waits for nothing.
"""

from broker_lite.control.metadata.brokers import BrokerRegistrations
from broker_lite.control.metadata.topic import Topic
from broker_lite.control.topics.topic_rules import check_assignment
from broker_lite.errors import BrokerError, ErrorCode
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.wire import messages


async def handle_alter(context: HandlerContext, request: Request) -> Parts:
    """Check whether partitions can be on the requested brokers.

    Rule: P-147 (ReplicationControlManager.alterPartitionReassignments).
    """
    body = decode(messages.AlterPartitionReassignmentsRequest, request)
    cluster = context.cluster
    types = messages.AlterPartitionReassignmentsResponse
    response = types(
        # if there is nothing to do, Kafka answers with the defaults of the message
        error_message=None if body.topics else "",
        responses=[
            types.ReassignableTopicResponse(
                name=asked.name,
                partitions=[
                    _result(asked.name, cluster.topics.get(asked.name), one, cluster.brokers)
                    for one in asked.partitions
                ],
            )
            for asked in body.topics
        ],
    )
    if request.api_version > 0 and body.topics:
        response.allow_replication_factor_change = body.allow_replication_factor_change
    return encode(messages.AlterPartitionReassignmentsResponse, response, request)


def _result(
    name: str,
    topic: Topic | None,
    asked: "messages.AlterPartitionReassignmentsRequest.ReassignablePartition",
    brokers: BrokerRegistrations,
) -> "messages.AlterPartitionReassignmentsResponse.ReassignablePartitionResponse":
    index, text = asked.partition_index, None
    if topic is None:
        code: int = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        text = f"Unable to find a topic named {name}."
    elif not 0 <= index < topic.partition_count:
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        text = f"Unable to find partition {name}:{index}."
    elif asked.replicas is None:
        code = ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    else:
        code, text = _check(asked.replicas, brokers)
    return messages.AlterPartitionReassignmentsResponse.ReassignablePartitionResponse(
        partition_index=index, error_code=code, error_message=text
    )


def _check(replicas: list[int], brokers: BrokerRegistrations) -> tuple[int, str | None]:
    try:
        check_assignment(replicas, None, brokers)
    except BrokerError as error:
        return error.code, error.message
    return ErrorCode.NONE, None


async def handle_list(context: HandlerContext, request: Request) -> Parts:
    """Answer that no partition is being moved.

    Rule: P-148.
    """
    decode(messages.ListPartitionReassignmentsRequest, request)
    response = messages.ListPartitionReassignmentsResponse(error_message=None)
    return encode(messages.ListPartitionReassignmentsResponse, response, request)
