"""The topology that a heartbeat tells, with what follows from it: its record, its maps, its memory.

All of it together takes up to 100 ms for the largest topologies. So the handler has it made in
steps before it asks the group, and lets other clients have their turn in between. What is not made
by then is made when the group needs it.

See: U-07, U-12.
"""

from collections.abc import Iterator
from functools import cached_property

from broker_lite.coordinator.streams.ahead import ConfiguredAhead
from broker_lite.coordinator.streams.records import topology_value
from broker_lite.coordinator.streams.topology import (
    Topology,
    TopologyMaps,
    size_of_topology,
    texts_of,
    topology_of,
)
from broker_lite.coordinator.texts import is_too_long
from broker_lite.coordinator.topics import TopicsByName
from broker_lite.wire import messages


class ToldTopology:
    """A topology, as a heartbeat tells it.

    Args:
        message: of the request; it has passed check_topology_size().
    """

    def __init__(self, message: "messages.StreamsGroupHeartbeatRequest.Topology") -> None:
        self._message = message

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

    @cached_property
    def ahead(self) -> ConfiguredAhead:
        """It with its topics, as far as prepare() has found that."""
        return ConfiguredAhead(self.topology, self.maps.required_topics)

    def prepare(self, topics: TopicsByName, *, is_new: bool = True) -> Iterator[None]:
        """Make all that the group needs of it, in steps of up to 25 ms for the largest topologies.

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
        if is_new:
            yield from self.ahead.prepare(topics)
