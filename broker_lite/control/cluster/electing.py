"""Elections that a client or the clock asks for.

Nothing is changed here: the result is what the controller has to write.

Source: ReplicationControlManager.
"""

from collections.abc import Iterable

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.cluster.controller import Alteration
from broker_lite.control.cluster.elections import Election, change
from broker_lite.control.metadata.topic import NO_LEADER, PartitionRegistration, Topic
from broker_lite.errors import ErrorCode


def plan_election(
    cluster: Cluster, topic: Topic, index: int, election: Election
) -> PartitionRegistration | ErrorCode:
    """Return a partition after the election, or the error code why it keeps its leader.

    After an unclean election the partition is recovering, and its ISR is the new leader alone. The
    records that the new leader does not have are still in the log: who learns of the change has to
    truncate it.

    Args:
        cluster: the cluster.
        topic: one of its topics.
        index: of one of the topic's partitions.
        election: PREFERRED or UNCLEAN.

    Rule: C-40 (ReplicationControlManager.electLeader).
    """
    before = topic.partitions[index]
    is_preferred = election is Election.PREFERRED
    if before.leader == before.replicas[0] if is_preferred else before.leader != NO_LEADER:
        return ErrorCode.ELECTION_NOT_NEEDED
    after = change(before, cluster.controller.terms(topic, election))
    if after is not before:
        return after
    if is_preferred:
        return ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    return ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE


def led_uncleanly_by(before: PartitionRegistration, node_id: int) -> PartitionRegistration:
    """Return a partition after a replica became its leader, whatever the replica lacks.

    See: C-11.
    """
    return before._replace(
        leader=node_id,
        leader_epoch=before.leader_epoch + 1,
        isr=(node_id,),
        eligible=(),
        last_leader=(),
        partition_epoch=before.partition_epoch + 1,
        is_recovering=True,
    )


def preferred_elections(cluster: Cluster, topic: Topic, indexes: Iterable[int]) -> list[Alteration]:
    """Return what gives partitions of a topic back to their preferred replicas.

    Rule: C-41 (ReplicationControlManager.maybeBalancePartitionLeaders).
    """
    return _elections(cluster, topic, indexes, Election.PREFERRED)


def unclean_elections(cluster: Cluster, topic: Topic, indexes: Iterable[int]) -> list[Alteration]:
    """Return what gives a leader to partitions without one, if the topic allows loss of records.

    Rule: C-42 (ReplicationControlManager.maybeElectUncleanLeaders).
    """
    if not cluster.topic_config(topic.name).unclean_leader_election_enable:
        return []
    return _elections(cluster, topic, indexes, Election.UNCLEAN)


def _elections(
    cluster: Cluster, topic: Topic, indexes: Iterable[int], election: Election
) -> list[Alteration]:
    planned = ((index, plan_election(cluster, topic, index, election)) for index in indexes)
    return [
        Alteration(topic, index, [after])
        for index, after in planned
        if not isinstance(after, ErrorCode)
    ]
