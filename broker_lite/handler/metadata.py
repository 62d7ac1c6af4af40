"""Metadata (3), versions 0-13.

Topics are created on demand here, at once: two clients that ask at the same time for a topic that
is not there get one topic, and both get it in their first answer (P-86).

- v0 lists all topics for an empty array; v1 for null, an empty array lists none; v1 adds rack,
  controller, is_internal.
- v2 cluster id; v3 throttle time; v4 allow_auto_topic_creation; v5 offline replicas (KIP-112).
- v7 leader epoch (KIP-320); v8 authorized operations (KIP-430), those of the cluster gone in v11.
- v10 topic ids in the answer, v12 also in the request (KIP-516); v13 a top-level error (KIP-1102).

Not done: creating Kafka's internal topics on demand, which are made by who keeps state in them;
errors of a leader that is down or has no such listener (P-90), since the one broker is up.
"""

import logging
from collections.abc import Sequence
from typing import Any, Final

from broker_lite.control.cluster import Cluster
from broker_lite.control.names import INTERNAL_TOPICS, is_legal_topic_name
from broker_lite.control.topic import Topic
from broker_lite.control.topic_rules import NewTopic
from broker_lite.errors import BrokerError, ErrorCode, KafkaStorageError, cause_of
from broker_lite.handler.authorized import CLUSTER_OPERATIONS, TOPIC_OPERATIONS, if_asked
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.create_topics import make_logs
from broker_lite.wire import ZERO_UUID, messages

MIN_VERSION: Final = 0
MAX_VERSION: Final = 13

_NULL_IS_ALL_SINCE: Final = 1
_TOPIC_IDS_SINCE: Final = 12
_CLUSTER_OPERATIONS_VERSIONS: Final = range(8, 11)

_log = logging.getLogger("broker_lite.handler")


async def handle(context: HandlerContext, request: Request) -> Parts:
    """Describe brokers and topics.

    Rule: P-80 to P-88.
    """
    body = decode(messages.MetadataRequest, request)
    version = request.api_version
    error = None if body.topics is None else _request_error(body.topics, version)
    if error is not None:
        return encode(messages.MetadataResponse, _refusal(body.topics, error), request)
    response = _cluster_part(context)
    if version in _CLUSTER_OPERATIONS_VERSIONS:
        response.cluster_authorized_operations = if_asked(
            body.include_cluster_authorized_operations, CLUSTER_OPERATIONS
        )
    operations = if_asked(body.include_topic_authorized_operations, TOPIC_OPERATIONS)
    if body.allow_auto_topic_creation and context.settings.auto_create_topics_enable:
        await _create_missing(context.cluster, body.topics or ())
    response.topics = _topics(context.cluster, body, version, operations)
    return encode(messages.MetadataResponse, response, request)


def _request_error(entries: Sequence[Any], version: int) -> ErrorCode | None:
    """The error that fails the whole request.

    Rule: P-88.
    """
    has_null_name = any(entry.name is None for entry in entries)
    has_id = any(entry.topic_id != ZERO_UUID for entry in entries)
    if version < _TOPIC_IDS_SINCE:
        return ErrorCode.INVALID_REQUEST if has_null_name or has_id else None
    # entries are looked up by name only when none has an id: then a null name is one too many
    return ErrorCode.UNKNOWN_SERVER_ERROR if has_null_name and not has_id else None


def _refusal(entries: Sequence[Any], error: ErrorCode) -> Any:
    topic = messages.MetadataResponse.MetadataResponseTopic
    return messages.MetadataResponse(
        error_code=int(error),
        topics=[
            topic(error_code=int(error), name=entry.name or "", topic_id=entry.topic_id)
            for entry in entries
        ],
    )


def _cluster_part(context: HandlerContext) -> Any:
    """Brokers, cluster id and controller; the address is that of the client's listener.

    Rule: P-75, P-83.
    """
    cluster = context.cluster
    host, port = context.advertised_address()
    broker = messages.MetadataResponse.MetadataResponseBroker(
        node_id=cluster.node_id, host=host, port=port, rack=cluster.rack
    )
    return messages.MetadataResponse(
        brokers=[broker], cluster_id=cluster.cluster_id, controller_id=cluster.node_id
    )


def _topics(cluster: Cluster, body: Any, version: int, operations: int) -> list[Any]:
    """The topics asked for, each once.

    Rule: P-80, P-81, P-87.
    """
    entries = body.topics
    if entries is None or (version < _NULL_IS_ALL_SINCE and not entries):
        return [_describe(topic, cluster.node_id, operations) for topic in cluster.topics.values()]
    ids = dict.fromkeys(entry.topic_id for entry in entries if entry.topic_id != ZERO_UUID)
    if ids:
        return [_by_id(cluster, topic_id, operations) for topic_id in ids]
    names = dict.fromkeys(entry.name for entry in entries)
    return [_by_name(cluster, name, operations) for name in names]


def _by_id(cluster: Cluster, topic_id: bytes, operations: int) -> Any:
    topic = cluster.topics_by_id.get(topic_id)
    if topic is None:
        return messages.MetadataResponse.MetadataResponseTopic(
            error_code=int(ErrorCode.UNKNOWN_TOPIC_ID), name=None, topic_id=topic_id
        )
    return _describe(topic, cluster.node_id, operations)


def _by_name(cluster: Cluster, name: str, operations: int) -> Any:
    topic = cluster.topics.get(name)
    if topic is not None:
        return _describe(topic, cluster.node_id, operations)
    error = (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if is_legal_topic_name(name)
        else ErrorCode.INVALID_TOPIC_EXCEPTION
    )
    return messages.MetadataResponse.MetadataResponseTopic(
        error_code=int(error),
        name=name,
        is_internal=name in INTERNAL_TOPICS,
        topic_authorized_operations=operations,
    )


async def _create_missing(cluster: Cluster, entries: Sequence[Any]) -> None:
    """Create topics on demand, as one change; one that cannot be is "unknown" to the client.

    Rule: P-85, P-86, P-87.
    """
    if any(entry.topic_id != ZERO_UUID for entry in entries):
        return
    plans = []
    for name in dict.fromkeys(entry.name for entry in entries):
        if name in cluster.topics or name in INTERNAL_TOPICS or not is_legal_topic_name(name):
            continue
        try:
            plans.append(cluster.plan_topic(NewTopic(name)))
        except BrokerError as error:
            _log.warning("topic %s not created on demand: %s", name, error.message)
    try:
        topics = cluster.create_topics(plans)
    except KafkaStorageError as error:
        _log.warning("topics not created on demand: %s", cause_of(error))
        return
    for topic in topics:
        await make_logs(cluster, topic, 0)


def _describe(topic: Topic, node_id: int, operations: int) -> Any:
    """A topic whose partitions all live on this node.

    Rule: P-82, P-89.
    """
    partition = messages.MetadataResponse.MetadataResponsePartition
    replicas = [node_id]
    return messages.MetadataResponse.MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        topic_authorized_operations=operations,
        partitions=[
            partition(
                partition_index=index,
                leader_id=node_id,
                leader_epoch=leader_epoch,
                replica_nodes=replicas,
                isr_nodes=replicas,
            )
            for index, leader_epoch in enumerate(topic.leader_epochs)
        ],
    )
