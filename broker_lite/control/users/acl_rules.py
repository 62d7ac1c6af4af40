"""What a new ACL must be, and which ACLs a filter selects.

Source: ControllerApis and AclApis for the names, AclControlManager for the rest; AclBindingFilter.
"""

from typing import Final, NamedTuple

from broker_lite.errors import InvalidRequest
from broker_lite.security.acls.acl import (
    CLUSTER_NAME,
    WILDCARD,
    Acl,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)

RECORDS_MAX: Final = 10_000
"""As many ACLs as Kafka adds or removes for one request (MAX_RECORDS_PER_USER_OP)."""

_RESOURCES: Final = (ResourceType.UNKNOWN, ResourceType.ANY)
_PATTERNS: Final = (PatternType.LITERAL, PatternType.PREFIXED)
_OPERATIONS: Final = (Operation.UNKNOWN, Operation.ANY)
_PERMISSIONS: Final = (Permission.DENY, Permission.ALLOW)


class AclFilter(NamedTuple):
    """Selects ACLs; None, ANY and, for patterns, MATCH select whatever there is.

    MATCH selects the patterns that a resource of the name matches.
    """

    resource_type: ResourceType
    name: str | None
    pattern_type: PatternType
    principal: str | None
    host: str | None
    operation: Operation
    permission: Permission

    def selects(self, acl: Acl) -> bool:
        """Return whether an ACL is selected.

        Rule: P-163 (ResourcePatternFilter.matches, AccessControlEntryFilter.matches).
        """
        return (
            self.resource_type in (ResourceType.ANY, acl.resource_type)
            and self._has_pattern(acl)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (Operation.ANY, acl.operation)
            and self.permission in (Permission.ANY, acl.permission)
        )

    def exact(self) -> Acl | None:
        """Return the one ACL that the filter can select; None if it may select several."""
        if (
            self.name is None
            or self.principal is None
            or self.host is None
            or self.resource_type is ResourceType.ANY
            or self.pattern_type in (PatternType.ANY, PatternType.MATCH)
            or self.operation is Operation.ANY
            or self.permission is Permission.ANY
        ):
            return None
        return Acl(
            self.resource_type,
            self.name,
            self.pattern_type,
            self.principal,
            self.host,
            self.operation,
            self.permission,
        )

    def _has_pattern(self, acl: Acl) -> bool:
        if self.pattern_type not in (PatternType.ANY, PatternType.MATCH, acl.pattern_type):
            return False
        if self.name is None or self.name == acl.name:
            # PREFIXED patterns are prefixes of their own name, too
            return True
        if self.pattern_type is not PatternType.MATCH:
            return False
        if acl.pattern_type is PatternType.PREFIXED:
            return self.name.startswith(acl.name)
        return acl.name == WILDCARD


def is_for_filters_only(acl: Acl) -> bool:
    """Return whether an ACL has a part that only filters may have.

    Kafka cannot even make a value of it, so the whole request fails.

    See: P-162 (ResourcePattern, AccessControlEntry).
    """
    return (
        acl.resource_type is ResourceType.ANY
        or acl.pattern_type in (PatternType.ANY, PatternType.MATCH)
        or acl.operation is Operation.ANY
        or acl.permission is Permission.ANY
    )


def check_filter(one: AclFilter) -> None:
    """Check a filter for ACLs that are to be deleted.

    Raises:
        InvalidRequest: it has a code that is not known.

    See: P-163 (AclControlManager.validateFilter).
    """
    if one.resource_type is ResourceType.UNKNOWN or one.pattern_type is PatternType.UNKNOWN:
        raise InvalidRequest("Unknown patternFilter.")
    if one.operation is Operation.UNKNOWN or one.permission is Permission.UNKNOWN:
        raise InvalidRequest("Unknown entryFilter.")


def check_new(acl: Acl) -> None:
    """Check a new ACL.

    Raises:
        InvalidRequest: it cannot be created.

    Rule: P-162 (AclApis.handleCreateAcls, AclControlManager.validateNewAcl).
    """
    if acl.resource_type is ResourceType.CLUSTER and acl.name != CLUSTER_NAME:
        raise InvalidRequest(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not acl.name:
        raise InvalidRequest("Invalid empty resource name")
    if acl.resource_type in _RESOURCES:
        raise InvalidRequest(f"Invalid resourceType {acl.resource_type.name}")
    if acl.pattern_type not in _PATTERNS:
        raise InvalidRequest(f"Invalid patternType {acl.pattern_type.name}")
    if acl.operation in _OPERATIONS:
        raise InvalidRequest(f"Invalid operation {acl.operation.name}")
    if acl.permission not in _PERMISSIONS:
        raise InvalidRequest(f"Invalid permissionType {acl.permission.name}")
    if ":" not in acl.principal:
        raise InvalidRequest(
            f"Could not parse principal from `{acl.principal}` (no colon is present separating the "
            "principal type from the principal name)"
        )
