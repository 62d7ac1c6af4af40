"""The topology of a Kafka Streams application, as its members tell it. The objects are immutable.

Messages and records have a topology in the same shape, so both are read by the same functions.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from broker_lite.coordinator.held_bytes import size_of_text
from broker_lite.wire import messages

# What Python needs besides the characters of texts, measured with CPython 3.11.
# For a text, with its place in a tuple and in the maps of a topology:
_TEXT_BYTES: Final = 165
# for a subtopology, also configured:
_SUBTOPOLOGY_BYTES: Final = 150
# for an internal topic, also configured, and again while it is missing:
_INTERNAL_TOPIC_BYTES: Final = 300
# for a copartition group with its tuples, and for each of its indexes:
_COPARTITION_BYTES: Final = 200
_INDEX_BYTES: Final = 40
# To configure a topology with so many topics and subtopologies takes up to 4 ms.
_MANY_NAMES: Final = 256


class TopicInfo(NamedTuple):
    """An internal topic of a subtopology.

    Attributes:
        name: of the topic.
        partition_count: 0 if the coordinator has to find it.
        replication_factor: 0 for the broker's default.
        configs: names with values, in the client's order.
    """

    name: str
    partition_count: int
    replication_factor: int
    configs: tuple[tuple[str, str], ...]


class CopartitionGroup(NamedTuple):
    """Topics that need the same number of partitions: indexes into those of the subtopology."""

    source_topics: tuple[int, ...]
    source_topic_regex: tuple[int, ...]
    repartition_source_topics: tuple[int, ...]


class Subtopology(NamedTuple):
    """A part of a topology that runs as a whole, with the names of its topics."""

    subtopology_id: str
    source_topics: tuple[str, ...]
    source_topic_regex: tuple[str, ...]
    changelogs: tuple[TopicInfo, ...]
    repartition_sinks: tuple[str, ...]
    repartition_sources: tuple[TopicInfo, ...]
    copartition_groups: tuple[CopartitionGroup, ...]

    def inputs(self) -> Iterator[str]:
        """Iterate over the topics that it reads; a name may come twice."""
        yield from self.source_topics
        for topic in self.repartition_sources:
            yield topic.name

    def internal_topics(self) -> Iterator[TopicInfo]:
        """Iterate over the topics that the coordinator has created."""
        yield from self.repartition_sources
        yield from self.changelogs


class Topology(NamedTuple):
    """The topology of a group.

    Attributes:
        epoch: from the client; a later one may be another topology.
        subtopologies: in the client's order.
    """

    epoch: int
    subtopologies: tuple[Subtopology, ...]

    def is_same(self, other: "Topology") -> bool:
        """Return whether both are the same, whatever the order of their subtopologies."""
        return self.epoch == other.epoch and self.by_id() == other.by_id()

    def by_id(self) -> dict[str, Subtopology]:
        """Return the subtopologies by their ids."""
        return {each.subtopology_id: each for each in self.subtopologies}

    def maps(self) -> "TopologyMaps":
        """Return what is looked up in the topology; this walks over all of it."""
        readers = self.subtopology_of_input()
        return TopologyMaps(
            readers,
            frozenset(readers),
            {each.subtopology_id: tuple(sorted(set(each.inputs()))) for each in self.subtopologies},
            self.required_topics(),
        )

    def subtopology_of_input(self) -> dict[str, str]:
        """Return the id of the subtopology that reads each topic; the last one if several do."""
        return {name: each.subtopology_id for each in self.subtopologies for name in each.inputs()}

    def required_topics(self) -> frozenset[str]:
        """Return the topics without which the topology cannot run."""
        names = {name for each in self.subtopologies for name in each.inputs()}
        names.update(topic.name for each in self.subtopologies for topic in each.changelogs)
        return frozenset(names)


class TopologyMaps(NamedTuple):
    """What is looked up in a topology.

    Attributes:
        subtopology_of_input: the id of the subtopology that reads each topic.
        inputs: the topics that it reads.
        inputs_of: the topics that each subtopology reads, by its id; sorted, each once.
        required_topics: the topics without which it cannot run.
    """

    subtopology_of_input: Mapping[str, str]
    inputs: frozenset[str]
    inputs_of: Mapping[str, tuple[str, ...]]
    required_topics: frozenset[str]

    @property
    def is_large(self) -> bool:
        """Whether it takes more than a few milliseconds to configure the topology."""
        return len(self.required_topics) + len(self.inputs_of) > _MANY_NAMES


NO_MAPS: Final = TopologyMaps({}, frozenset(), {}, frozenset())


def topology_of(
    told: "messages.StreamsGroupHeartbeatRequest.Topology | messages.StreamsGroupTopologyValue",
) -> Topology:
    """Return the topology in a heartbeat or in a record."""
    return Topology(told.epoch, tuple(map(_subtopology, told.subtopologies)))


def _subtopology(
    told: "messages.StreamsGroupHeartbeatRequest.Subtopology"
    " | messages.StreamsGroupTopologyValue.Subtopology",
) -> Subtopology:
    return Subtopology(
        told.subtopology_id,
        tuple(told.source_topics),
        tuple(told.source_topic_regex),
        tuple(map(_topic, told.state_changelog_topics)),
        tuple(told.repartition_sink_topics),
        tuple(map(_topic, told.repartition_source_topics)),
        tuple(
            CopartitionGroup(
                tuple(each.source_topics),
                tuple(each.source_topic_regex),
                tuple(each.repartition_source_topics),
            )
            for each in told.copartition_groups
        ),
    )


def _topic(
    told: "messages.StreamsGroupHeartbeatRequest.TopicInfo"
    " | messages.StreamsGroupTopologyValue.TopicInfo",
) -> TopicInfo:
    configs = tuple((each.key, each.value) for each in told.topic_configs)
    return TopicInfo(told.name, told.partitions, told.replication_factor, configs)


def texts_of(topology: Topology) -> Iterator[str]:
    """Iterate over all texts of a topology."""
    for each in topology.subtopologies:
        yield each.subtopology_id
        yield from each.inputs()
        yield from each.source_topic_regex
        yield from each.repartition_sinks
        for topic in each.internal_topics():
            yield topic.name
            for config in topic.configs:
                yield from config


def size_of_topology(topology: Topology | None) -> int:
    """Return the memory of a topology, roughly: its texts, and what its parts need besides."""
    if topology is None:
        return 0
    size_bytes = sum(_TEXT_BYTES + size_of_text(text) for text in texts_of(topology))
    for each in topology.subtopologies:
        internal_count = len(each.repartition_sources) + len(each.changelogs)
        size_bytes += _SUBTOPOLOGY_BYTES + _INTERNAL_TOPIC_BYTES * internal_count
        size_bytes += sum(
            _COPARTITION_BYTES + _INDEX_BYTES * sum(map(len, group))
            for group in each.copartition_groups
        )
    return size_bytes
