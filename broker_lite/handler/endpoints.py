"""The addresses of brokers, as answers about a leader that is elsewhere name them (KIP-951)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from broker_lite.errors import ErrorCode
from broker_lite.handler.context import HandlerContext
from broker_lite.wire.node_endpoints import NodeEndpoint
from broker_lite.wire.produce import PartitionAnswer, PartitionKey

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


def endpoints_of(context: HandlerContext, node_ids: Iterable[int]) -> list[NodeEndpoint]:
    """Return the addresses of those brokers that this client can reach.

    Rule: C-31 (KafkaApis.handleFetchRequest).
    """
    found = []
    for node_id in sorted(node_ids):
        broker = context.cluster.brokers.by_id.get(node_id)
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
    for key, answer in answers.items():
        if answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
            name, index = key
            topic = (
                cluster.topics_by_id.get(name)
                if isinstance(name, bytes)
                else cluster.topics.get(name)
            )
            if topic is not None and index < topic.partition_count:
                partition = topic.partitions[index]
                leaders[key] = partition.leader, partition.leader_epoch
    return leaders
