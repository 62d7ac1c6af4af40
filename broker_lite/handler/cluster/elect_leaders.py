"""ElectLeaders (43): make the preferred replica, or any other one, the leader.

- v1 adds the type of the election and a top-level error (KIP-460).

Each partition has one replica, which is the leader, so no election is ever needed.

Not done: timeout_ms, because the answer waits for nothing.
"""

from typing import Final

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.errors import ErrorCode
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.wire import messages

_ELECTION_TYPES: Final = (0, 1)
_NOT_NEEDED: Final = "Leader election not needed for topic partition."


async def handle(context: HandlerContext, request: Request) -> Parts:
    """Answer that no partition needs an election.

    Rule: P-146 (ReplicationControlManager.electLeaders).
    """
    body = decode(messages.ElectLeadersRequest, request)
    cluster = context.cluster
    types = messages.ElectLeadersResponse
    response = types()
    is_known_type = body.election_type in _ELECTION_TYPES
    if body.topic_partitions is None:
        # If the request asks for all partitions, Kafka answers only those whose leader changed.
        names = list(cluster.topics) if is_known_type else []
        response.replica_election_results = [
            types.ReplicaElectionResult(topic=name) for name in names
        ]
    else:
        unknown = None if is_known_type else f"Unknown election type {body.election_type}"
        response.replica_election_results = [
            types.ReplicaElectionResult(
                topic=asked.topic,
                partition_result=[
                    _result(cluster, asked.topic, index, unknown) for index in asked.partitions
                ],
            )
            for asked in body.topic_partitions
        ]
    if not is_known_type and body.topic_partitions != []:
        response.error_code = ErrorCode.INVALID_REQUEST
    return encode(messages.ElectLeadersResponse, response, request)


def _result(
    cluster: Cluster, name: str, index: int, unknown_type: str | None
) -> "messages.ElectLeadersResponse.PartitionResult":
    topic = cluster.topics.get(name)
    if unknown_type is not None:
        code, text = ErrorCode.INVALID_REQUEST, unknown_type
    elif topic is None:
        code, text = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}"
    elif not 0 <= index < topic.partition_count:
        code, text = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{index}"
    else:
        code, text = ErrorCode.ELECTION_NOT_NEEDED, _NOT_NEEDED
    return messages.ElectLeadersResponse.PartitionResult(
        partition_id=index, error_code=code, error_message=text
    )
