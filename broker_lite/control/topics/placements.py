"""Where the partitions of a request go: places that are chosen for them, or given and checked.

A request may ask for 10,000 partitions with many replicas each, and to find their places takes much
longer than to write them down. So this is done in slices, before the change that makes them, see
ahead(). The change then has to be made in one go, because nobody may see a part of it.
"""

import random
from collections.abc import Generator, Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

from broker_lite.control.metadata.brokers import BrokerRegistrations
from broker_lite.control.metadata.metadata_records import EncodedPlacements, Placement
from broker_lite.control.topics.placing import Placer
from broker_lite.errors import BrokerError, InvalidReplicaAssignment, InvalidReplicationFactor

Slices: TypeAlias = Generator[None, None, Sequence[Placement]]
"""Finds places in slices of some microseconds, and returns them."""

_ONE_REPLICA: Final = "the brokers are several processes, which keep one replica of each partition"


class Ahead(NamedTuple):
    """Places that were found ahead.

    They do not count any more when a broker has changed, or the topic has grown meanwhile.

    Attributes:
        brokers_version: of the brokers among which they were found.
        first_index: the number of the first partition.
        placements: where each partition goes.
        encoded: these places as the metadata log has them.
        error: why there are no such places; it takes the place of the others.
    """

    brokers_version: int
    first_index: int
    placements: Sequence[Placement]
    encoded: EncodedPlacements
    error: BrokerError | None = None


def ahead(
    brokers: BrokerRegistrations, slices: Slices, metadata_version: int, first_index: int = 0
) -> Generator[None, None, Ahead]:
    """Find places, and encode them, in slices.

    Args:
        brokers: of the cluster.
        slices: finds the places among these brokers.
        metadata_version: in force, which decides on the format.
        first_index: the number of the first partition.
    """
    version, encoded = brokers.version, EncodedPlacements(metadata_version)
    try:
        placements = yield from slices
    except BrokerError as error:
        return Ahead(version, first_index, (), encoded, error.with_traceback(None))
    for placement in placements:
        encoded.of(placement)
        yield
    return Ahead(version, first_index, placements, encoded)


def found(
    brokers: BrokerRegistrations, slices: Slices, known: Ahead | None, first_index: int = 0
) -> Sequence[Placement]:
    """Return places: those that are known, or else find them now.

    Raises:
        BrokerError: there are no such places.
    """
    if known is not None and known[:2] == (brokers.version, first_index):
        if known.error is not None:
            raise known.error
        return known.placements
    while True:
        try:
            next(slices)
        except StopIteration as end:
            placements: Sequence[Placement] = end.value
            return placements


def encoded_of(known: Ahead | None) -> EncodedPlacements | None:
    """Return what was encoded ahead, whether or not the places still count."""
    return None if known is None else known.encoded


def chosen(
    brokers: BrokerRegistrations,
    count: int,
    replication_factor: int,
    chance: random.Random,
    *,
    is_internal: bool = False,
) -> Slices:
    """Place partitions that nobody has assigned; with several processes, internal ones together.

    Raises:
        InvalidReplicationFactor: there are not so many brokers, or none of them may lead.

    See: P-103, C-01, C-02.
    """
    if brokers.alone_at is not None:
        if replication_factor > 1:
            raise InvalidReplicationFactor(
                f"The target replication factor of {replication_factor} cannot be reached because "
                f"{_ONE_REPLICA}."
            )
        if is_internal:
            return [placed_at(brokers, (brokers.alone_at,))] * count
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
        yield
    return placements


def assigned(
    brokers: BrokerRegistrations, assignments: Iterable[tuple[int, Sequence[int]]]
) -> Slices:
    """Place the partitions of a new topic where somebody wants them.

    Args:
        brokers: those of the cluster.
        assignments: (partition index, broker ids) in any order.

    Raises:
        InvalidReplicaAssignment: they cannot be placed so; the error has Kafka's text.

    See: P-104.
    """
    placed: dict[int, Placement] = {}
    factor: int | None = None
    for index, replicas in assignments:
        if index in placed:
            raise InvalidReplicaAssignment(
                f"Found multiple manual partition assignments for partition {index}"
            )
        check_assignment(replicas, factor, brokers)
        placed[index] = _assigned_placement(brokers, index, replicas)
        factor = len(replicas)
        yield
    if placed.keys() != set(range(len(placed))):
        raise InvalidReplicaAssignment(
            "partitions should be a consecutive 0-based integer sequence"
        )
    return [placed[index] for index in range(len(placed))]


def added(
    brokers: BrokerRegistrations,
    assignments: Sequence[Sequence[int]],
    first_index: int,
    replication_factor: int,
) -> Slices:
    """Place the partitions that are added to a topic where somebody wants them.

    Args:
        brokers: those of the cluster.
        assignments: broker ids for each of them.
        first_index: of the first one added.
        replication_factor: of the topic.

    Raises:
        InvalidReplicaAssignment: they cannot be placed so; the error has Kafka's text.

    See: P-104, P-111.
    """
    placements = []
    for index, replicas in enumerate(assignments, first_index):
        check_assignment(replicas, replication_factor, brokers)
        placements.append(_assigned_placement(brokers, index, replicas))
        yield
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

    See: P-104 (ReplicationControlManager.validateManualPartitionAssignment).
    """
    if not replicas:
        raise InvalidReplicaAssignment(
            "The manual partition assignment includes an empty replica list."
        )
    if len(replicas) > 1 and brokers.alone_at is not None:
        raise InvalidReplicaAssignment(
            f"The manual partition assignment includes several replicas, but {_ONE_REPLICA}."
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
