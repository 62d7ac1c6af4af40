"""Configures a large topology before its group is asked, so that others have their turn meanwhile.

For the largest topologies that takes long. A heartbeat needs it if it is the first one with
the topology, if topics were created, deleted or grew, or if a new group has forgotten it. What is
found holds for the topics as they were; if they are others by the time the group is asked, the
group finds it again.

See: U-07, U-12.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

from broker_lite.coordinator.streams.configured import (
    ConfiguredTopology,
    configure,
    configure_in_steps,
)
from broker_lite.coordinator.streams.topology import Topology
from broker_lite.coordinator.topics import TopicsByName, TopicView, hash_of_topics
from broker_lite.errors import BrokerError


class SeenTopics:
    """Topics as they were at some time."""

    def __init__(self, topics: TopicsByName, names: Iterable[str]) -> None:
        """Look at the topics of some names."""
        self._topics: Mapping[str, TopicView | None] = {name: topics.get(name) for name in names}

    def get(self, name: str) -> TopicView | None:
        """Return a topic; None if there was none."""
        return self._topics.get(name)


class ConfiguredAhead:
    """A topology, and what prepare() has found of it.

    Args:
        topology: the topology.
        required_topics: those without which it cannot run.
    """

    def __init__(self, topology: Topology, required_topics: Collection[str]) -> None:
        self.topology = topology
        self._required_topics = required_topics
        self._found: tuple[int, ConfiguredTopology | BrokerError] | None = None

    def hash_of(self, topics: TopicsByName) -> int:
        """Return a hash of the topics that it needs, as they are now."""
        return hash_of_topics(topics, self._required_topics)

    def configure(self, topics: TopicsByName, metadata_hash: int) -> ConfiguredTopology:
        """Return it with the topics that there are.

        Args:
            topics: the topics.
            metadata_hash: of those of them that the topology needs.

        Raises:
            StreamsInvalidTopology, UnknownServerError: see configured.configure().
        """
        if self._found is None or self._found[0] != metadata_hash:
            return configure(self.topology, topics)
        found = self._found[1]
        if isinstance(found, BrokerError):
            raise type(found)(*found.args)  # a new one, because a raised one keeps its frames
        return found

    def prepare(self, topics: TopicsByName) -> Iterator[None]:
        """Configure it in steps, see configured.configure_in_steps().

        What it is refused for is not said here, because the checks that come before may refuse the
        heartbeat for another reason: configure() says it.

        Args:
            topics: the topics that there are.
        """
        seen = SeenTopics(topics, self._required_topics)
        yield
        metadata_hash = self.hash_of(seen)
        yield
        try:
            configured = yield from configure_in_steps(self.topology, seen)
        except BrokerError as error:
            self._found = metadata_hash, error.with_traceback(None)
        else:
            self._found = metadata_hash, configured
