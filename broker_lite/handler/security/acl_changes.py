"""Creates and deletes ACLs of the cluster, in turns with the requests of other clients.

Rights are the callers' business: nobody is asked here who may change ACLs.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.cluster.metadata_changes import acl_creation, acl_removal
from broker_lite.control.metadata.metadata_records import MetadataRecord
from broker_lite.control.users.acl_rules import (
    RECORDS_MAX,
    AclFilter,
    check_filter,
    check_new,
    is_for_filters_only,
)
from broker_lite.errors import (
    BrokerError,
    InvalidRequest,
    KafkaStorageError,
    PolicyViolation,
    UnknownServerError,
)
from broker_lite.handler.large import in_turns
from broker_lite.handler.security.changes_in_turns import write_in_turns
from broker_lite.security.acls.acl import Acl

_TOO_MANY: Final = "Unable to perform excessively large batch operation."


async def create_acls(cluster: Cluster, asked: Sequence[Acl]) -> list[BrokerError | None]:
    """Create ACLs, unless they are there already, and return why each could not be created.

    Raises:
        BrokerError: none of them can be created.
    """
    acls = cluster.acls
    outcomes: list[BrokerError | None] = []
    new: dict[Acl, Acl] = {}
    async for acl in in_turns(asked):
        if is_for_filters_only(acl):
            raise UnknownServerError
    async for acl in in_turns(asked):
        try:
            check_new(acl)
        except BrokerError as error:
            outcomes.append(error.with_traceback(None))
            continue
        outcomes.append(None)
        if acl not in acls.ids:
            new[acl] = acl
    if len(new) > RECORDS_MAX:
        raise PolicyViolation(_TOO_MANY)

    def make_records(acl: Acl, _: Acl) -> list[MetadataRecord]:
        if acl in acls.ids:  # another request came first
            return []
        return [acl_creation(cluster.make_id(), acl)]

    failed = await write_in_turns(cluster, new, make_records)
    return [failed.get(acl, outcome) for acl, outcome in zip(asked, outcomes, strict=True)]


class AclSelection:
    """The ACLs that filters select, to be deleted together.

    Attributes:
        ids: the ACLs to remove, with their ids.
        outcomes: the ACLs of each filter, or why it failed.
        count: how many ACLs these are, each as often as it is selected.
    """

    def __init__(self, existing: Mapping[Acl, bytes]) -> None:
        """Begin with nothing.

        Args:
            existing: all ACLs with their ids; a live view.
        """
        self.ids: dict[Acl, bytes] = {}
        self.outcomes: list[list[Acl] | BrokerError] = []
        self._existing = existing
        self.count = 0

    async def add(self, one: AclFilter) -> None:
        """Add the ACLs that one more filter selects.

        Raises:
            InvalidRequest: these are too many ACLs; none of them may be removed then.
        """
        found: list[Acl] = []
        try:
            check_filter(one)
        except InvalidRequest as error:
            self.outcomes.append(error.with_traceback(None))
            return
        async for acl in in_turns(self._candidates(one), at_least=128):
            if not one.selects(acl) or acl not in self._existing:
                continue
            if len(self.ids) >= RECORDS_MAX:
                raise InvalidRequest(
                    f"Cannot remove more than {RECORDS_MAX} acls in a single delete operation."
                )
            self.ids[acl] = self._existing[acl]
            found.append(acl)
        self.outcomes.append(found)
        self.count += len(found)

    def _candidates(self, one: AclFilter) -> list[Acl]:
        """Return the ACLs that a filter may select: the only one if it names all parts of it."""
        exact = one.exact()
        if exact is None:
            return list(self._existing)
        return [exact] if exact in self._existing else []


async def delete_acls(cluster: Cluster, ids: Mapping[Acl, bytes]) -> dict[Acl, KafkaStorageError]:
    """Delete ACLs, and return why some could not be deleted.

    Args:
        cluster: whose ACLs they are.
        ids: the ACLs with their ids.
    """
    acls = cluster.acls

    def make_records(_: Acl, acl_id: bytes) -> list[MetadataRecord]:
        # another request may have come first
        return [acl_removal(acl_id)] if acl_id in acls.by_id else []

    return await write_in_turns(cluster, ids, make_records)
