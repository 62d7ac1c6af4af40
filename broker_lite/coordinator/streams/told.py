"""The topology that a heartbeat tells, with what follows from it: its record, its maps, its memory.

All of it together takes up to 100 ms for the largest topologies. So the handler has it made in
steps before it asks the group, and lets other clients have their turn in between. What is not made
by then is made when the group needs it.

See: U-07, U-12.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from broker_lite.coordinator.streams.configured import (
    ConfiguredTopology,
    configure,
    configure_in_steps,
)
from broker_lite.coordinator.streams.records import topology_value
from broker_lite.coordinator.streams.topology import (
    Topology,
    TopologyMaps,
    size_of_topology,
    texts_of,
    topology_of,
)
from broker_lite.coordinator.texts import is_too_long
from broker_lite.coordinator.topics import TopicsByName, TopicView, hash_of_topics
from broker_lite.errors import BrokerError
from broker_lite.wire import messages


class SeenTopics:
    """Topics as they were at some time."""

    def __init__(self, topics: TopicsByName, names: Iterable[str]) -> None:
        """Look at the topics of some names."""
        self._topics: Mapping[str, TopicView | None] = {name: topics.get(name) for name in names}

    def get(self, name: str) -> TopicView | None:
        """Return a topic; None if there was none."""
        return self._topics.get(name)


class ToldTopology:
    """A topology, as a heartbeat tells it.

    Args:
        message: of the request; it has passed check_topology_size().
    """

    def __init__(self, message: "messages.StreamsGroupHeartbeatRequest.Topology") -> None:
        self._message = message
        self._configured: tuple[int, ConfiguredTopology] | None = None

    @cached_property
    def topology(self) -> Topology:
        """The topology itself."""
        return topology_of(self._message)

    @cached_property
    def has_long_text(self) -> bool:
        """Whether a text is too long for a record."""
        return any(map(is_too_long, texts_of(self.topology)))

    @cached_property
    def size_bytes(self) -> int:
        """The memory that it takes in a group."""
        return size_of_topology(self.topology)

    @cached_property
    def record(self) -> bytes:
        """The value of its record."""
        return topology_value(self.topology)

    @cached_property
    def maps(self) -> TopologyMaps:
        """What is looked up in it."""
        return self.topology.maps()

    def configure(self, topics: TopicsByName, metadata_hash: int) -> ConfiguredTopology:
        """Return it with the topics that there are.

        Args:
            topics: the topics.
            metadata_hash: of those of them that the topology needs.

        Raises:
            StreamsInvalidTopology, UnknownServerError: see configured.configure().
        """
        if self._configured is not None and self._configured[0] == metadata_hash:
            return self._configured[1]
        return configure(self.topology, topics)

    def prepare(self, topics: TopicsByName, *, is_new: bool = True) -> Iterator[None]:
        """Make all that the group needs of it, in steps of up to 20 ms for the largest topologies.

        What the topology with its topics is refused for is not said here, because the checks that
        come before may refuse the heartbeat for another reason: configure() finds it again.

        Args:
            topics: the topics that there are.
            is_new: the group has no topology yet; otherwise it needs this one for checks alone.
        """
        topology = self.topology
        if topology.epoch < 0 or len(topology.by_id()) < len(topology.subtopologies):
            return  # it will be refused
        for step in ("has_long_text", *(("size_bytes", "record", "maps") if is_new else ())):
            yield
            getattr(self, step)
        yield
        if not is_new:
            return
        required = self.maps.required_topics
        seen = SeenTopics(topics, required)
        yield
        metadata_hash = hash_of_topics(seen, required)
        yield
        try:
            configured = yield from configure_in_steps(self.topology, seen)
        except BrokerError:
            return
        self._configured = metadata_hash, configured
