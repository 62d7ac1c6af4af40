"""Checks whether a topic may be created or may grow, and fills in the defaults of a request.

Pure functions: they take the image and a request, and return a plan or raise an error. The checks
are in Kafka's order, because a request with two errors gets the first one.

Source: ReplicationControlManager (createTopic, createPartitions), ControllerApis.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from broker_lite.control.metadata.brokers import BrokerRegistrations
from broker_lite.control.metadata.image import MetadataImage
from broker_lite.control.metadata.metadata_records import Placement
from broker_lite.control.metadata.topic import Topic
from broker_lite.control.metadata.topic_names import check_topic_name
from broker_lite.control.topics.placing import Placer
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
    """

    name: str
    partition_count: int = USE_DEFAULT
    replication_factor: int = USE_DEFAULT
    assignments: Sequence[tuple[int, Sequence[int]]] = ()
    configs: Sequence[tuple[str, str | None]] = ()


class TopicPlan(NamedTuple):
    """A topic that may be created as it stands here.

    Args:
        placements: where each partition goes.
    """

    name: str
    placements: Sequence[Placement]
    overrides: Mapping[str, str]

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
    if new.assignments:
        placements = _assigned(new, image.brokers)
    else:
        count, factor = _numbers(new, defaults)
        try:
            placements = _placed(image.brokers, count, factor, defaults.chance)
        except InvalidReplicationFactor as error:
            raise InvalidReplicationFactor(
                f"Unable to replicate the partition {factor} time(s): {error.message}"
            ) from None
    return TopicPlan(new.name, placements, overrides)


def _placed(
    brokers: BrokerRegistrations, count: int, replication_factor: int, chance: random.Random
) -> list[Placement]:
    """Place partitions that nobody has assigned.

    Raises:
        InvalidReplicationFactor: there are not so many brokers, or none of them may lead.

    Rule: P-103.
    See: C-01, C-02.
    """
    usable = brokers.usable()
    placer = Placer(usable, chance=chance)
    placer.check(replication_factor)
    if len(usable) == 1:  # nothing to choose: a topic may get 10,000 partitions at once
        return [placed_at(brokers, (usable[0].node_id,))] * count
    known: dict[tuple[int, ...], Placement] = {}
    placements = []
    for _ in range(count):
        replicas = placer.place(replication_factor)
        placement = known.get(replicas)
        if placement is None:
            placement = known[replicas] = placed_at(brokers, replicas)
        placements.append(placement)
    return placements


def _assigned_placement(
    brokers: BrokerRegistrations, index: int, replicas: Sequence[int]
) -> Placement:
    """Return the placement of a partition whose replicas somebody has chosen.

    Raises:
        InvalidReplicaAssignment: none of the brokers may lead.

    Rule: C-03 (ReplicationControlManager.createTopic).
    """
    placement = placed_at(brokers, tuple(replicas))
    if not placement.isr:
        raise InvalidReplicaAssignment(
            f"All brokers specified in the manual partition assignment for partition {index} are "
            "fenced or in controlled shutdown."
        )
    return placement


def placed_at(brokers: BrokerRegistrations, replicas: tuple[int, ...]) -> Placement:
    """Return the placement of a new partition; those of the brokers that are active are in sync."""
    return Placement(
        replicas,
        tuple(filter(brokers.is_active, replicas)),
        tuple(map(brokers.default_directory, replicas)),
    )


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


def _assigned(new: NewTopic, brokers: BrokerRegistrations) -> list[Placement]:
    """Return the placement of each partition of a manual assignment.

    Rule: P-104.
    """
    if new.replication_factor != USE_DEFAULT:
        raise InvalidRequest(
            "A manual partition assignment was specified, but replication factor was not set to -1."
        )
    if new.partition_count != USE_DEFAULT:
        raise InvalidRequest(
            "A manual partition assignment was specified, but numPartitions was not set to -1."
        )
    assigned: dict[int, Placement] = {}
    factor: int | None = None
    for index, replicas in new.assignments:
        if index in assigned:
            raise InvalidReplicaAssignment(
                f"Found multiple manual partition assignments for partition {index}"
            )
        check_assignment(replicas, factor, brokers)
        assigned[index] = _assigned_placement(brokers, index, replicas)
        factor = len(replicas)
    if assigned.keys() != set(range(len(assigned))):
        raise InvalidReplicaAssignment(
            "partitions should be a consecutive 0-based integer sequence"
        )
    return [assigned[index] for index in range(len(assigned))]


