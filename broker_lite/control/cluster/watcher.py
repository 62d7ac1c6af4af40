"""Notifies the parts of the broker that have to react to changes of the cluster."""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Protocol

from broker_lite.control.metadata.topic import Topic

if TYPE_CHECKING:
    from broker_lite.control.cluster.controller import Moved


class ClusterWatcher(Protocol):
    """A part of the broker that is called right after a change, before anything else happens."""

    def topics_changed(self, changed: Collection[Topic], deleted: Collection[Topic]) -> None:
        """React to topics that were created or grew, and to deleted ones."""

    def configs_changed(self, resources: Collection[tuple[int, str]]) -> None:
        """React to changed configs of resources, each given by its type and name."""

    def partitions_moved(self, moved: "Collection[Moved]") -> None:
        """Partitions have another leader, another ISR or other replicas."""


class Watchers:
    """All watchers, called in the order in which they were added, unless one has to be first.

    Attributes:
        quotas_changed: called after quotas of clients have changed.
    """

    def __init__(self) -> None:
        self._watchers: list[ClusterWatcher] = []
        self.quotas_changed: Callable[[], object] = lambda: None

    def add(self, watcher: ClusterWatcher) -> None:
        """Call a watcher from now on."""
        self._watchers.append(watcher)

    def add_first(self, watcher: ClusterWatcher) -> None:
        """Call a watcher from now on, before all others that there are."""
        self._watchers.insert(0, watcher)

    def topics_changed(
        self, changed: Collection[Topic] = (), *, deleted: Collection[Topic] = ()
    ) -> None:
        """Call all watchers for changed and deleted topics."""
        for watcher in self._watchers:
            watcher.topics_changed(changed, deleted)

    def partitions_moved(self, moved: "Collection[Moved]") -> None:
        """Tell of partitions."""
        for watcher in self._watchers:
            watcher.partitions_moved(moved)

    def configs_changed(self, resources: Collection[tuple[int, str]]) -> None:
        """Call all watchers for changed configs."""
        for watcher in self._watchers:
            watcher.configs_changed(resources)
