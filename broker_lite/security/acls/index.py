"""The ACLs that are in force, kept so that the rights on one resource are found by a few look-ups.

The ACLs of one pattern, principal and host are two bit fields, of the operations that they allow
and of those that they deny. A resource has at most one literal pattern, the wildcard, and one
prefixed pattern for each length that a prefix of its type has. So what a decision costs does not
depend on the number of ACLs.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeAlias

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


class _OfType:
    """The ACLs of one type of resources."""

    __slots__ = ("lengths", "literal", "prefixed")

    def __init__(self) -> None:
        self.literal: dict[str, _Holders] = {}
        self.prefixed: dict[str, _Holders] = {}
        self.lengths: Counter[int] = Counter()

    def of(self, pattern_type: PatternType) -> dict[str, _Holders]:
        """Return the patterns of a kind."""
        return self.prefixed if pattern_type is PatternType.PREFIXED else self.literal

    def on(self, name: str) -> list[_Holders]:
        """Return the holders of the patterns that a resource matches."""
        found = []
        if self.literal:
            holders = self.literal.get(name)
            if holders is not None:
                found.append(holders)
            holders = self.literal.get(WILDCARD)
            if holders is not None:
                found.append(holders)
        if self.prefixed:
            size = len(name)
            for length in self.lengths:
                if length <= size:
                    holders = self.prefixed.get(name[:length])
                    if holders is not None:
                        found.append(holders)
        return found


class AclIndex:
    """The ACLs that are in force; all nodes of a process share them.

    Attributes:
        changes: how often an ACL was added or removed. Who keeps a decision makes it anew after it.
    """

    def __init__(self, acls: Iterable[Acl] = ()) -> None:
        self.changes = 0
        self._types = [_OfType() for _ in ResourceType]
        for acl in acls:
            self.add(acl)

    def add(self, acl: Acl) -> None:
        """Put an ACL into force; it may already be."""
        self.changes += 1
        of_type = self._types[acl.resource_type]
        patterns = of_type.of(acl.pattern_type)
        holders = patterns.get(acl.name)
        if holders is None:
            holders = patterns[acl.name] = {}
            if acl.pattern_type is PatternType.PREFIXED:
                of_type.lengths[len(acl.name)] += 1
        allowed, denied = holders.get((acl.principal, acl.host), (0, 0))
        if acl.permission is Permission.ALLOW:
            allowed |= 1 << acl.operation
        else:
            denied |= 1 << acl.operation
        holders[acl.principal, acl.host] = allowed, denied

    def remove(self, acl: Acl) -> None:
        """Take an ACL out of force; it must be there."""
        self.changes += 1
        of_type = self._types[acl.resource_type]
        patterns = of_type.of(acl.pattern_type)
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
            of_type.lengths[len(acl.name)] -= 1
            if not of_type.lengths[len(acl.name)]:
                del of_type.lengths[len(acl.name)]

    def find(
        self, principal: str, host: str, resource_type: ResourceType, name: str
    ) -> tuple[int, int] | None:
        """Find the operations that ACLs allow and deny a client on a resource, as bit fields.

        Returns:
            None if the resource has no ACL at all, of whatever principal.
        """
        patterns = self._types[resource_type].on(name)
        if not patterns:
            return None
        allowed = denied = 0
        own = (principal, host), (principal, WILDCARD), (ANY_USER, host), (ANY_USER, WILDCARD)
        for holders in patterns:
            for holder in own:
                bits = holders.get(holder)
                if bits is not None:
                    allowed |= bits[0]
                    denied |= bits[1]
        return allowed, denied

    def patterns(
        self, principal: str, host: str, resource_type: ResourceType, operation: Operation
    ) -> Iterator[tuple[PatternType, str, bool, bool]]:
        """Return the patterns on which ACLs name an operation, or all, for a client.

        Returns:
            Pattern type and name, and whether it is allowed and whether it is denied.
        """
        bits = 1 << operation | 1 << Operation.ALL
        own = [(one, where) for one in (principal, ANY_USER) for where in (host, WILDCARD)]
        of_type = self._types[resource_type]
        for pattern_type in (PatternType.LITERAL, PatternType.PREFIXED):
            for name, holders in of_type.of(pattern_type).items():
                allowed = denied = False
                for holder in own:
                    found = holders.get(holder)
                    if found is not None:
                        allowed = allowed or bool(found[0] & bits)
                        denied = denied or bool(found[1] & bits)
                if allowed or denied:
                    yield pattern_type, name, allowed, denied
