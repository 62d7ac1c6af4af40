"""What a group coordinator sees of the cluster's topics."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from broker_lite.coordinator.subscriptions import Prepared


class TopicView(Protocol):
    """One topic: what assigning its partitions takes."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def topic_id(self) -> bytes:
        """16 bytes; a topic that is deleted and created again has another."""

    @property
    def partition_count(self) -> int:
        """How many partitions it has."""


class Topics(Protocol):
    """All topics of the moment; whoever holds it sees every change at once.

    Attributes:
        prepared: regular expressions that were matched beforehand, for the event that happens now.
    """

    prepared: "Mapping[str, Prepared]"

    def get(self, name: str) -> TopicView | None:
        """The topic of a name, None when there is none."""

    def by_id(self, topic_id: bytes) -> TopicView | None:
        """The topic of an id, None when there is none."""

    def __iter__(self) -> Iterator[str]:
        """The names of all topics."""
