"""A topology together with the topics that there are: what can run, and what is missing.

A difference to Kafka: a topology with more than 5,000 tasks is refused (130), because assigning
them would hold up all other clients.

Rule: U-12 (InternalTopicManager).
"""

from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from enum import IntEnum
from functools import cache
from typing import Final, NamedTuple

from broker_lite.coordinator.streams.java_order import hash_order, spread_hash
from broker_lite.coordinator.streams.partition_counts import (
    IncorrectlyPartitioned,
    partition_counts,
)
from broker_lite.coordinator.streams.topology import Subtopology, TopicInfo, Topology
from broker_lite.coordinator.topics import TopicsByName
from broker_lite.errors import StreamsInvalidTopology, UnknownServerError

TASKS_MAX: Final = 5_000
"""The most tasks: with 2 standbys of each, assigning and writing them takes 45 ms for 100 members.

It is 90 ms for 1,000 members, and more for more: `group.streams.max.size` bounds them, as in Kafka.
Standbys do not count, because the setting may change while the group has its topology.
"""
_SHOWN_MAX: Final = 3
_HASHED_AT_A_TIME: Final = 512


class StatusCode(IntEnum):
    """What a heartbeat tells about the group besides the tasks."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5


class Status(NamedTuple):
    """A status, and the text about it."""

    code: StatusCode
    detail: str


class ConfiguredSubtopology(NamedTuple):
    """A subtopology whose topics have their numbers of partitions.

    Attributes:
        told: as the client told it.
        task_count: one task for each partition of its largest input.
        repartition_sources: with their numbers.
        changelogs: with their numbers.
    """

    told: Subtopology
    task_count: int
    repartition_sources: tuple[TopicInfo, ...]
    changelogs: tuple[TopicInfo, ...]

    @property
    def is_stateful(self) -> bool:
        """Whether its tasks have state that a standby task can keep up with."""
        return bool(self.changelogs)


class ConfiguredTopology(NamedTuple):
    """A topology with its topics.

    Attributes:
        subtopologies: by id, sorted; None if they cannot be configured.
        missing: internal topics that have to be created.
        problem: why it cannot run, None if it can.
    """

    subtopologies: Mapping[str, ConfiguredSubtopology] | None
    missing: tuple[TopicInfo, ...] = ()
    problem: Status | None = None

    @property
    def is_ready(self) -> bool:
        """Whether its tasks can be assigned."""
        return self.problem is None


def configure(topology: Topology, topics: TopicsByName) -> ConfiguredTopology:
    """Find the numbers of partitions of all topics of a topology, and what is missing.

    Raises:
        StreamsInvalidTopology: the numbers cannot be found, or there would be too many tasks.
        UnknownServerError: the topology contradicts itself in a way at which Kafka fails, too.
    """
    steps = configure_in_steps(topology, topics)
    while True:
        try:
            next(steps)
        except StopIteration as done:
            found: ConfiguredTopology = done.value
            return found


def configure_in_steps(
    topology: Topology, topics: TopicsByName
) -> Generator[None, None, ConfiguredTopology]:
    """Do as configure(), and let the caller do something else in between.

    For the largest topologies it takes 80 ms and more, in steps of 10 ms or so, and 25 ms at most.
    The topics may not change meanwhile.
    """
    sources = {name for each in topology.subtopologies for name in each.source_topics}
    missing = sorted(name for name in sources if topics.get(name) is None)
    if missing:
        detail = f"Source topics {_summary(missing)} are missing."
        return _failed(StatusCode.MISSING_SOURCE_TOPICS, detail)

    def existing(name: str) -> int | None:
        topic = topics.get(name)
        return None if topic is None else topic.partition_count

    try:
        counts = partition_counts(topology, existing)
        yield
        subtopologies = {
            each.subtopology_id: _configured(each, counts, topics)
            for each in sorted(topology.subtopologies)
        }
        yield
        hash_of = yield from _hashed_in_steps(subtopologies)
        to_create = _to_create(subtopologies, topics, hash_of)
    except IncorrectlyPartitioned as error:
        return _failed(StatusCode.INCORRECTLY_PARTITIONED_TOPICS, str(error))
    if sum(each.task_count for each in subtopologies.values()) > TASKS_MAX:
        raise StreamsInvalidTopology(f"The topology has more than {TASKS_MAX} tasks.")
    problem = None
    if to_create:
        detail = f"Internal topics are missing: {_summary(to_create)}"
        problem = Status(StatusCode.MISSING_INTERNAL_TOPICS, detail)
    return ConfiguredTopology(subtopologies, tuple(to_create.values()), problem)


def _failed(code: StatusCode, detail: str) -> ConfiguredTopology:
    return ConfiguredTopology(None, problem=Status(code, detail))


def _configured(
    subtopology: Subtopology, counts: Mapping[str, int], topics: TopicsByName
) -> ConfiguredSubtopology:
    task_count = 0
    for name in subtopology.inputs():
        topic = topics.get(name)
        task_count = max(task_count, counts[name] if topic is None else topic.partition_count)
    return ConfiguredSubtopology(
        subtopology,
        task_count,
        tuple(_counted(each, counts) for each in subtopology.repartition_sources),
        tuple(_counted(each, counts) for each in subtopology.changelogs),
    )


def _counted(topic: TopicInfo, counts: Mapping[str, int]) -> TopicInfo:
    """Return an internal topic with its number of partitions; the client's own number wins."""
    count = topic.partition_count or counts[topic.name]
    if count < 1 or len(dict(topic.configs)) < len(topic.configs):
        raise UnknownServerError
    return topic._replace(partition_count=count)


