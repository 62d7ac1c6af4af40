"""What the differential test does not reach; codes and texts are in tests/differential."""

import pytest

from broker_lite.control.metadata.brokers import Endpoint
from broker_lite.handler.context import ListenerInfo
from tests.support.handler_broker import HandlerBroker, OpenBroker, one
from tests.support.several_brokers import talk_to


@pytest.mark.parametrize("version", range(3))
def test_p140_every_version(broker: HandlerBroker, version: int) -> None:
    response = broker.call("DescribeCluster", version)
    assert (response.cluster_id, response.controller_id) == (broker.cluster.cluster_id, 1)
    node = one(response.brokers)
    assert (node.broker_id, node.host, node.port, node.is_fenced) == (1, "127.0.0.1", 9092, False)


def test_p75_the_address_is_the_listeners(open_broker: OpenBroker) -> None:
    broker = open_broker(ListenerInfo("OUTSIDE", advertised_host="h", advertised_port=1))
    node = one(broker.call("DescribeCluster", 1).brokers)
    assert (node.host, node.port) == ("h", 1)


@pytest.mark.parametrize(
    ("version", "asked", "told"),
    [
        (1, {}, [(1, False), (2, False)]),
        (2, {"include_fenced_brokers": False}, [(1, False), (2, False)]),
        (2, {"include_fenced_brokers": True}, [(1, False), (2, False), (3, True)]),
    ],
)
def test_p140_a_broker_that_is_gone(
    open_broker: OpenBroker, version: int, asked: dict[str, bool], told: list[tuple[int, bool]]
) -> None:
    broker = talk_to(open_broker(broker_lite_brokers="3"), 1)
    broker.cluster.controller.fence(3)
    brokers = broker.call("DescribeCluster", version, **asked).brokers
    assert [(node.broker_id, node.is_fenced) for node in brokers] == told
    assert [node.port for node in brokers] == [9091 + node_id for node_id, _ in told]


def test_p140_a_broker_whose_listeners_are_closed_is_where_it_was_last(
    open_broker: OpenBroker,
) -> None:
    broker = talk_to(open_broker(broker_lite_brokers="3"), 1)
    for node_id in (2, 3):
        name = "PLAINTEXT" if node_id == 2 else "OTHER"
        broker.cluster.register(node_id, [Endpoint(name, "h", 7 + node_id)])
        broker.cluster.controller.fence(node_id)
    broker.context.sibling = lambda _: None
    told = broker.call("DescribeCluster", 2, include_fenced_brokers=True).brokers
    assert [(node.broker_id, node.host, node.port) for node in told] == [
        (1, "127.0.0.1", 9092),
        (2, "h", 9),
    ]
