"""The addresses of brokers, as answers about a leader that is elsewhere name them (KIP-951)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from broker_lite.control.metadata.topic import NO_LEADER, PartitionRegistration
from broker_lite.errors import ErrorCode
from broker_lite.handler.context import HandlerContext
from broker_lite.wire.node_endpoints import NodeEndpoint
from broker_lite.wire.produce import PartitionAnswer, PartitionKey

if TYPE_CHECKING:
    from broker_lite.control.cluster.cluster import Cluster
    from broker_lite.control.cluster.stale_view import MetadataView

LEADERS_FROM: Final = 10
"""The first version of Produce whose answers name the current leader."""


class Hints(NamedTuple):
    """Where the leaders are of the partitions that a request has asked the wrong broker for.

    Attributes:
        leaders: id and epoch of the leader, by partition.
        endpoints: the addresses of these leaders.
    """

    leaders: Mapping[PartitionKey, tuple[int, int]]
    endpoints: Sequence[NodeEndpoint]


NO_HINTS: Final = Hints({}, ())
_UNKNOWN: Final = PartitionRegistration(NO_LEADER, -1)


def endpoints_of(context: HandlerContext, node_ids: Iterable[int]) -> list[NodeEndpoint]:
    """Return the addresses of those brokers that this client can reach.

    Rule: C-31 (KafkaApis.handleFetchRequest).
    """
    found = []
    for node_id in sorted(node_ids):
        broker = context.metadata.brokers.by_id.get(node_id)
        address = context.address_of(node_id)
        if broker is not None and not broker.is_fenced and address is not None:
            found.append(NodeEndpoint(node_id, *address, broker.rack))
    return found


def hints_of(context: HandlerContext, answers: Mapping[PartitionKey, PartitionAnswer]) -> Hints:
    """Return the leaders of partitions that were produced to the wrong broker, and where they are.

    See: C-31 (KafkaApis.handleProduceRequest).
    """
    leaders = leaders_elsewhere(context, answers)
    if not leaders:
        return NO_HINTS
    return Hints(leaders, endpoints_of(context, {leader for leader, _ in leaders.values()}))


def leaders_elsewhere(
    context: HandlerContext, answers: Mapping[PartitionKey, PartitionAnswer]
) -> dict[PartitionKey, tuple[int, int]]:
    """Return id and epoch of the leaders of partitions that were produced to the wrong broker.

    See: C-31 (KafkaApis.handleProduceRequest).
    """
    cluster = context.cluster
    leaders: dict[PartitionKey, tuple[int, int]] = {}
    for (name, index), answer in answers.items():
        if answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
            leader = leader_known_to(cluster, context.node_id, name, index)
            if leader is not None:
                leaders[name, index] = leader
    return leaders


def leader_known_to(
    cluster: "Cluster", node_id: int, name: str | bytes, index: int
) -> tuple[int, int] | None:
    """Return id and epoch of the leader of a partition; None if there is no such partition.

    A broker that has a replica knows its leader. Another one looks into its metadata, which may be
    older, and may lack the partition: then both are -1.

    Args:
        cluster: the cluster.
        node_id: the broker that is asked.
        name: name or id of the topic.
        index: of the partition.

    See: C-31 (KafkaApis.getCurrentLeader).
    """
    partition = _partition(cluster, name, index)
    if partition is not None and node_id not in partition.replicas:
        partition = _partition(cluster.metadata_of(node_id), name, index) or _UNKNOWN
    return None if partition is None else (partition.leader, partition.leader_epoch)


def _partition(view: "MetadataView", name: str | bytes, index: int) -> PartitionRegistration | None:
    topic = view.topics_by_id.get(name) if isinstance(name, bytes) else view.topics.get(name)
    if topic is None or not 0 <= index < len(topic.partitions):
        return None
    return topic.partitions[index]
