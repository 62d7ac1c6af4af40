"""What processes tell each other as JSON."""

from pathlib import Path

from broker_lite.control.metadata.brokers import Endpoint
from broker_lite.handler.context import ListenerInfo
from broker_lite.server.listener import ListenerAddress
from broker_lite.server.processes.plan import Hello, Plan, decode_nodes, encode_nodes
from broker_lite.settings import Given, Settings

INFO = ListenerInfo("PLAINTEXT", "PLAINTEXT", "advertised", 1, 2, "gateway", 3)
ADDRESS = ListenerAddress(INFO, "", 9093)


def test_a_plan_arrives_as_it_was() -> None:
    settings = Settings({"node.id": Given("2", "--processes"), "num.partitions": Given("3", "f")})
    plan = Plan(settings, Path("/data/nodes/2"), "cluster", [ADDRESS], True, 5, 7)
    assert Plan.decode(plan.encode()) == plan


def test_a_hello_arrives_as_it_was() -> None:
    hello = Hello("id", False, [Endpoint("PLAINTEXT", "h", 5)], [ADDRESS], "h:5")
    assert Hello.decode(hello.encode()) == hello


def test_the_listeners_of_all_brokers_arrive_as_they_were() -> None:
    nodes = {1: [INFO], 12: [INFO, INFO._replace(name="B")], 3: []}
    assert decode_nodes(encode_nodes(nodes)) == nodes
