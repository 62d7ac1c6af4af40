"""Checks whether a topic may be created or may grow, and fills in the defaults of a request.

Pure functions: they take the image and a request, and return a plan or raise an error. The checks
are in Kafka's order, because a request with two errors gets the first one.

Source: ReplicationControlManager (createTopic, createPartitions), ControllerApis.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from broker_lite.control.metadata.image import MetadataImage
from broker_lite.control.metadata.topic import Topic
from broker_lite.control.metadata.topic_names import check_topic_name
from broker_lite.errors import (
    InvalidConfig,
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidRequest,
    InvalidTopic,
    PolicyViolation,
    TopicAlreadyExists,
    UnknownTopicOrPartition,
)
from broker_lite.log.files.names import METADATA_TOPIC
from broker_lite.settings import Settings

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
    """A checked topic, ready to be created."""

    name: str
    partition_count: int
    replication_factor: int
    overrides: Mapping[str, str]


class Defaults(NamedTuple):
    """The default numbers for a request without numbers, and the registered brokers."""

    partition_count: int
    replication_factor: int
    broker_ids: frozenset[int]

    @classmethod
    def of(cls, settings: Settings, node_id: int) -> "Defaults":
        """Make the defaults for a cluster of one broker."""
        factor = settings.default_replication_factor
        return cls(settings.num_partitions, factor, frozenset((node_id,)))


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
        count, factor = _assigned(new, defaults.broker_ids)
    else:
        count, factor = _numbers(new, defaults)
    return TopicPlan(new.name, count, factor, overrides)


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
    if factor == USE_DEFAULT:
        factor = defaults.replication_factor
    broker_count = len(defaults.broker_ids)
    if factor > broker_count:
        raise InvalidReplicationFactor(
            f"Unable to replicate the partition {factor} time(s): The target replication factor "
            f"of {factor} cannot be reached because only {broker_count} broker(s) are registered "
            "or some brokers have all their log directories cordoned."
        )
    return count, factor


def _assigned(new: NewTopic, broker_ids: frozenset[int]) -> tuple[int, int]:
    """Return partition count and replication factor of a manual assignment.

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
    indexes: set[int] = set()
    factor: int | None = None
    for index, replicas in new.assignments:
        if index in indexes:
            raise InvalidReplicaAssignment(
                f"Found multiple manual partition assignments for partition {index}"
            )
        indexes.add(index)
        check_assignment(replicas, factor, broker_ids)
        factor = len(replicas)
    if indexes != set(range(len(indexes))):
        raise InvalidReplicaAssignment(
            "partitions should be a consecutive 0-based integer sequence"
        )
    assert factor is not None
    return len(indexes), factor


def check_assignment(
    replicas: Sequence[int], replication_factor: int | None, broker_ids: frozenset[int]
) -> None:
    """Check the replicas given for one partition.

    Args:
        replicas: broker ids in the order of preference.
        replication_factor: how many replicas there must be, None for any number.
        broker_ids: the registered brokers.

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
        if broker_id not in broker_ids:
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


def check_growth(
    topic: Topic | None,
    count: int,
    assignments: Sequence[Sequence[int]] | None,
    broker_ids: frozenset[int],
) -> Topic:
    """Check that a topic may have this many partitions from now on.

    Args:
        topic: None if it does not exist.
        count: the new total.
        assignments: the replicas of each added partition, None to let the broker choose.
        broker_ids: the registered brokers.

    Raises:
        UnknownTopicOrPartition, InvalidPartitions, InvalidReplicaAssignment: see the rules.

    Rule: P-111 (ReplicationControlManager.createPartitions).
    """
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
    if assignments is not None:
        if len(assignments) != added:
            raise InvalidReplicaAssignment(
                f"Attempted to add {added} additional partition(s), but only {len(assignments)} "
                "assignment(s) were specified."
            )
        for replicas in assignments:
            check_assignment(replicas, 1, broker_ids)
    return topic


def check_partition_total(counts: Sequence[int]) -> None:
    """Check that one request does not ask for too many partitions.

    Raises:
        PolicyViolation: it asks for more than PARTITIONS_PER_REQUEST_MAX.

    Rule: P-102 (ReplicationControlManager.validateTotalNumberOfPartitions).
    """
    if sum(count for count in counts if count > 0) > PARTITIONS_PER_REQUEST_MAX:
        raise PolicyViolation("Excessively large number of partitions per request.")
