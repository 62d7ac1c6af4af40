"""What the client of a request may do: the one way by which handlers ask the authorizer.

Without an authorizer everybody may do everything, and a question costs one look at an attribute.

The bit fields of authorized operations (KIP-430) have bit n for operation n of the ACLs.

Rule: X-41, X-45, P-91.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from broker_lite.errors import ClusterAuthorizationFailed
from broker_lite.handler.context import HandlerContext
from broker_lite.security.acls.acl import CLUSTER_NAME, Operation, ResourceType

NOT_ASKED: Final = -(1 << 31)
TOPIC_OPERATIONS: Final = 3576
CLUSTER_OPERATIONS: Final = 8096
GROUP_OPERATIONS: Final = 3400
_OPERATIONS: Final[Mapping[ResourceType, int]] = {
    ResourceType.TOPIC: TOPIC_OPERATIONS,
    ResourceType.CLUSTER: CLUSTER_OPERATIONS,
    ResourceType.GROUP: GROUP_OPERATIONS,
}
_NONE: Final[frozenset[str]] = frozenset()


def is_allowed(
    context: HandlerContext, operation: Operation, resource_type: ResourceType, name: str
) -> bool:
    """Return whether the client may do something with a resource."""
    authorizer = context.authorizer
    return authorizer is None or authorizer.allows(
        context.principal, context.client_address[0], operation, resource_type, name
    )


def is_allowed_on_cluster(context: HandlerContext, operation: Operation) -> bool:
    """Return whether the client may do something with the cluster."""
    return context.authorizer is None or is_allowed(
        context, operation, ResourceType.CLUSTER, CLUSTER_NAME
    )


def check_cluster(context: HandlerContext, operation: Operation) -> None:
    """Check that the client may do something with the cluster.

    Raises:
        ClusterAuthorizationFailed: it may not.
    """
    if not is_allowed_on_cluster(context, operation):
        raise ClusterAuthorizationFailed(f"Request needs {operation.name} permission.")


def denied_names(
    context: HandlerContext, operation: Operation, resource_type: ResourceType, names: Iterable[str]
) -> frozenset[str]:
    """Return the names with which the client may not do something.

    Args:
        context: the client.
        operation: what it wants to do.
        resource_type: of the resources.
        names: of the resources, any number of times each; not read without an authorizer.
    """
    authorizer = context.authorizer
    if authorizer is None:
        return _NONE
    principal, host = context.principal, context.client_address[0]
    return frozenset(
        name
        for name in frozenset(names)
        if not authorizer.allows(principal, host, operation, resource_type, name)
    )


def is_allowed_by_any(
    context: HandlerContext, operation: Operation, resource_type: ResourceType
) -> bool:
    """Return whether the client may do something with any resource of a type, whatever its name.

    See: X-42 (Authorizer.authorizeByResourceType).
    """
    authorizer = context.authorizer
    return authorizer is None or authorizer.allows_by_any(
        context.principal, context.client_address[0], operation, resource_type
    )


def authorized_operations(
    context: HandlerContext, resource_type: ResourceType, name: str = CLUSTER_NAME
) -> int:
    """Return the bit field of what the client may do with a topic, a group or the cluster."""
    operations = _OPERATIONS[resource_type]
    authorizer = context.authorizer
    if authorizer is None:
        return operations
    return operations & authorizer.operations(
        context.principal, context.client_address[0], resource_type, name
    )


def cluster_operations(context: HandlerContext) -> int:
    """Return the bit field of what the client may do with the cluster; 0 if it may not ask.

    See: X-58.
    """
    if not is_allowed_on_cluster(context, Operation.DESCRIBE):
        return 0
    return authorized_operations(context, ResourceType.CLUSTER)


def if_asked(asked: bool, operations: int) -> int:
    """Return the operations if the request asked for them, else the value for "not asked"."""
    return operations if asked else NOT_ASKED
