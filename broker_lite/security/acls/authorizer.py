"""Decides what a client may do: StandardAuthorizer of Kafka.

Rule: X-42, X-43 (StandardAuthorizerData).
"""

from functools import lru_cache
from ipaddress import AddressValueError, IPv6Address
from typing import Final

from broker_lite.security.acls.acl import WILDCARD, Operation, PatternType, ResourceType
from broker_lite.security.acls.index import AclIndex
from broker_lite.security.principal import Principal

_ALL_BITS: Final = (1 << (max(Operation) + 1)) - 1
_ALL: Final = 1 << Operation.ALL
_DESCRIBE: Final = 1 << Operation.DESCRIBE
_DESCRIBE_CONFIGS: Final = 1 << Operation.DESCRIBE_CONFIGS
_ALTER_CONFIGS: Final = 1 << Operation.ALTER_CONFIGS
_IMPLY_DESCRIBE: Final = (
    1 << Operation.READ | 1 << Operation.WRITE | 1 << Operation.DELETE | 1 << Operation.ALTER
)
_ANY_NAME: Final = "hardcode"
"""Kafka asks for this name to know what holds for every resource of a type."""


class Authorizer:
    """Answers what clients may do, by the ACLs in force and the settings of one broker.

    Attributes:
        acls: in force; those that are added or removed count for the next question.
    """

    def __init__(
        self,
        acls: AclIndex,
        *,
        super_users: frozenset[str] = frozenset(),
        allow_if_no_acl: bool = False,
    ) -> None:
        """Make an authorizer.

        Args:
            acls: in force; shared with who changes them.
            super_users: principals as text, User:admin, who may do everything.
            allow_if_no_acl: whether everybody may use a resource that no ACL is about.
        """
        self.acls = acls
        self._super_users = super_users
        self._allow_if_no_acl = allow_if_no_acl

    def allows(
        self,
        principal: Principal,
        host: str,
        operation: Operation,
        resource_type: ResourceType,
        name: str,
    ) -> bool:
        """Return whether a client may do something with a resource.

        Args:
            principal: who it is.
            host: its address.
            operation: one, neither ANY nor ALL.
            resource_type: not ANY.
            name: of the resource.
        """
        return bool(self.operations(principal, host, resource_type, name) >> operation & 1)

    def operations(
        self, principal: Principal, host: str, resource_type: ResourceType, name: str
    ) -> int:
        """Return all operations that a client may do with a resource: bit n is operation n."""
        text = str(principal)
        if text in self._super_users:
            return _ALL_BITS
        found = self.acls.find(text, acl_host(host), resource_type, name)
        if found is None:
            return _ALL_BITS if self._allow_if_no_acl else 0
        allowed, denied = found
        if denied & _ALL:
            return 0
        if allowed & _ALL:
            return _ALL_BITS & ~denied
        if allowed & _IMPLY_DESCRIBE:
            allowed |= _DESCRIBE
        if allowed & _ALTER_CONFIGS:
            allowed |= _DESCRIBE_CONFIGS
        return allowed & ~denied

    def allows_by_any(
        self, principal: Principal, host: str, operation: Operation, resource_type: ResourceType
    ) -> bool:
        """Return whether there may be a resource of a type with which a client may do something.

        Rights that another one implies do not count. An allowed prefix counts even if each name
        that begins with it is denied.

        See: X-42 (Authorizer.authorizeByResourceType).
        """
        if self.allows(principal, host, operation, resource_type, _ANY_NAME):
            return True
        allowed: list[tuple[PatternType, str]] = []
        denied_names: set[str] = set()
        denied_prefixes: set[str] = set()
        for pattern_type, name, allows, denies in self.acls.patterns(
            str(principal), acl_host(host), resource_type, operation
        ):
            if allows:
                allowed.append((pattern_type, name))
            if denies:
                (denied_names if pattern_type is PatternType.LITERAL else denied_prefixes).add(name)
        if WILDCARD in denied_names:
            return False
        lengths = sorted({len(prefix) for prefix in denied_prefixes})
        return any(
            (pattern_type is PatternType.LITERAL and name == WILDCARD)
            or (
                not (pattern_type is PatternType.LITERAL and name in denied_names)
                and not any(name[:length] in denied_prefixes for length in lengths)
            )
            for pattern_type, name in allowed
        )


@lru_cache(maxsize=1024)
def acl_host(address: str) -> str:
    """Return a client's address as ACLs name it, which is as Java writes it.

    An IPv4 address that is mapped to IPv6 is written as IPv4. IPv6 is written without zeros in
    front and without a double colon: 0:0:0:0:0:0:0:1.

    See: X-42 (InetAddress.getHostAddress).
    """
    if ":" not in address:
        return address
    text, percent, scope = address.partition("%")
    try:
        parsed = IPv6Address(text)
    except AddressValueError:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    groups = parsed.exploded.split(":")
    return ":".join(f"{int(group, 16):x}" for group in groups) + percent + scope
