"""Elections that a client or the clock asks for.

Nothing is changed here: the result is what the controller has to write.

Source: ReplicationControlManager.
"""

from collections.abc import Iterator

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


def elections_to_preferred(cluster: Cluster) -> Iterator[Alteration]:
    """Find the partitions that their preferred replica could lead, and does not.

    Rule: C-41 (ReplicationControlManager.maybeBalancePartitionLeaders).
    """
    for topic in [*cluster.topics.values()]:
        yield from _elections(cluster, topic, Election.PREFERRED)


def unclean_elections(cluster: Cluster) -> Iterator[Alteration]:
    """Find the partitions without a leader that allow an unclean election.

    Rule: C-42 (ReplicationControlManager.maybeElectUncleanLeaders).
    """
    for topic in [*cluster.topics.values()]:
        if cluster.topic_config(topic.name).unclean_leader_election_enable:
            yield from _elections(cluster, topic, Election.UNCLEAN)


def _elections(cluster: Cluster, topic: Topic, election: Election) -> Iterator[Alteration]:
    for index in range(topic.partition_count):
        after = plan_election(cluster, topic, index, election)
        if not isinstance(after, ErrorCode):
            yield Alteration(topic, index, [after])
