"""Sends consumers from the leader to a replica in their own rack (KIP-392)."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from broker_lite.handler.context import HandlerContext
from broker_lite.handler.fetch.partition import FetchPartition
from broker_lite.handler.fetch.read import PartitionRead
from broker_lite.log.log import Log
from broker_lite.log.read import seen_offsets

if TYPE_CHECKING:
    from broker_lite.control.cluster.cluster import Cluster

Redirect: TypeAlias = Callable[[Log, FetchPartition], PartitionRead | None]

_NOW: Final = float("inf")


def redirect_of(context: HandlerContext, rack: str) -> Redirect | None:
    """Return what sends consumers of a rack to another replica; None without a selector."""
    # value() by name, because an attribute of settings takes ten times as long
    if context.settings.value("replica.selector.class") is None:
        return None
    return redirect_to(context.cluster, rack)


def redirect_to(cluster: "Cluster", rack: str) -> Redirect:
    """Return what a leader asks about each partition that a consumer of a rack fetches.

    It returns an answer that names another replica and has no records; None if the consumer may
    read here. The epoch that the consumer expects has to be checked before; where its log and this
    one diverge is not looked at.

    Rule: C-47 (ReplicaManager.readFromLog).
    """

    def redirect(log: Log, partition: FetchPartition) -> PartitionRead | None:
        node_id = preferred_replica(cluster, log, rack, partition.fetch_offset)
        if node_id is None:
            return None
        start_offset, _, high_watermark, stable_offset = seen_offsets(log)
        return PartitionRead(
            partition,
            log,
            0,
            high_watermark,
            stable_offset,
            start_offset,
            preferred_replica=node_id,
        )

    return redirect


def preferred_replica(cluster: "Cluster", log: Log, rack: str, fetch_offset: int) -> int | None:
    """Return the replica that a consumer of a rack reads from; None for the leader.

    It is an in-sync replica of that rack that has the offset: the one that has most, and of several
    the one that got it last, or has the highest id.

    Rule: C-48 (ReplicaManager.findPreferredReadReplica, RackAwareReplicaSelector.select).
    """
    brokers = cluster.brokers.by_id
    leader = brokers.get(log.leader_id)
    topic = cluster.topics.get(log.topic)
    if topic is None or (leader is not None and leader.rack == rack and not leader.is_fenced):
        return None
    seen = seen_offsets(log)
    if fetch_offset < seen.log_start_offset:
        return None
    is_stored = log.visibility.synthetic is None
    lagging = log.visibility.replicas if is_stored else None
    found: list[tuple[int, float, int]] = []
    for node_id in topic.partitions[log.partition].isr:
        broker = brokers.get(node_id)
        if node_id == log.leader_id or broker is None or broker.rack != rack or broker.is_fenced:
            continue
        end_offset, caught_up_ms = seen.log_end_offset, _NOW
        if lagging is not None and node_id in lagging.behind:
            end_offset = lagging.end_of(node_id)
            since_ms = lagging.behind_since_ms(node_id)
            caught_up_ms = _NOW if since_ms is None else since_ms
        if end_offset >= fetch_offset:
            found.append((end_offset, caught_up_ms, node_id))
    return max(found)[2] if found else None
