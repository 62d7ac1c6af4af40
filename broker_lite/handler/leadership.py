"""Which broker may answer for a partition: its leader, and at times a follower.

Rule: C-32 (ReplicaManager.getPartitionOrError, Partition.getLocalLog).
"""

from typing import TYPE_CHECKING, Final

from broker_lite.errors import (
    FencedLeaderEpoch,
    NotLeaderOrFollower,
    UnknownLeaderEpoch,
)

if TYPE_CHECKING:
    from broker_lite.control.cluster.cluster import Cluster
    from broker_lite.log.log import Log

NO_EPOCH: Final = -1


def check_leader(
    cluster: "Cluster",
    node_id: int,
    log: "Log",
    current_leader_epoch: int = NO_EPOCH,
    *,
    may_follow: bool = False,
) -> None:
    """Demand that a broker leads a partition, and that it and its client know the same epoch.

    Args:
        cluster: tells who has replicas.
        node_id: the broker that is asked.
        log: of the partition.
        current_leader_epoch: the client's, -1 if it names none.
        may_follow: whether a broker with another replica may answer, too.

    Raises:
        NotLeaderOrFollower: another broker has to be asked.
        FencedLeaderEpoch: the client's epoch is older.
        UnknownLeaderEpoch: the client's epoch is newer.

    See: C-32.
    """
    if log.leader_id == node_id:
        check_leader_epoch(log, current_leader_epoch)
        return
    if not cluster.has_replica(log.topic, log.partition, node_id):
        raise NotLeaderOrFollower
    check_leader_epoch(log, current_leader_epoch)
    if not may_follow:
        raise NotLeaderOrFollower


def check_leader_epoch(log: "Log", current_leader_epoch: int) -> None:
    """Demand that a client and this leader know the same leader epoch; -1 is not checked.

    Raises:
        FencedLeaderEpoch: the client's is older.
        UnknownLeaderEpoch: the client's is newer.

    Rule: F-20 (Partition.checkCurrentLeaderEpoch).
    See: F-05.
    """
    if current_leader_epoch == NO_EPOCH or current_leader_epoch == log.leader_epoch:
        return
    if current_leader_epoch < log.leader_epoch:
        raise FencedLeaderEpoch
    raise UnknownLeaderEpoch
