"""Checks whether a topic may be created or may grow, and fills in the defaults of a request.

Pure functions: they take the image and a request, and return a plan or raise an error. The checks
are in Kafka's order, because a request with two errors gets the first one.

Source: ReplicationControlManager (createTopic, createPartitions), ControllerApis.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from broker_lite.control.metadata.image import MetadataImage
from broker_lite.control.metadata.metadata_records import EncodedPlacements, Placement
from broker_lite.control.metadata.topic import Topic
from broker_lite.control.metadata.topic_names import INTERNAL_TOPICS, check_topic_name
from broker_lite.control.topics.placements import (
    Ahead,
    Slices,
    added,
    assigned,
    chosen,
    encoded_of,
    found,
)
from broker_lite.errors import (
    InvalidConfig,
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidRequest,
    InvalidTopic,
    PolicyViolation,
    TopicAlreadyExists,
    UnknownServerError,
    UnknownTopicOrPartition,
)
from broker_lite.log.files.names import METADATA_TOPIC

USE_DEFAULT: Final = -1
PARTITIONS_PER_REQUEST_MAX: Final = 10_000

CheckConfigs = Callable[[Mapping[str, str]], None]
"""Raises InvalidConfig if the overrides of a topic are not valid."""


class NewTopic(NamedTuple):
    """A topic that a request wants to create.

    Args:
        assignments: (partition index, broker ids) of a manual assignment; empty without one.
        configs: in the order of the request; if a key occurs twice, the last value counts.
        ahead: places that were found for its partitions; None if they are to be found now.
    """

    name: str
    partition_count: int = USE_DEFAULT
    replication_factor: int = USE_DEFAULT
    assignments: Sequence[tuple[int, Sequence[int]]] = ()
    configs: Sequence[tuple[str, str | None]] = ()
    ahead: Ahead | None = None


class TopicPlan(NamedTuple):
    """A topic that may be created as it stands here.

    Args:
        placements: where each partition goes.
        encoded: those of them that are encoded already.
    """

    name: str
    placements: Sequence[Placement]
    overrides: Mapping[str, str]
    encoded: EncodedPlacements | None = None

    @property
    def partition_count(self) -> int:
        """How many partitions it is going to have."""
        return len(self.placements)

    @property
    def replication_factor(self) -> int:
        """How many replicas each of its partitions is going to have."""
        return len(self.placements[0].replicas)


class Defaults(NamedTuple):
    """What a request without numbers gets, and how the replicas are placed.

    Args:
        chance: where the first replicas are placed.
    """

    partition_count: int
    replication_factor: int
    chance: random.Random


def plan_topic(
    image: MetadataImage, new: NewTopic, defaults: Defaults, check_configs: CheckConfigs
) -> TopicPlan:
    """Check a new topic, and return its plan.

    Raises:
        InvalidTopic, TopicAlreadyExists, InvalidConfig, InvalidPartitions,
        InvalidReplicationFactor, InvalidReplicaAssignment, InvalidRequest: see the rules.

    Rule: P-102 to P-105 (ControllerApis.createTopics, ReplicationControlManager.createTopic).
    See: P-101.
    """
    if new.name == METADATA_TOPIC:
        raise InvalidRequest(f"Creation of internal topic {METADATA_TOPIC} is prohibited.")
    if new.name in image.topics:
        raise TopicAlreadyExists(f"Topic '{new.name}' already exists.")
    check_topic_name(new.name)
    colliding = image.colliding_topic(new.name)
    if colliding is not None:
        raise InvalidTopic(f"Topic '{new.name}' collides with existing topic: {colliding}")
    overrides = _overrides(new.configs)
    check_configs(overrides)
    placements = found(image.brokers, topic_places(image, new, defaults), new.ahead)
    return TopicPlan(new.name, placements, overrides, encoded_of(new.ahead))


def topic_places(image: MetadataImage, new: NewTopic, defaults: Defaults) -> Slices:
    """Find places for the partitions of a new topic.

    Raises:
        InvalidPartitions, InvalidReplicationFactor, InvalidReplicaAssignment, InvalidRequest: see
            the rules.

    See: P-103, P-104.
    """
    if new.assignments:
        _check_numbers_are_open(new)
        return (yield from assigned(image.brokers, new.assignments))
    count, factor = _numbers(new, defaults)
    try:
        is_internal = new.name in INTERNAL_TOPICS
        chance = defaults.chance
        return (yield from chosen(image.brokers, count, factor, chance, is_internal=is_internal))
    except InvalidReplicationFactor as error:
        raise InvalidReplicationFactor(
            f"Unable to replicate the partition {factor} time(s): {error.message}"
        ) from None


def _overrides(configs: Sequence[tuple[str, str | None]]) -> Mapping[str, str]:
    """Return the configs sorted by key, as Kafka writes them; nulls are refused.

    Rule: P-105.
    """
    nulls = [key for key, value in configs if value is None]
    if nulls:
        raise InvalidConfig(f"Null value not supported for topic configs: {','.join(nulls)}")
    return {key: value for key, value in sorted(dict(configs).items()) if value is not None}


def _numbers(new: NewTopic, defaults: Defaults) -> tuple[int, int]:
    """Return partition count and replication factor of a topic without a manual assignment.

    Rule: P-103.
    """
    if new.replication_factor == 0 or new.replication_factor < USE_DEFAULT:
        raise InvalidReplicationFactor(
            "Replication factor must be larger than 0, or -1 to use the default value."
        )
    if new.partition_count == 0 or new.partition_count < USE_DEFAULT:
        raise InvalidPartitions("Number of partitions was set to an invalid non-positive value.")
    count = defaults.partition_count if new.partition_count == USE_DEFAULT else new.partition_count
    factor = new.replication_factor
    return count, defaults.replication_factor if factor == USE_DEFAULT else factor


def _check_numbers_are_open(new: NewTopic) -> None:
    """Check that a topic with a manual assignment has no other numbers.

    See: P-104.
    """
    if new.replication_factor != USE_DEFAULT:
        raise InvalidRequest(
            "A manual partition assignment was specified, but replication factor was not set to -1."
        )
    if new.partition_count != USE_DEFAULT:
        raise InvalidRequest(
            "A manual partition assignment was specified, but numPartitions was not set to -1."
        )


class Growth(NamedTuple):
    """A topic that a request wants to have more partitions.

    Args:
        total: how many partitions it is to have.
        assignments: the replicas of each added partition, None to let the broker choose.
        ahead: places that were found for them; None if they are to be found now.
    """

    name: str
    total: int
    assignments: Sequence[Sequence[int]] | None = None
    ahead: Ahead | None = None


class GrowthPlan(NamedTuple):
    """A topic that may get more partitions, and where they go."""

    topic: Topic
    placements: Sequence[Placement]
    encoded: EncodedPlacements | None = None


def plan_growth(
    image: MetadataImage,
    growth: Growth,
    chance: random.Random,
    room: int = PARTITIONS_PER_REQUEST_MAX,
) -> GrowthPlan:
    """Check that a topic may have this many partitions from now on, and place those added.

    Args:
        image: of the cluster.
        growth: what is wanted.
        chance: as in Defaults.
        room: how many partitions may be added; a request may ask for billions.

    Raises:
        UnknownTopicOrPartition, InvalidPartitions, InvalidReplicaAssignment,
        InvalidReplicationFactor: see the rules.
        UnknownServerError: more are to be added than there is room for.

    Rule: P-111 (ReplicationControlManager.createPartitions).
    """
    topic = image.topics.get(growth.name)
    if topic is None:
        raise UnknownTopicOrPartition
    if growth.total == topic.partition_count:
        raise InvalidPartitions(f"Topic already has {topic.partition_count} partition(s).")
    if growth.total < topic.partition_count:
        raise InvalidPartitions(
            f"The topic {topic.name} currently has {topic.partition_count} partition(s); "
            f"{growth.total} would not be an increase."
        )
    places = growth_places(image, topic, growth, chance, room)
    placements = found(image.brokers, places, growth.ahead, topic.partition_count)
    return GrowthPlan(topic, placements, encoded_of(growth.ahead))


def growth_places(
    image: MetadataImage, topic: Topic, growth: Growth, chance: random.Random, room: int
) -> Slices:
    """Find places for the partitions that are added to a topic; see plan_growth()."""
    count = growth.total - topic.partition_count
    factor = len(topic.partitions[0].replicas)
    if growth.assignments is None:
        if count > room:
            raise UnknownServerError
        is_internal = topic.is_internal
        return (yield from chosen(image.brokers, count, factor, chance, is_internal=is_internal))
    if len(growth.assignments) != count:
        raise InvalidReplicaAssignment(
            f"Attempted to add {count} additional partition(s), but only "
            f"{len(growth.assignments)} assignment(s) were specified."
        )
    return (yield from added(image.brokers, growth.assignments, topic.partition_count, factor))


def check_partition_total(counts: Sequence[int]) -> None:
    """Check that one request does not ask for too many partitions.

    Raises:
        PolicyViolation: it asks for more than PARTITIONS_PER_REQUEST_MAX.

    Rule: P-102 (ReplicationControlManager.validateTotalNumberOfPartitions).
    """
    if sum(count for count in counts if count > 0) > PARTITIONS_PER_REQUEST_MAX:
        raise PolicyViolation("Excessively large number of partitions per request.")
