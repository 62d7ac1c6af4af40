"""Where a partition is, as a client of one listener sees it.

Rule: P-89, P-90 (KRaftMetadataCache.partitionMetadata).
"""

from collections.abc import Collection, Hashable, Iterable
from typing import Final, NamedTuple

from broker_lite.control.metadata.topic import NO_LEADER, PartitionRegistration
from broker_lite.errors import ErrorCode
from broker_lite.handler.context import HandlerContext

_UNREACHABLE_LISTED_SINCE: Final = 1
_LISTENER_NOT_FOUND_SINCE: Final = 6


class Placed(NamedTuple):
    """A partition's brokers.

    Attributes:
        error_code: what Metadata answers for the partition.
        leader: NO_LEADER if there is none, or none that the client can reach.
        replicas: broker ids in the order of preference.
        isr: the replicas in sync.
        offline: the replicas that the client cannot reach.
    """

    error_code: ErrorCode
    leader: int
    replicas: list[int]
    isr: list[int]
    offline: list[int]


class Places:
    """The brokers of partitions, for one answer; partitions that are alike share one value.

    Attributes:
        form: all that the places depend on beside the partitions. Where it is equal, they are.
    """

    def __init__(self, context: HandlerContext, metadata_version: int) -> None:
        """Look at the brokers.

        Args:
            context: of the connection.
            metadata_version: the version of Metadata that is answered.
        """
        brokers = context.metadata.brokers.by_id
        self._registered = frozenset(brokers)
        self._with_listener = frozenset(
            one for one in brokers if context.address_of(one) is not None
        )
        self._reached = frozenset(one for one in self._with_listener if not brokers[one].is_fenced)
        self._version = metadata_version
        self.form: Hashable = (
            metadata_version,
            self._registered,
            self._with_listener,
            self._reached,
        )
        self._places: dict[PartitionRegistration, Placed] = {}

    def of(self, partition: PartitionRegistration) -> Placed:
        """Return where a partition is."""
        place = self._places.get(partition)
        if place is None:
            place = self._places[partition] = self._place(partition)
        return place

    def _place(self, partition: PartitionRegistration) -> Placed:
        leader, replicas, isr = partition.leader, partition.replicas, partition.isr
        offline = [one for one in replicas if one not in self._reached]
        if self._version < _UNREACHABLE_LISTED_SINCE:
            replicas = _among(replicas, self._reached)
            isr = _among(isr, self._reached)
        error_code = ErrorCode.NONE
        if leader not in self._with_listener:
            error_code = self._leader_error(leader)
            leader = NO_LEADER
        elif len(replicas) < len(partition.replicas) or len(isr) < len(partition.isr):
            error_code = ErrorCode.REPLICA_NOT_AVAILABLE
        return Placed(error_code, leader, list(replicas), list(isr), offline)

    def _leader_error(self, leader: int) -> ErrorCode:
        """Return why the client cannot reach a leader, which may be NO_LEADER."""
        if leader in self._registered and self._version >= _LISTENER_NOT_FOUND_SINCE:
            return ErrorCode.LISTENER_NOT_FOUND
        return ErrorCode.LEADER_NOT_AVAILABLE


def _among(node_ids: Iterable[int], known: Collection[int]) -> tuple[int, ...]:
    return tuple(one for one in node_ids if one in known)
