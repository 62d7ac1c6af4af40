"""When ISRs change: which replicas have been behind for too long, and which are missing."""

import logging
from collections.abc import Collection, Container, Iterator

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.cluster.controller import Alteration
from broker_lite.control.cluster.elections import Election, change
from broker_lite.control.metadata.topic import PartitionRegistration, Topic
from broker_lite.log.replicas import Replicas

_log = logging.getLogger("broker_lite.control")


def lacking(cluster: Cluster, node_ids: Container[int]) -> Iterator[tuple[str, int]]:
    """Yield the partitions whose ISRs lack a replica, and that have one at some brokers."""
    for topic in cluster.topics.values():
        for index, partition in enumerate(topic.partitions):
            if len(partition.isr) < len(partition.replicas) and any(
                node_id in node_ids for node_id in partition.replicas
            ):
                yield topic.name, index


def due_ms(replicas: Replicas, partition: PartitionRegistration, lag_max_ms: int) -> list[int]:
    """Return when a replica moves by itself, or is behind for too long, in steady milliseconds.

    Args:
        replicas: of the partition.
        partition: as the metadata has it.
        lag_max_ms: replica.lag.time.max.ms.
    """
    due = [] if (moves_ms := replicas.next_change_ms()) is None else [moves_ms]
    for node_id in replicas.behind:
        since_ms = replicas.behind_since_ms(node_id)
        if since_ms is not None and node_id in partition.isr:
            due.append(since_ms + lag_max_ms + 1)
    return due


def late(replicas: Replicas, partition: PartitionRegistration, since_ms: int) -> list[int]:
    """Return the brokers in the ISR that are behind since a time, or for longer.

    Args:
        replicas: of the partition.
        partition: as the metadata has it.
        since_ms: steady milliseconds: now, less replica.lag.time.max.ms.

    Rule: C-51 (Partition.maybeShrinkIsr).
    """
    return [
        node_id
        for node_id in replicas.behind
        if node_id in partition.isr
        and (behind_ms := replicas.behind_since_ms(node_id)) is not None
        and behind_ms < since_ms
    ]


def shrunk(cluster: Cluster, topic: Topic, index: int, gone: Collection[int]) -> list[Alteration]:
    """Return the change that takes brokers out of an ISR; nothing if none of them is in it.

    Args:
        cluster: of the partition.
        topic: of the partition, which is led by a broker that works.
        index: of the partition.
        gone: the brokers.
    """
    before = topic.partitions[index]
    isr = [node_id for node_id in before.isr if node_id not in gone]
    if isr == [*before.isr]:
        return []
    terms = cluster.controller.terms(topic, Election.ONLINE)
    _log.info("ISR shrinks topic=%s-%d isr=%s", topic.name, index, isr)
    after = change(before, terms, isr=isr)._replace(is_recovering=False)
    return [Alteration(topic, index, [after])]
