"""The ACLs that are in force, kept so that the rights on one resource are found by a few look-ups.

The ACLs of one pattern, principal and host are two bit fields, of the operations that they allow
and of those that they deny. A resource has at most one literal pattern, the wildcard, and one
prefixed pattern for each length that a prefix of its type has. So what a decision costs does not
depend on the number of ACLs.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from broker_lite.security.acls.acl import (
    ANY_USER,
    WILDCARD,
    Acl,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)

_Holders: TypeAlias = dict[tuple[str, str], tuple[int, int]]
"""Bits of allowed and of denied operations, by principal and host."""

_NOBODY: Final[_Holders] = {}


class AclIndex:
    """The ACLs that are in force; all nodes of a process share them."""

    def __init__(self, acls: Iterable[Acl] = ()) -> None:
        self._literal: dict[ResourceType, dict[str, _Holders]] = {}
        self._prefixed: dict[ResourceType, dict[str, _Holders]] = {}
        self._lengths: dict[ResourceType, Counter[int]] = {}
        for acl in acls:
            self.add(acl)

    def add(self, acl: Acl) -> None:
        """Put an ACL into force; it may already be."""
        patterns = self._of(acl.pattern_type).setdefault(acl.resource_type, {})
        holders = patterns.get(acl.name)
        if holders is None:
            holders = patterns[acl.name] = {}
            if acl.pattern_type is PatternType.PREFIXED:
                lengths = self._lengths.setdefault(acl.resource_type, Counter())
                lengths[len(acl.name)] += 1
        allowed, denied = holders.get((acl.principal, acl.host), (0, 0))
        if acl.permission is Permission.ALLOW:
            allowed |= 1 << acl.operation
        else:
            denied |= 1 << acl.operation
        holders[acl.principal, acl.host] = allowed, denied

    def remove(self, acl: Acl) -> None:
        """Take an ACL out of force; it must be there."""
        patterns = self._of(acl.pattern_type)[acl.resource_type]
        holders = patterns[acl.name]
        allowed, denied = holders[acl.principal, acl.host]
        if acl.permission is Permission.ALLOW:
            allowed &= ~(1 << acl.operation)
        else:
            denied &= ~(1 << acl.operation)
        if allowed or denied:
            holders[acl.principal, acl.host] = allowed, denied
            return
        del holders[acl.principal, acl.host]
        if holders:
            return
        del patterns[acl.name]
        if acl.pattern_type is PatternType.PREFIXED:
            lengths = self._lengths[acl.resource_type]
            lengths[len(acl.name)] -= 1
            if not lengths[len(acl.name)]:
                del lengths[len(acl.name)]

    def find(
        self, principal: str, host: str, resource_type: ResourceType, name: str
    ) -> tuple[int, int] | None:
        """Find the operations that ACLs allow and deny a client on a resource, as bit fields.

        Returns:
            None if the resource has no ACL at all, of whatever principal.
        """
        allowed = denied = 0
        found = False
        for holders in self._on(resource_type, name):
            found = True
            for holder in (
                (principal, host),
                (principal, WILDCARD),
                (ANY_USER, host),
                (ANY_USER, WILDCARD),
            ):
                bits = holders.get(holder)
                if bits is not None:
                    allowed |= bits[0]
                    denied |= bits[1]
        return (allowed, denied) if found else None

    def patterns(
        self, principal: str, host: str, resource_type: ResourceType, operation: Operation
    ) -> Iterator[tuple[PatternType, str, bool, bool]]:
        """Return the patterns on which ACLs name an operation, or all, for a client.

        Returns:
            Pattern type and name, and whether it is allowed and whether it is denied.
        """
        bits = 1 << operation | 1 << Operation.ALL
        own = [(one, where) for one in (principal, ANY_USER) for where in (host, WILDCARD)]
        for pattern_type, of_types in (
            (PatternType.LITERAL, self._literal),
            (PatternType.PREFIXED, self._prefixed),
        ):
            for name, holders in of_types.get(resource_type, {}).items():
                found = [holders[holder] for holder in own if holder in holders]
                allowed = any(one[0] & bits for one in found)
                denied = any(one[1] & bits for one in found)
                if allowed or denied:
                    yield pattern_type, name, allowed, denied

    def _of(self, pattern_type: PatternType) -> dict[ResourceType, dict[str, _Holders]]:
        return self._prefixed if pattern_type is PatternType.PREFIXED else self._literal

    def _on(self, resource_type: ResourceType, name: str) -> Iterator[_Holders]:
        """Return the holders of the patterns that a resource matches."""
        literal = self._literal.get(resource_type)
        if literal:
            if name in literal:
                yield literal[name]
            if name != WILDCARD and WILDCARD in literal:
                yield literal[WILDCARD]
        prefixed = self._prefixed.get(resource_type)
        if prefixed:
            for length in self._lengths[resource_type]:
                if length <= len(name):
                    holders = prefixed.get(name[:length])
                    if holders is not None:
                        yield holders
