"""The rights to the configs of a resource.

Rule: X-57 (ConfigHelper.handleDescribeConfigsRequest, ControllerApis.authorizeAlterConfigs).
"""

from typing import Protocol

from broker_lite.control.metadata.image import GROUP_RESOURCE, TOPIC_RESOURCE
from broker_lite.errors import (
    BrokerError,
    ClusterAuthorizationFailed,
    GroupAuthorizationFailed,
    TopicAuthorizationFailed,
)
from broker_lite.handler.authorized import is_allowed, is_allowed_on_cluster
from broker_lite.handler.context import HandlerContext
from broker_lite.security.acls.acl import Operation, ResourceType


class Resource(Protocol):
    """A resource in a request."""

    resource_type: int
    resource_name: str


def denied(context: HandlerContext, operation: Operation, resource: Resource) -> BrokerError | None:
    """Return the error of a client that may not do something with the configs of a resource.

    Configs of brokers, and whatever is no topic and no group, belong to the cluster.
    """
    if context.authorizer is None:
        return None
    name = resource.resource_name
    if resource.resource_type == TOPIC_RESOURCE:
        if not is_allowed(context, operation, ResourceType.TOPIC, name):
            return TopicAuthorizationFailed("Topic authorization failed.")
    elif resource.resource_type == GROUP_RESOURCE:
        if not is_allowed(context, operation, ResourceType.GROUP, name):
            return GroupAuthorizationFailed("Group authorization failed.")
    elif not is_allowed_on_cluster(context, operation):
        return ClusterAuthorizationFailed("Cluster authorization failed.")
    return None
