"""DescribeQuorum (55): the leader of the metadata log, and how far its voters have read.

- v1 adds timestamps (KIP-836); v2 error messages, directory ids and addresses (KIP-853).

The one voter is the first broker, in whose data directory the metadata log is. The other brokers
that are alive are observers: they read this log. A cluster of one combined node and some brokers
answers the same. The others are not voters, because no majority is needed: the metadata is there as
long as the process is, whichever of its brokers are down.

Not done: other voters.

A difference to Kafka: the answer to DescribeQuorum has no address of the voter, because there is
no listener for controllers.
"""

from typing import Final

from broker_lite.errors import ClusterAuthorizationFailed, ErrorCode
from broker_lite.handler.authorized import check_cluster
from broker_lite.handler.codec import code_and_message, decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.large import in_turns
from broker_lite.log.files.names import METADATA_TOPIC
from broker_lite.security.acls.acl import Operation
from broker_lite.wire import messages

_TIMES_SINCE: Final = 1
_NODES_SINCE: Final = 2
_NOT_HERE: Final = "This server does not host this topic-partition."


async def handle(context: HandlerContext, request: Request) -> Parts:
    """Answer that the first broker is the leader and the only voter, and the others observe.

    Rule: P-149 (KafkaRaftClient.handleDescribeQuorumRequest).
    See: X-59.
    """
    body = decode(messages.DescribeQuorumRequest, request)
    version = request.api_version
    types = messages.DescribeQuorumResponse
    try:
        check_cluster(context, Operation.DESCRIBE)
    except ClusterAuthorizationFailed as error:
        response = types(**code_and_message(error))
        if version < _NODES_SINCE:
            response.error_message = ""
        return encode(types, response, request)
    is_about_it = [
        (topic.topic_name, [one.partition_index for one in topic.partitions[:2]])
        for topic in body.topics[:2]
    ] == [(METADATA_TOPIC, [0])]
    if is_about_it:
        topics = [types.TopicData(topic_name=METADATA_TOPIC, partitions=[_told(context, version)])]
    else:
        topics = [
            types.TopicData(
                topic_name=topic.topic_name,
                partitions=[
                    _refused(one.partition_index, version)
                    async for one in in_turns(topic.partitions)
                ],
            )
            async for topic in in_turns(body.topics, at_least=1)
        ]
    response = types(topics=topics)
    if is_about_it and version >= _NODES_SINCE:
        response.nodes = [types.Node(node_id=context.cluster.node_id)]
    return encode(messages.DescribeQuorumResponse, response, request)


def _told(context: HandlerContext, version: int) -> "messages.DescribeQuorumResponse.PartitionData":
    types = messages.DescribeQuorumResponse
    cluster = context.cluster
    end_offset = cluster.features_epoch + 1
    now_ms = context.clock.now_ms() if version >= _TIMES_SINCE else -1

    def replica(node_id: int) -> "messages.DescribeQuorumResponse.ReplicaState":
        return types.ReplicaState(
            replica_id=node_id,
            log_end_offset=end_offset,
            last_fetch_timestamp=now_ms,
            last_caught_up_timestamp=now_ms,
        )

    observers = [one.node_id for one in cluster.brokers.alive() if one.node_id != cluster.node_id]
    return types.PartitionData(
        partition_index=0,
        leader_id=cluster.node_id,
        leader_epoch=cluster.metadata_leader_epoch,
        high_watermark=end_offset,
        current_voters=[replica(cluster.node_id)],
        observers=list(map(replica, observers)),
    )


def _refused(index: int, version: int) -> "messages.DescribeQuorumResponse.PartitionData":
    return messages.DescribeQuorumResponse.PartitionData(
        partition_index=index,
        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        error_message=_NOT_HERE if version >= _NODES_SINCE else "",
    )
