"""The cluster's topics as a group coordinator sees them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.metadata.topic import Topic

if TYPE_CHECKING:
    from broker_lite.coordinator.subscriptions import Prepared


class ClusterTopics:
    """A live view of all topics, by name and by id; see coordinator.topics.Topics."""

    __slots__ = ("_cluster", "is_visible", "prepared")

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.prepared: Mapping[str, Prepared] = {}
        self.is_visible: Callable[[str], bool] | None = None

    def get(self, name: str) -> Topic | None:
        """Return the topic of a name, or None if there is none."""
        return self._cluster.topics.get(name)

    def by_id(self, topic_id: bytes) -> Topic | None:
        """Return the topic of an id, or None if there is none."""
        return self._cluster.topics_by_id.get(topic_id)

    def racks(self, name: str) -> Iterable[str]:
        """Yield the racks of each partition's replicas, as one text; nothing if there are none."""
        racks = {
            node_id: broker.rack
            for node_id, broker in self._cluster.brokers.by_id.items()
            if broker.rack is not None
        }
        topic = self._cluster.topics.get(name)
        if racks and topic is not None:
            for partition in topic.partitions:
                found = [racks[node_id] for node_id in partition.replicas if node_id in racks]
                yield ",".join(sorted(found))

    def __iter__(self) -> Iterator[str]:
        return iter(self._cluster.topics)
