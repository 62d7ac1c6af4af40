"""Which partitions of a Fetch request this broker may read, and up to which offset."""

from typing import TYPE_CHECKING, Final

from broker_lite.errors import (
    ErrorCode,
    NotLeaderOrFollower,
    OffsetOutOfRange,
    UnknownLeaderEpoch,
)
from broker_lite.handler.fetch.partition import FetchPartition
from broker_lite.handler.leadership import check_leader, check_leader_epoch
from broker_lite.log.log import Log
from broker_lite.log.read import WHOLE_LOG

if TYPE_CHECKING:
    from broker_lite.control.cluster.cluster import Cluster
    from broker_lite.handler.fetch.read import FetchTerms

READ_COMMITTED: Final = 1
_FOLLOWERS_FROM: Final = 11


class UnknownPartition(Exception):
    """The metadata does not know the partition; raised before anything is read."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(code)
        self.code = code


def find_log(cluster: "Cluster", partition: FetchPartition) -> Log:
    """Find the log of a partition by the name or id of its topic.

    Raises:
        UnknownPartition: the metadata does not have it.
        KafkaStorageError: the log cannot be loaded.

    Rule: F-04.
    """
    name = partition.topic
    if isinstance(name, bytes):
        topic = cluster.topics_by_id.get(name)
        if topic is None:
            raise UnknownPartition(ErrorCode.UNKNOWN_TOPIC_ID)
    else:
        topic = cluster.topics.get(name)
        if topic is None:
            raise UnknownPartition(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    # The same as topic.partition_count, without a Python call for each partition.
    if not 0 <= partition.index < len(topic.partitions):
        raise UnknownPartition(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return cluster.log(topic.name, partition.index)


def limit_offset(log: Log, isolation_level: int) -> int:
    """Return the first offset that a reader may not see.

    Rule: F-02.
    """
    if log.visibility.synthetic is not None:
        return log.visibility.synthetic.end_offset
    return log.last_stable_offset if isolation_level == READ_COMMITTED else log.high_watermark


def diverging_epoch(log: Log, partition: FetchPartition, node_id: int) -> tuple[int, int] | None:
    """Return where the reader's log and this one diverge, None if they do not.

    Args:
        log: of the partition.
        partition: that is fetched.
        node_id: the broker that is asked.

    Raises:
        OffsetOutOfRange: the offset is unknown, or lies before the log.

    Rule: F-21 (Partition.readRecords).
    """
    asked_epoch, own_end = partition.last_fetched_epoch, log.log_end_offset
    if log.leader_id != node_id:
        behind = replica_end(log, node_id)
        own_end = own_end if behind == WHOLE_LOG else behind
        if asked_epoch > _newest_epoch_with_records(log, own_end):
            raise OffsetOutOfRange
    epoch, end_offset = log.epochs.end_offset_for(asked_epoch, own_end)
    if epoch < 0 or end_offset < 0 or partition.fetch_offset < log.log_start_offset:
        raise OffsetOutOfRange
    if epoch < partition.last_fetched_epoch or end_offset < partition.fetch_offset:
        return epoch, end_offset
    return None


def _newest_epoch_with_records(log: Log, own_end: int) -> int:
    """Return the newest epoch that a follower knows: it learns them from the batches it copies."""
    entries = reversed(log.epochs.entries)
    return next((each.epoch for each in entries if each.start_offset < own_end), -1)


def replica_end(log: Log, node_id: int) -> int:
    """Return where a follower's replica ends; WHOLE_LOG if it is not behind.

    Rule: C-54 (Partition.fetchRecords, a follower's log).
    """
    replicas = log.visibility.replicas
    if replicas is None or node_id not in replicas.behind:
        return WHOLE_LOG
    return replicas.end_of(node_id)


def check_epoch_and_leader(
    cluster: "Cluster", terms: "FetchTerms", partition: FetchPartition, log: Log
) -> None:
    """Check that this broker may be read from, and knows the leader epoch that the client knows.

    Raises:
        NotLeaderOrFollower: it has no replica, or the request is too old for a follower.
        FencedLeaderEpoch, UnknownLeaderEpoch: the epochs differ.

    Rule: C-30 (FetchParams.fetchOnlyLeader).
    """
    if log.leader_id == terms.node_id:
        if partition.current_leader_epoch >= 0:
            check_leader_epoch(log, partition.current_leader_epoch)
        return
    may_follow = terms.version >= _FOLLOWERS_FROM and not terms.is_follower
    epoch = partition.current_leader_epoch
    check_leader(cluster, terms.node_id, log, epoch, may_follow=may_follow)


def refuse_follower(partition: FetchPartition) -> None:
    """Refuse a follower: no partition of a single broker has one.

    Rule: F-02 (Partition.followerReplicaOrThrow).
    """
    if partition.current_leader_epoch < 0:
        raise NotLeaderOrFollower
    raise UnknownLeaderEpoch