def _hashed_in_steps(
    subtopologies: Mapping[str, ConfiguredSubtopology],
) -> Generator[None, None, Callable[[str], int]]:
    """Hash the names of internal topics, and return the function that has their hashes.

    It is most of the time that thousands of long names take.
    """
    hash_of = cache(spread_hash)
    names = (
        topic.name
        for each in subtopologies.values()
        for some in (each.repartition_sources, each.changelogs)
        for topic in some
    )
    for number, name in enumerate(names, 1):
        hash_of(name)
        if number % _HASHED_AT_A_TIME == 0:
            yield
    return hash_of


def _to_create(
    subtopologies: Mapping[str, ConfiguredSubtopology],
    topics: TopicsByName,
    hash_of: Callable[[str], int],
) -> dict[str, TopicInfo]:
    """Return the internal topics that do not exist, by name, in the order of Kafka's map.

    Args:
        subtopologies: with their topics.
        topics: those that exist.
        hash_of: returns the spread hash of a name.

    Raises:
        IncorrectlyPartitioned: one of those that exist has another number of partitions.
    """
    wanted = {
        topic.name: topic
        for each in subtopologies.values()
        for some in (each.repartition_sources, each.changelogs)
        for topic in _hashed(some, hash_of)
    }
    missing = {}
    for name in hash_order(wanted, hash_of=hash_of):
        topic = topics.get(name)
        if topic is None:
            missing[name] = wanted[name]
            continue
        expected = wanted[name].partition_count
        if topic.partition_count != expected:
            raise IncorrectlyPartitioned(
                f"Existing topic {name} has different number of partitions: expected {expected}, "
                f"found {topic.partition_count}"
            )
    return missing


def _hashed(topics: Iterable[TopicInfo], hash_of: Callable[[str], int]) -> list[TopicInfo]:
    by_name = {topic.name: topic for topic in topics}
    return [by_name[name] for name in hash_order(by_name, hash_of=hash_of)]


def _summary(names: Collection[str]) -> str:
    """Return the first names, and how many more there are."""
    shown = ", ".join(list(names)[:_SHOWN_MAX])
    more = len(names) - _SHOWN_MAX
    return f"{shown} and {more} additional topics" if more > 0 else shown
