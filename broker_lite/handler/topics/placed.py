"""Where a partition is, as a client of one listener sees it.

Rule: P-89, P-90 (KRaftMetadataCache.getPartitionMetadata).
"""

from typing import NamedTuple

from broker_lite.control.metadata.topic import NO_LEADER, PartitionRegistration
from broker_lite.errors import ErrorCode
from broker_lite.handler.context import HandlerContext


class Placed(NamedTuple):
    """A partition's brokers.

    Attributes:
        error_code: LEADER_NOT_AVAILABLE or LISTENER_NOT_FOUND while no client can reach a leader.
        leader: NO_LEADER then.
        offline: the replicas that are not there.
    """

    error_code: ErrorCode
    leader: int
    replicas: list[int]
    isr: list[int]
    offline: list[int]


class Places:
    """The brokers of partitions, for one answer; partitions that are alike share one value."""

    def __init__(self, context: HandlerContext) -> None:
        alive = context.cluster.brokers.alive()
        self._alive = {one.node_id for one in alive}
        self._reached = {
            one.node_id for one in alive if context.address_of(one.node_id) is not None
        }
        self._places: dict[PartitionRegistration, Placed] = {}

    def of(self, partition: PartitionRegistration) -> Placed:
        """Return where a partition is."""
        place = self._places.get(partition)
        if place is None:
            place = self._places[partition] = self._place(partition)
        return place

    def _place(self, partition: PartitionRegistration) -> Placed:
        leader, error_code = partition.leader, ErrorCode.NONE
        if leader not in self._reached:
            # a leader that lives has no listener of this name
            is_alive = leader in self._alive
            error_code = (
                ErrorCode.LISTENER_NOT_FOUND if is_alive else ErrorCode.LEADER_NOT_AVAILABLE
            )
            leader = NO_LEADER
        return Placed(
            error_code,
            leader,
            list(partition.replicas),
            list(partition.isr),
            [one for one in partition.replicas if one not in self._alive],
        )
