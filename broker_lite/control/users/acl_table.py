"""All ACLs of the cluster by their ids, as the metadata log has them.

What ACLs are made of is imported when there is the first one: most brokers have none.

Source: AclControlManager.replay, AclsImage.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from broker_lite.wire import messages

if TYPE_CHECKING:
    from broker_lite.security.acls.acl import Acl
    from broker_lite.security.acls.index import AclIndex


class AclTable:
    """The ACLs after the last applied record.

    Attributes:
        by_id: the ACLs by their ids, in the order in which they were created; a live view.
        ids: the ids by the ACLs; a live view.
    """

    def __init__(self) -> None:
        self._by_id: dict[bytes, Acl] = {}
        self._ids: dict[Acl, bytes] = {}
        self._index: AclIndex | None = None
        self.by_id: Mapping[bytes, Acl] = self._by_id
        self.ids: Mapping[Acl, bytes] = self._ids

    def index(self) -> "AclIndex":
        """Return the index of the ACLs, which follows every change from now on."""
        if self._index is None:
            from broker_lite.security.acls.index import AclIndex

            self._index = AclIndex(self._ids)
        return self._index

    def apply_entry(self, record: messages.AccessControlEntryRecord) -> None:
        """Add an ACL, or replace the one of this id."""
        from broker_lite.security.acls.acl import (
            Acl,
            Operation,
            PatternType,
            Permission,
            ResourceType,
        )

        acl = Acl(
            ResourceType(record.resource_type),
            record.resource_name,
            PatternType(record.pattern_type),
            record.principal,
            record.host,
            Operation(record.operation),
            Permission(record.permission_type),
        )
        self._remove(bytes(record.id))
        self._by_id[bytes(record.id)] = acl
        self._ids[acl] = bytes(record.id)
        if self._index is not None:
            self._index.add(acl)

    def apply_removal(self, record: messages.RemoveAccessControlEntryRecord) -> None:
        """Remove an ACL; nothing happens if it is not there (any more)."""
        self._remove(bytes(record.id))

    def _remove(self, acl_id: bytes) -> None:
        acl = self._by_id.pop(acl_id, None)
        if acl is None or self._ids.get(acl) != acl_id:
            return
        del self._ids[acl]
        if self._index is not None:
            self._index.remove(acl)
