"""ListConfigResources (74): the names of resources that have configs.

- v0 is about client metrics only (KIP-1000); v1 takes types, an empty list means all (KIP-1142).

Not done: nothing that a client asks for.
"""

from typing import Final

from broker_lite.control.metadata.image import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from broker_lite.errors import ErrorCode
from broker_lite.handler.authorized import is_allowed_on_cluster
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.configs.broker_loggers import BROKER_LOGGER_RESOURCE
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.security.acls.acl import Operation
from broker_lite.wire import messages

_TYPES: Final = (
    TOPIC_RESOURCE,
    BROKER_RESOURCE,
    BROKER_LOGGER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
)
_TYPES_SINCE: Final = 1


async def handle(context: HandlerContext, request: Request) -> Parts:
    """List resources of some types.

    Rule: P-130 (KafkaApis.handleListConfigResources).
    See: X-57.
    """
    body = decode(messages.ListConfigResourcesRequest, request)
    types = {CLIENT_METRICS_RESOURCE}
    if request.api_version >= _TYPES_SINCE:
        types = set(body.resource_types or _TYPES)
    response = messages.ListConfigResourcesResponse()
    if not is_allowed_on_cluster(context, Operation.DESCRIBE_CONFIGS):
        response.error_code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    elif types <= set(_TYPES):
        resource = messages.ListConfigResourcesResponse.ConfigResource
        response.config_resources = [
            resource(resource_name=name, resource_type=resource_type)
            for resource_type in _TYPES
            if resource_type in types
            for name in _names(context, resource_type)
        ]
    else:
        response.error_code = ErrorCode.UNSUPPORTED_VERSION
    return encode(messages.ListConfigResourcesResponse, response, request)


def _names(context: HandlerContext, resource_type: int) -> list[str]:
    cluster = context.cluster
    if resource_type == TOPIC_RESOURCE:
        return list(cluster.topics)
    if resource_type in (BROKER_RESOURCE, BROKER_LOGGER_RESOURCE):
        alive = [one.node_id for one in cluster.brokers.alive()]
        return [str(one) for one in alive if context.address_of(one) is not None]
    return cluster.configured(resource_type)
