"""FindCoordinator (10): which broker has a group or a transactional id.

- v1 has transactional ids and error_message; v4 takes several keys (KIP-699); v5 knows
  TRANSACTION_ABORTABLE (KIP-890); v6 has share groups (KIP-932).

The topic that holds the state is created by the first request that asks for its coordinator. Until
then requests about groups are answered with NOT_COORDINATOR.

A difference to Kafka: the first FindCoordinator is answered with the coordinator. Kafka answers
COORDINATOR_NOT_AVAILABLE until it has created the internal topic (G-23).

Not done: nothing that a client asks for.
"""

import logging
import re
from functools import partial
from typing import Final

from broker_lite.control.topics.internal_topics import (
    OFFSETS_TOPIC,
    SHARE_TOPIC,
    TRANSACTIONS_TOPIC,
)
from broker_lite.errors import (
    BrokerError,
    CoordinatorNotAvailable,
    ErrorCode,
    InvalidRequest,
    cause_of,
)
from broker_lite.handler.authorized import is_allowed, is_allowed_on_cluster
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.wire import messages

logger = logging.getLogger("broker_lite.handler")


_SEVERAL_KEYS_SINCE: Final = 4
_TOPICS: Final = (OFFSETS_TOPIC, TRANSACTIONS_TOPIC, SHARE_TOPIC)
"""The topics by key type: 0 is a group, 1 a transactional id, 2 a share partition."""
_RIGHTS: Final = (
    (ResourceType.GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED),
    (ResourceType.TRANSACTIONAL_ID, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
)
"""What a key is the name of, and the error if the client may not describe it."""
_SHARE_TYPE: Final = 2
_SHARE_SINCE: Final = 6
_SHARE_KEY: Final = re.compile(r"(.+):[A-Za-z0-9_-]{22}:(-?\d{1,10})", re.DOTALL)
"""A group id, a topic id and the index of a partition."""
_NO_NODE: Final = (-1, "", -1)
_MESSAGES: Final = {
    ErrorCode.NONE: "NONE",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Transactional Id authorization failed.",
    ErrorCode.INVALID_REQUEST: (
        "This most likely occurs because of a request being malformed by the client library or "
        "the message was sent to an incompatible broker. See the broker logs for more details."
    ),
}


async def handle(context: HandlerContext, request: Request) -> Parts:
    """Answer where the coordinators of groups or transactional ids are.

    Rule: G-20 to G-23.
    See: X-50.
    """
    body = decode(messages.FindCoordinatorRequest, request)
    find = partial(_find_allowed, context, body.key_type)
    if body.key_type == _SHARE_TYPE:
        find = partial(_find_share, context, request.api_version)
    elif context.authorizer is None:
        find = partial(_find, context, body.key_type, _topic_error(context, body.key_type))
    if request.api_version >= _SEVERAL_KEYS_SINCE:
        response = messages.FindCoordinatorResponse(
            coordinators=[
                _coordinator(key, *find(key), body.key_type) for key in body.coordinator_keys
            ]
        )
    else:
        node, error_code = find(body.key)
        response = messages.FindCoordinatorResponse(
            node_id=node[0],
            host=node[1],
            port=node[2],
            error_code=error_code,
            error_message=_MESSAGES[error_code],
        )
    return encode(messages.FindCoordinatorResponse, response, request)


def _find_allowed(
    context: HandlerContext, key_type: int, key: str
) -> tuple[tuple[int, str, int], ErrorCode]:
    """Do as _find(), if the client may describe the group or transactional id.

    Whoever may not does not cause the topic to be created.

    Rule: X-50, G-24 (KafkaApis.getCoordinator).
    """
    if 0 <= key_type < len(_RIGHTS):
        resource_type, denied = _RIGHTS[key_type]
        if not is_allowed(context, Operation.DESCRIBE, resource_type, key):
            return _NO_NODE, denied
    return _find(context, key_type, _topic_error(context, key_type), key)


def _find_share(
    context: HandlerContext, version: int, key: str
) -> tuple[tuple[int, str, int], ErrorCode]:
    """Do as _find() for the key of a share partition, which only brokers ask for.

    See: K-22 (SharePartitionKey.validate).
    """
    if not is_allowed_on_cluster(context, Operation.CLUSTER_ACTION):
        return _NO_NODE, ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    if version < _SHARE_SINCE or _SHARE_KEY.fullmatch(key) is None:
        return _NO_NODE, ErrorCode.INVALID_REQUEST
    return _find(context, _SHARE_TYPE, _topic_error(context, _SHARE_TYPE), key)


def _topic_error(context: HandlerContext, key_type: int) -> ErrorCode:
    try:
        _make_topic(context, key_type)
    except BrokerError as error:
        return error.code
    return ErrorCode.NONE


def _find(
    context: HandlerContext, key_type: int, error_code: ErrorCode, key: str
) -> tuple[tuple[int, str, int], ErrorCode]:
    """Return id and address of the broker that leads the key's partition.

    Rule: G-21, C-62 (KafkaApis.getCoordinator).
    """
    if error_code:
        return _NO_NODE, error_code
    view = context.metadata
    topic = view.topics.get(_TOPICS[key_type])
    topics = context.groups.topic, context.transactions.topic, context.groups.shares.log.topic
    index = topics[key_type].partition_of(key)
    if topic is None or index >= topic.partition_count:  # this broker's metadata is old
        return _NO_NODE, ErrorCode.COORDINATOR_NOT_AVAILABLE
    leader = topic.partitions[index].leader
    address = context.address_of(leader)
    broker = view.brokers.by_id.get(leader)
    if address is None or broker is None or broker.is_fenced:
        return _NO_NODE, ErrorCode.COORDINATOR_NOT_AVAILABLE
    return (leader, *address), ErrorCode.NONE


def _coordinator(
    key: str, node: tuple[int, str, int], error_code: ErrorCode, key_type: int
) -> "messages.FindCoordinatorResponse.Coordinator":
    is_odd = error_code is ErrorCode.INVALID_REQUEST and key_type != _SHARE_TYPE
    return messages.FindCoordinatorResponse.Coordinator(
        key=key,
        node_id=node[0],
        host=node[1],
        port=node[2],
        error_code=error_code,
        error_message=_MESSAGES[error_code] if is_odd else "",
    )


def _make_topic(context: HandlerContext, key_type: int) -> None:
    """Create the topic that holds the state of a type of coordinator, if it does not exist.

    Raises:
        InvalidRequest: there is no such type.
        CoordinatorNotAvailable: the topic cannot be created.
    """
    if not 0 <= key_type < len(_TOPICS):
        raise InvalidRequest
    name = _TOPICS[key_type]
    if name not in context.cluster.topics:
        try:
            context.cluster.create_topic(name)
        except BrokerError as error:
            reason = error.message or cause_of(error)
            context.client_log.write(
                *(logger, logging.ERROR, ("topic of a coordinator not made", name)),
                *("%s cannot be made, so nothing that needs it works reason=%s", name, reason),
            )
            raise CoordinatorNotAvailable from error
