"""The addresses of brokers, as answers about a leader that is elsewhere name them (KIP-951)."""

from collections.abc import Iterable

from broker_lite.handler.context import HandlerContext
from broker_lite.wire.fetch import NodeEndpoint


def endpoints_of(context: HandlerContext, node_ids: Iterable[int]) -> list[NodeEndpoint]:
    """Return the addresses of those brokers that this client can reach.

    Rule: C-31 (KafkaApis.handleProduceRequest, handleFetchRequest).
    """
    found = []
    for node_id in sorted(node_ids):
        broker = context.cluster.brokers.by_id.get(node_id)
        address = context.address_of(node_id)
        if broker is not None and not broker.is_fenced and address is not None:
            found.append(NodeEndpoint(node_id, *address, broker.rack))
    return found