def check_assignment(
    replicas: Sequence[int], replication_factor: int | None, brokers: BrokerRegistrations
) -> None:
    """Check the replicas given for one partition.

    Args:
        replicas: broker ids in the order of preference.
        replication_factor: how many there must be, None if any number will do.
        brokers: those of the cluster.

    Raises:
        InvalidReplicaAssignment: the replicas are not valid; the error has Kafka's text.

    Rule: P-104 (ReplicationControlManager.validateManualPartitionAssignment).
    """
    if not replicas:
        raise InvalidReplicaAssignment(
            "The manual partition assignment includes an empty replica list."
        )
    previous = None
    for broker_id in sorted(replicas):
        if broker_id not in brokers.by_id:
            raise InvalidReplicaAssignment(
                f"The manual partition assignment includes broker {broker_id}, but no such "
                "broker is registered."
            )
        if broker_id == previous:
            raise InvalidReplicaAssignment(
                f"The manual partition assignment includes the broker {broker_id} more than once."
            )
        previous = broker_id
    if replication_factor is not None and len(replicas) != replication_factor:
        raise InvalidReplicaAssignment(
            f"The manual partition assignment includes a partition with {len(replicas)} "
            f"replica(s), but this is not consistent with previous partitions, which have "
            f"{replication_factor} replica(s)."
        )


def plan_growth(
    image: MetadataImage,
    name: str,
    count: int,
    assignments: Sequence[Sequence[int]] | None,
    chance: random.Random,
    room: int = PARTITIONS_PER_REQUEST_MAX,
) -> "GrowthPlan":
    """Check that a topic may have this many partitions from now on, and place those added.

    Args:
        image: of the cluster.
        name: of the topic.
        count: the new total.
        assignments: the replicas of each added partition, None to let the broker choose.
        chance: as in Defaults.
        room: how many partitions may be added; a request may ask for billions.

    Raises:
        UnknownTopicOrPartition, InvalidPartitions, InvalidReplicaAssignment,
        InvalidReplicationFactor: see the rules.
        UnknownServerError: more are to be added than there is room for.

    Rule: P-111 (ReplicationControlManager.createPartitions).
    """
    topic = image.topics.get(name)
    if topic is None:
        raise UnknownTopicOrPartition
    if count == topic.partition_count:
        raise InvalidPartitions(f"Topic already has {topic.partition_count} partition(s).")
    if count < topic.partition_count:
        raise InvalidPartitions(
            f"The topic {topic.name} currently has {topic.partition_count} partition(s); "
            f"{count} would not be an increase."
        )
    added = count - topic.partition_count
    factor = len(topic.partitions[0].replicas)
    if assignments is None:
        if added > room:
            raise UnknownServerError
        return GrowthPlan(topic, _placed(image.brokers, added, factor, chance))
    if len(assignments) != added:
        raise InvalidReplicaAssignment(
            f"Attempted to add {added} additional partition(s), but only {len(assignments)} "
            "assignment(s) were specified."
        )
    placements = []
    for index, replicas in enumerate(assignments, topic.partition_count):
        check_assignment(replicas, factor, image.brokers)
        placements.append(_assigned_placement(image.brokers, index, replicas))
    return GrowthPlan(topic, placements)


class GrowthPlan(NamedTuple):
    """A topic that may get more partitions, and where they go."""

    topic: Topic
    placements: Sequence[Placement]


def check_partition_total(counts: Sequence[int]) -> None:
    """Check that one request does not ask for too many partitions.

    Raises:
        PolicyViolation: it asks for more than PARTITIONS_PER_REQUEST_MAX.

    Rule: P-102 (ReplicationControlManager.validateTotalNumberOfPartitions).
    """
    if sum(count for count in counts if count > 0) > PARTITIONS_PER_REQUEST_MAX:
        raise PolicyViolation("Excessively large number of partitions per request.")
