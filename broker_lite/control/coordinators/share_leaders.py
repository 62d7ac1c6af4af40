"""Who leads the partition of a share partition."""

from typing import Final

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.metadata.topic import NO_LEADER, PartitionRegistration
from broker_lite.coordinator.share_records.states import ShareKey

_NOBODY: Final = PartitionRegistration(NO_LEADER, 0)


def share_leader(cluster: Cluster, key: ShareKey) -> PartitionRegistration:
    """Return how a partition is led; if there is no such partition, nobody leads it in epoch 0."""
    topic = cluster.topics_by_id.get(key.topic_id)
    if topic is None or key.partition >= topic.partition_count:
        return _NOBODY
    return topic.partitions[key.partition]
