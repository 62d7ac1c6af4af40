"""ACLs for tests in a few words, and a connection to which they apply."""

from broker_lite.handler.context import HandlerContext
from broker_lite.security.acls.acl import Acl, Operation, PatternType, Permission, ResourceType
from broker_lite.security.acls.authorizer import Authorizer
from broker_lite.security.acls.index import AclIndex
from broker_lite.security.principal import Principal

ALICE = Principal("User", "alice")


def acl(
    operation: Operation,
    resource_type: ResourceType = ResourceType.TOPIC,
    name: str = "t",
    *,
    permission: Permission = Permission.ALLOW,
    pattern_type: PatternType = PatternType.LITERAL,
    principal: str = "User:alice",
    host: str = "*",
) -> Acl:
    """An ACL for alice, from every host, if nothing else is said."""
    return Acl(resource_type, name, pattern_type, principal, host, operation, permission)


def apply_acls(context: HandlerContext, *acls: Acl, principal: Principal = ALICE) -> AclIndex:
    """Have the client of a connection be somebody with these rights and no others.

    Returns the ACLs in force: a test may add some, or remove some.
    """
    index = AclIndex(acls)
    context.principal = principal
    context.authorizer = Authorizer(index, super_users=frozenset({"User:root"}))
    return index
