"""Elections that the clock asks for; their outcomes are in tests/handler/cluster.

Also tests: broker_lite.control.cluster.electing.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.cluster.controller import Alteration
from broker_lite.control.cluster.electing import preferred_elections, unclean_elections
from broker_lite.control.metadata.topic import Topic
from broker_lite.server.upkeep.leaders import elect, keep_leaders
from broker_lite.settings import Given, Settings
from tests.support.several_brokers import come_back, partition_of, place_topic

pytestmark = pytest.mark.anyio

OpenCluster = Callable[..., tuple[Cluster, Clock]]


@pytest.fixture
def anyio_backend() -> Any:
    return ("asyncio", {"use_uvloop": True})


@pytest.fixture
def open_cluster(tmp_path: Path) -> Iterator[OpenCluster]:
    with ExitStack() as stack:

        def open_one(brokers: int = 3, **texts: str) -> tuple[Cluster, Clock]:
            clock = Clock()
            texts["broker_lite_brokers"] = str(brokers)
            given = {name.replace("_", "."): Given(text, "test") for name, text in texts.items()}
            cluster = Cluster.open(Settings(given), tmp_path, clock)
            stack.callback(cluster.close, sync=False)
            return cluster, clock

        yield open_one


def leaders(cluster: Cluster, name: str = "t") -> list[int]:
    return [partition.leader for partition in cluster.topics[name].partitions]


async def test_c41_preferred_replicas_lead_again(open_cluster: OpenCluster) -> None:
    cluster, _ = open_cluster()
    place_topic(cluster, "t", [1, 2], [2, 3], [3, 1], [2, 1], [3, 2])
    place_topic(cluster, "u", [2])
    cluster.controller.fence(2)
    assert leaders(cluster) == [1, 3, 3, 1, 3]
    await elect(cluster, preferred_elections, at_a_time=2)
    assert leaders(cluster) == [1, 3, 3, 1, 3]
    come_back(cluster, 2)
    await elect(cluster, preferred_elections, "u", at_a_time=2)
    assert leaders(cluster) == [1, 3, 3, 1, 3]
    await elect(cluster, preferred_elections, at_a_time=2)
    assert leaders(cluster) == [1, 2, 3, 2, 3]


async def test_c42_topics_that_may_lose_records_get_a_leader(open_cluster: OpenCluster) -> None:
    cluster, _ = open_cluster()
    place_topic(cluster, "t", [2, 3], unclean_leader_election_enable="true")
    place_topic(cluster, "u", [2, 3])
    for name in "tu":
        odd = partition_of(cluster, name)._replace(leader=-1, leader_epoch=1, isr=(2,))
        cluster.controller.alter(cluster.topics[name], 0, odd)
    cluster.controller.fence(2)
    for name in "tu":
        odd = partition_of(cluster, name)
        cluster.controller.alter(cluster.topics[name], 0, odd._replace(leader=-1, leader_epoch=9))
    await elect(cluster, unclean_elections)
    assert (leaders(cluster, "t"), leaders(cluster, "u")) == ([3], [-1])
    assert partition_of(cluster, "t").is_recovering


async def test_a_topic_that_is_deleted_meanwhile(open_cluster: OpenCluster) -> None:
    cluster, _ = open_cluster()
    first = place_topic(cluster, "first", [1, 2])
    deleted = place_topic(cluster, "t", [1, 2])
    planned = []

    def plan(cluster: Cluster, topic: Topic, indexes: range) -> list[Alteration]:
        planned.append(topic)
        cluster.delete_topics([deleted])
        return preferred_elections(cluster, topic, indexes)

    await elect(cluster, plan)
    assert planned == [first]
    assert list(cluster.topics) == ["first"]


@pytest.mark.parametrize(
    ("settings", "leader"),
    [
        ({"leader_imbalance_check_interval_seconds": "60"}, 2),
        ({"auto_leader_rebalance_enable": "false"}, 1),
    ],
    ids=["enabled", "disabled"],
)
async def test_c41_leaders_are_rebalanced_when_it_is_time(
    open_cluster: OpenCluster, settings: dict[str, str], leader: int
) -> None:
    cluster, clock = open_cluster(unclean_leader_election_interval_ms="60000", **settings)
    place_topic(cluster, "t", [2, 1])
    cluster.controller.fence(2)
    come_back(cluster, 2)
    place_topic(cluster, "u", [3], unclean_leader_election_enable="true")
    odd = partition_of(cluster, "u")._replace(leader=-1, leader_epoch=1)
    cluster.controller.alter(cluster.topics["u"], 0, odd)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(keep_leaders, cluster, clock)
            await anyio.sleep(0.02)
            assert (leaders(cluster), leaders(cluster, "u")) == ([1], [-1])
            clock.step(60_000)
            for _ in range(500):
                await anyio.sleep(0.01)
                if leaders(cluster, "u") == [3] and leaders(cluster) == [leader]:
                    break
            group.cancel_scope.cancel()
    assert (leaders(cluster), leaders(cluster, "u")) == ([leader], [3])


async def test_one_broker_holds_no_elections(open_cluster: OpenCluster) -> None:
    cluster, clock = open_cluster(brokers=1)
    with anyio.fail_after(10):
        await keep_leaders(cluster, clock)
