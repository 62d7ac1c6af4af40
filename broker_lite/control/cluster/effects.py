"""What follows from a change of the metadata for logs and watchers, once the image has it.

The process that writes the metadata log, and those that follow it, do the same here.
"""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from broker_lite.control.cluster.watcher import Watchers
from broker_lite.control.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE, MetadataImage
from broker_lite.control.metadata.topic import Topic
from broker_lite.control.topics.partition_logs import PartitionLogs

if TYPE_CHECKING:
    from broker_lite.control.cluster.controller import Moved


class Effects:
    """Lets logs and watchers go on with what has changed; used by one thread.

    Attributes:
        watchers: are told of everything.
    """

    def __init__(
        self,
        image: MetadataImage,
        logs: PartitionLogs,
        watchers: Watchers,
        apply_broker_configs: Callable[[], None],
    ) -> None:
        """Remember the parts.

        Args:
            image: of the cluster.
            logs: of its partitions.
            watchers: are told of everything.
            apply_broker_configs: reads the dynamic settings of brokers again.
        """
        self._image = image
        self._logs = logs
        self.watchers = watchers
        self._apply_broker_configs = apply_broker_configs

    def broker_configs_read(self) -> None:
        """Let the dynamic settings of brokers be in force, before there are any logs."""
        self._apply_broker_configs()

    def topics_deleted(self, topics: Collection[Topic]) -> None:
        """Remove the logs of deleted topics; requests that wait at them are woken."""
        for topic in topics:
            self._logs.remove(topic)
        self.watchers.topics_changed(deleted=topics)

    def configs_altered(self, resources: Collection[tuple[int, str]]) -> None:
        """Let the changed configs of resources, each given by its type and name, be in force."""
        names = {name for resource_type, name in resources if resource_type == TOPIC_RESOURCE}
        if any(resource_type == BROKER_RESOURCE for resource_type, _ in resources):
            self._apply_broker_configs()
            names.update(self._image.topics)
        for name in names & self._image.topics.keys():
            self._logs.update_config(self._image.topics[name])
        self.watchers.configs_changed(resources)

    def partitions_moved(self, moved: "Collection[Moved]") -> None:
        """Let logs go on with partitions that have another leader, ISR or other replicas."""
        for topic, index, before, _ in moved:
            current = self._image.topics_by_id.get(topic.topic_id)
            if current is not None:
                self._logs.moved(current, index, before)
        self.watchers.partitions_moved(moved)
