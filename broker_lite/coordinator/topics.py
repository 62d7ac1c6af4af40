"""The cluster's topics as a group coordinator sees them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from broker_lite.coordinator.subscriptions import Prepared


class TopicView(Protocol):
    """One topic, with the properties that assigning its partitions needs."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def topic_id(self) -> bytes:
        """Its id of 16 bytes; a topic that is deleted and created again gets a new one."""

    @property
    def partition_count(self) -> int:
        """The number of its partitions."""


class TopicsByName(Protocol):
    """Topics that are found by their names."""

    def get(self, name: str) -> TopicView | None:
        """Return the topic of a name, or None if there is none."""


class Topics(TopicsByName, Protocol):
    """A live view of all topics: it shows every change at once.

    Attributes:
        prepared: regular expressions that a thread has matched already, for the event that is
            being handled.
        is_visible: tells which topics the sender of that event may see; None if it may see all.
    """

    prepared: "Mapping[str, Prepared]"
    is_visible: Callable[[str], bool] | None

    def by_id(self, topic_id: bytes) -> TopicView | None:
        """Return the topic of an id, or None if there is none."""

    def racks(self, name: str) -> Iterable[str]:
        """Yield the racks of each partition's replicas, as one text; nothing if there are none.

        A broker that is not registered any more has no rack.
        """

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of all topics."""


def hash_of_topics(
    topics: TopicsByName, names: Iterable[str], more: Callable[[str], Iterable[bytes]] | None = None
) -> int:
    """Return a hash of those of some topics that exist: ids and partition counts; 0 without any.

    Kafka's hash function is another one, so a log that moves from Kafka to broker-lite or back
    causes one new assignment.

    Args:
        topics: all topics.
        names: of the topics, in any order.
        more: returns what else of a topic counts.

    See: G-84 (ModernGroup.computeMetadataHash).
    """
    digest = blake2b(digest_size=8)
    is_empty = True
    for name in sorted(names):
        topic = topics.get(name)
        if topic is not None:
            is_empty = False
            digest.update(topic.topic_id + topic.partition_count.to_bytes(4))
            for part in more(name) if more is not None else ():
                digest.update(part)
    return 0 if is_empty else int.from_bytes(digest.digest(), signed=True)
