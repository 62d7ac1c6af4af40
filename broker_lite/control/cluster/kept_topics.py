"""Makes the topics of a broker anew after its data was removed: a reset that keeps topics."""

from collections.abc import Iterable, Sequence

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.metadata.topic import PartitionRegistration, Topic
from broker_lite.control.topics.placements import placed_at
from broker_lite.control.topics.topic_rules import PARTITIONS_PER_REQUEST_MAX, TopicPlan


def kept(topics: Iterable[Topic]) -> Sequence[Topic]:
    """Return the topics that are made anew: not Kafka's own, which have nothing but records."""
    return [topic for topic in topics if not topic.is_internal]


def make_anew(cluster: Cluster, topics: Sequence[Topic]) -> None:
    """Create topics with the ids, configs and replicas that they had, and without records.

    Preferred leaders lead, as after any creation. The log of a partition is made at its first use.

    Args:
        cluster: without these topics; its brokers are registered.
        topics: as they were.

    Raises:
        KafkaStorageError: the metadata cannot be written; some topics may be there.
    """
    plans: list[TopicPlan] = []
    ids: list[bytes] = []
    partition_count = 0
    for topic in topics:
        placements = [
            placed_at(cluster.brokers, _replicas(partition)) for partition in topic.partitions
        ]
        plans.append(TopicPlan(topic.name, placements, topic.overrides))
        ids.append(topic.topic_id)
        partition_count += len(placements)
        if partition_count >= PARTITIONS_PER_REQUEST_MAX:
            cluster.create_topics(plans, ids)
            plans, ids, partition_count = [], [], 0
    if plans:
        cluster.create_topics(plans, ids)


def _replicas(partition: PartitionRegistration) -> tuple[int, ...]:
    """Return the replicas of a partition; a reassignment that is in progress is forgotten."""
    return tuple(each for each in partition.replicas if each not in partition.adding)
