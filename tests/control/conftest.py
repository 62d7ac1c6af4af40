from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.settings import Given, Settings
from tests.control.group_node import Node
from tests.support.disk import disk

__all__ = ["disk"]

OpenCluster = Callable[..., Cluster]


@pytest.fixture
def open_cluster(tmp_path: Path) -> Iterator[OpenCluster]:
    """Opens the cluster of one data directory, and closes at the end what is still open."""
    opened: list[Cluster] = []

    def open_one(**settings: str) -> Cluster:
        given = {name.replace("_", "."): Given(text, "test") for name, text in settings.items()}
        cluster = Cluster.open(Settings(given), tmp_path / "data", Clock.standing_still())
        opened.append(cluster)
        return cluster

    yield open_one
    for cluster in opened:
        cluster.close(sync=False)


@pytest.fixture
def open_node(tmp_path: Path) -> Iterator[Callable[..., Node]]:
    opened: list[Node] = []

    def open_one(clock: Clock | None = None, **texts: str) -> Node:
        node = Node(tmp_path / "data", clock, **texts)
        opened.append(node)
        if "t" not in node.cluster.topics:
            node.cluster.create_topics([node.cluster.plan_topic(NewTopic("t", 2))])
        return node

    yield open_one
    for node in opened:
        node.cluster.close(sync=False)


@pytest.fixture
def node(open_node: Callable[..., Node]) -> Node:
    return open_node()
