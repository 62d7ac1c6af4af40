"""AlterReplicaLogDirs (34): move replicas between the data directories of a broker.

There is one data directory, so a replica is either already in it or cannot be moved.

Not done: a second data directory.
"""

from broker_lite.errors import ErrorCode
from broker_lite.handler.authorized import is_allowed_on_cluster
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.large import in_turns
from broker_lite.security.acls.acl import Operation
from broker_lite.wire import messages


async def handle(context: HandlerContext, request: Request) -> Parts:
    """Answer for each replica that it is in the requested directory, or that there is no such one.

    Rule: P-142.
    See: X-60.
    """
    body = decode(messages.AlterReplicaLogDirsRequest, request)
    data_dir = str(context.cluster.logs.data_dir.absolute())
    # if the request names a partition several times, its last directory counts
    targets: dict[str, dict[int, str]] = {}
    entries = ((directory.path, topic) for directory in body.dirs for topic in directory.topics)
    async for path, topic in in_turns(entries):
        of_topic = targets.setdefault(topic.name, {})
        of_topic.update(dict.fromkeys(topic.partitions, path))
    types = messages.AlterReplicaLogDirsResponse
    response = types()
    if not is_allowed_on_cluster(context, Operation.ALTER):
        response.results = [
            types.AlterReplicaLogDirTopicResult(
                topic_name=topic.name,
                partitions=[
                    types.AlterReplicaLogDirPartitionResult(
                        partition_index=index, error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED
                    )
                    for index in topic.partitions
                ],
            )
            for directory in body.dirs
            for topic in directory.topics
        ]
        return encode(types, response, request)
    async for name, paths in in_turns(targets.items(), at_least=1):
        result = types.AlterReplicaLogDirTopicResult(topic_name=name)
        async for index, path in in_turns(paths.items()):
            error_code = ErrorCode.LOG_DIR_NOT_FOUND
            if path == data_dir:
                error_code = _there(context, name, index)
            result.partitions.append(
                types.AlterReplicaLogDirPartitionResult(
                    partition_index=index, error_code=error_code
                )
            )
        response.results.append(result)
    return encode(messages.AlterReplicaLogDirsResponse, response, request)


def _there(context: HandlerContext, name: str, index: int) -> ErrorCode:
    topic = context.cluster.topics.get(name)
    if topic is None or not 0 <= index < topic.partition_count:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if context.node_id not in topic.partitions[index].replicas:
        return ErrorCode.REPLICA_NOT_AVAILABLE
    return ErrorCode.NONE
