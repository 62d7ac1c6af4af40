"""The names of topics by their ids, also of topics that were deleted since."""

from typing import Final, Protocol

from broker_lite.control.cluster.cluster import Cluster

REMEMBERED_MAX: Final = 100_000


class Names(Protocol):
    """Knows the names of topics."""

    def get(self, topic_id: bytes, /) -> str | None:
        """Return the name of a topic, None if it is not known."""


class TopicNames:
    """The names of a cluster's topics, and those that it remembered.

    Attributes:
        cluster: the cluster; None between two lives of the broker.
    """

    def __init__(self) -> None:
        """Begin without a cluster."""
        self.cluster: Cluster | None = None
        self._remembered: dict[bytes, str] = {}

    def get(self, topic_id: bytes, /) -> str | None:
        """Return the name of a topic, None if it is not known."""
        if self.cluster is not None:
            topic = self.cluster.topics_by_id.get(topic_id)
            if topic is not None:
                return topic.name
        return self._remembered.get(topic_id)

    def change(self, cluster: Cluster | None) -> None:
        """Remember the names of the present topics, and go on with a cluster.

        It may be the same one, of which topics are about to be deleted.
        """
        if self.cluster is not None:
            if len(self._remembered) > REMEMBERED_MAX:
                self._remembered.clear()
            topics = self.cluster.topics_by_id
            self._remembered.update({topic_id: topic.name for topic_id, topic in topics.items()})
        self.cluster = cluster
