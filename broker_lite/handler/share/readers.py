"""Who may read as a member of a share group."""

from broker_lite.errors import GroupAuthorizationFailed
from broker_lite.handler.authorized import is_allowed
from broker_lite.handler.context import HandlerContext
from broker_lite.handler.groups.share import check_enabled
from broker_lite.security.acls.acl import Operation, ResourceType


def check_reader(context: HandlerContext, group_id: str) -> None:
    """Demand that share groups are on, and that the client may read as a member of a group.

    Raises:
        UnsupportedVersion: they are off.
        GroupAuthorizationFailed: the client may not.
    """
    check_enabled(context)
    if not is_allowed(context, Operation.READ, ResourceType.GROUP, group_id):
        raise GroupAuthorizationFailed
