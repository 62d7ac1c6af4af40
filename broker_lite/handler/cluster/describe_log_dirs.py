"""DescribeLogDirs (35): the size of each log, and the free space on its disk (KIP-113).

- v3 has a top-level error; v4 the bytes of the volume (KIP-827); v5 whether the directory is
  cordoned (KIP-1066), which it never is.

Sizes are those of the .log files. A partition that is not in use is measured without loading it.
The brokers of the process share the files of a partition; each tells of its own replicas. A replica
that is behind tells the size of what it has.

Not done: more than one directory, and partitions that move between them (is_future_key).
"""

import shutil
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.errors import ErrorCode, KafkaStorageError, UnknownTopicOrPartition
from broker_lite.handler.authorized import is_allowed_on_cluster
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.large import in_turns
from broker_lite.log.truncation import size_below
from broker_lite.security.acls.acl import Operation
from broker_lite.wire import messages

_ERROR_SINCE: Final = 3
_VOLUME_SINCE: Final = 4
_UNKNOWN_BYTES: Final = -1


async def handle(context: HandlerContext, request: Request) -> Parts:
    """Answer how much of the one data directory each partition of this broker takes.

    Rule: P-141 (ReplicaManager.describeLogDirs).
    See: X-59.
    """
    body = decode(messages.DescribeLogDirsRequest, request)
    cluster = context.cluster
    types = messages.DescribeLogDirsResponse
    if not is_allowed_on_cluster(context, Operation.DESCRIBE):
        response = types()
        if request.api_version >= _ERROR_SINCE:
            response.error_code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        return encode(types, response, request)
    result = types.DescribeLogDirsResult(log_dir=str(cluster.logs.data_dir.absolute()))
    asked = await _asked(cluster, body.topics)
    async for topic, indexes in in_turns(asked.items(), at_least=1):
        partitions: list[Any] = []
        async for index in in_turns(indexes):
            if cluster.has_replica(topic, index, context.node_id):
                partitions += _measure(cluster, topic, index, context.node_id)
        if partitions:
            result.topics.append(types.DescribeLogDirsTopic(name=topic, partitions=partitions))
    if request.api_version >= _VOLUME_SINCE:
        result.total_bytes, result.usable_bytes = _volume(cluster)
    response = types(results=[result])
    return encode(messages.DescribeLogDirsResponse, response, request)


async def _asked(cluster: Cluster, entries: Iterable[Any] | None) -> Mapping[str, Iterable[int]]:
    """Return the requested topics with their partitions; null asks for all of them."""
    if entries is None:
        return {topic.name: range(topic.partition_count) for topic in cluster.topics.values()}
    asked: dict[str, dict[int, None]] = {}
    async for entry in in_turns(entries):
        asked.setdefault(entry.topic, {}).update(dict.fromkeys(entry.partitions))
    return asked


def _measure(cluster: Cluster, topic: str, index: int, node_id: int) -> Iterator[Any]:
    """Yield the size of one replica; nothing if it cannot be read."""
    try:
        size_bytes = _size_bytes(cluster, topic, index, node_id)
    except UnknownTopicOrPartition:
        size_bytes = 0  # the partition has no directory before it is used
    except KafkaStorageError:
        return
    yield messages.DescribeLogDirsResponse.DescribeLogDirsPartition(
        partition_index=index, partition_size=size_bytes, offset_lag=0
    )


def _size_bytes(cluster: Cluster, topic: str, index: int, node_id: int) -> int:
    log = cluster.loaded_log(topic, index)
    replicas = None if log is None else log.visibility.replicas
    if log is not None and replicas is not None and node_id in replicas.behind:
        return size_below(log, replicas.end_of(node_id))
    return cluster.logs.size_bytes(topic, index)


def _volume(cluster: Cluster) -> tuple[int, int]:
    """Return total and free bytes of the file system, -1 if they are unknown."""
    try:
        usage = shutil.disk_usage(cluster.logs.data_dir)
    except OSError:
        return _UNKNOWN_BYTES, _UNKNOWN_BYTES
    return usage.total, usage.free
