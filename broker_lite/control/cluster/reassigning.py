"""Moves partitions to other brokers.

A reassignment has two steps: the new replicas are added, and once they are in sync, those that have
to go are removed. A replica has no records of its own here, so one on a broker that is alive is in
sync at once, and both steps are one change. As long as a new broker is gone or lags, or the leader
is gone, the reassignment is in progress, as in Kafka; ReplicaManager lets the new ones join later.

Nothing is changed here: the result is what the controller has to write.

Source: ReplicationControlManager, PartitionReassignmentReplicas, PartitionReassignmentRevert.
"""

from collections.abc import Sequence
from dataclasses import replace

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.cluster.controller import Alteration
from broker_lite.control.cluster.elections import Election, ReplicaMove, change
from broker_lite.control.metadata.topic import NO_LEADER, PartitionRegistration, Topic
from broker_lite.control.topics.placements import check_assignment
from broker_lite.errors import (
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    NoReassignmentInProgress,
    UnknownTopicOrPartition,
)


def plan_reassignment(
    cluster: Cluster,
    topic_name: str,
    index: int,
    replicas: Sequence[int] | None,
    *,
    may_change_factor: bool = True,
) -> Alteration:
    """Return a partition's way to other replicas.

    Args:
        cluster: the cluster.
        topic_name: of the partition; there need not be such a topic.
        index: of the partition; there need not be such a one.
        replicas: the brokers that it shall have, in the order of preference; None to cancel a
            reassignment.
        may_change_factor: whether the number of replicas may change.

    Returns:
        A change without steps if the partition is already there.

    Raises:
        UnknownTopicOrPartition, InvalidReplicaAssignment, InvalidReplicationFactor,
        NoReassignmentInProgress: see the rules.

    Rule: C-44 (ReplicationControlManager.alterPartitionReassignment).
    See: P-104.
    """
    topic = cluster.topics.get(topic_name)
    if topic is None:
        raise UnknownTopicOrPartition(f"Unable to find a topic named {topic_name}.")
    if not 0 <= index < topic.partition_count:
        raise UnknownTopicOrPartition(f"Unable to find partition {topic_name}:{index}.")
    if replicas is None:
        steps = [_cancelled(cluster, topic, index)]
    else:
        check_assignment(replicas, None, cluster.brokers)
        before = topic.partitions[index]
        if cluster.brokers.alone_at is not None and tuple(replicas) != before.replicas:
            raise InvalidReplicaAssignment(
                "The brokers are several processes, and the records of a partition stay in theirs."
            )
        if not may_change_factor:
            _check_factor(before, len(replicas))
        steps = _moved(cluster, topic, index, tuple(replicas))
    return Alteration(topic, index, steps)


def is_in_progress(partition: PartitionRegistration) -> bool:
    """Return whether a partition is being reassigned.

    See: C-43 (PartitionReassignmentReplicas.isReassignmentInProgress).
    """
    return bool(partition.adding or partition.removing)


def _check_factor(before: PartitionRegistration, count: int) -> None:
    """Check that a partition keeps its number of replicas.

    See: C-44 (ReplicationControlManager.validatePartitionReplicationFactorUnchanged).
    """
    present = len({*before.replicas, *before.adding}.difference(before.removing))
    if present != count:
        raise InvalidReplicationFactor(
            f"The replication factor is changed from {present} to {count}"
        )


def _moved(
    cluster: Cluster, topic: Topic, index: int, replicas: tuple[int, ...]
) -> list[PartitionRegistration]:
    """Return the steps to other replicas; the second one is what the leader would ask for.

    See: C-44 (ReplicationControlManager.changePartitionReassignment, alterPartition).
    """
    before = topic.partitions[index]
    terms = cluster.controller.terms(topic, Election.ONLINE)
    removing = tuple(sorted(set(before.replicas).difference(replicas)))
    adding = tuple(sorted(set(replicas).difference(before.replicas)))
    move = ReplicaMove((*replicas, *removing), adding or before.adding, removing or before.removing)
    first = change(before, terms, move=move)
    steps = [] if first is before else [first]
    joining = _joining(cluster, topic, index, first)
    if joining:
        isr = sorted({*first.isr, *joining})
        if not index:
            # the effective min.insync.replicas is by the replicas of partition 0, see C-12
            topic = replace(topic, partitions=(first, *topic.partitions[1:]))
        second = change(first, cluster.controller.terms(topic), isr=isr)
        if second is not first:
            steps.append(second._replace(is_recovering=False))
    return steps


def _joining(
    cluster: Cluster, topic: Topic, index: int, partition: PartitionRegistration
) -> list[int]:
    """Return the new replicas that have all records at once: nothing keeps them from fetching.

    See: C-27.
    """
    is_silent = cluster.membership.is_silent
    if partition.leader == NO_LEADER or is_silent(partition.leader):
        return []
    log = cluster.loaded_log(topic.name, index)
    lagging = None if log is None else log.visibility.replicas
    return [
        one
        for one in partition.adding
        if cluster.brokers.is_active(one)
        and not is_silent(one)
        and (lagging is None or lagging.lag_of(one) is None)
    ]


def _cancelled(cluster: Cluster, topic: Topic, index: int) -> PartitionRegistration:
    """Return a partition without the replicas that a reassignment was adding.

    Rule: C-45 (ReplicationControlManager.cancelPartitionReassignment).
    """
    before = topic.partitions[index]
    if not is_in_progress(before):
        raise NoReassignmentInProgress
    replicas = tuple(one for one in before.replicas if one not in before.adding)
    isr = tuple(one for one in before.isr if one not in before.adding)
    terms = cluster.controller.terms(topic)
    if not isr:
        if not replicas:
            raise InvalidReplicaAssignment(
                "Invalid replica assignment: addingReplicas contains all replicas."
            )
        isr = replicas[:1]
        if terms.election is not Election.UNCLEAN:
            raise InvalidReplicaAssignment(
                f"Unable to revert partition assignment for {topic.name}:{index} because it would"
                " require an unclean leader election."
            )
    return change(before, terms, isr=isr, move=ReplicaMove(replicas))
