"""What is told to those who act on changes of the cluster."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Protocol

from broker_lite.control.metadata.topic import Topic

if TYPE_CHECKING:
    from broker_lite.control.cluster.controller import Moved


class ClusterWatcher(Protocol):
    """Somebody who is told of changes right after they were made, before anything else happens."""

    def topics_changed(self, changed: Collection[Topic], deleted: Collection[Topic]) -> None:
        """Topics were created or grew, or are gone."""

    def configs_changed(self, resources: Collection[tuple[int, str]]) -> None:
        """Configs of resources changed, each by its type and name."""

    def partitions_moved(self, moved: "Collection[Moved]") -> None:
        """Partitions have another leader, another ISR or other replicas."""


class Watchers:
    """All of them, in the order in which they came."""

    def __init__(self) -> None:
        self._watchers: list[ClusterWatcher] = []

    def add(self, watcher: ClusterWatcher) -> None:
        """Tell somebody from now on."""
        self._watchers.append(watcher)

    def topics_changed(
        self, changed: Collection[Topic] = (), *, deleted: Collection[Topic] = ()
    ) -> None:
        """Tell of topics."""
        for watcher in self._watchers:
            watcher.topics_changed(changed, deleted)

    def partitions_moved(self, moved: "Collection[Moved]") -> None:
        """Tell of partitions."""
        for watcher in self._watchers:
            watcher.partitions_moved(moved)

    def configs_changed(self, resources: Collection[tuple[int, str]]) -> None:
        """Tell of configs."""
        for watcher in self._watchers:
            watcher.configs_changed(resources)
