"""Fewer processes than a data directory needs."""

import pytest

from broker_lite.control.metadata.brokers import Endpoint
from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.errors import SettingsError
from tests.control.conftest import OpenCluster


def made(open_cluster: OpenCluster, processes: str, leaders: list[int]) -> None:
    cluster = open_cluster(broker_lite_processes=processes)
    for node_id in cluster.all_node_ids:
        cluster.register(node_id, [Endpoint("PLAINTEXT", "h", 9090 + node_id)])
    assigned = tuple((index, [leader]) for index, leader in enumerate(leaders))
    cluster.create_topics([cluster.plan_topic(NewTopic("t", assignments=assigned))])
    (cluster.logs.data_dir / "nodes").mkdir()
    cluster.close()


@pytest.mark.parametrize(("processes", "there"), [("1", 1), ("2", 2)])
def test_it_is_refused_in_one_line(open_cluster: OpenCluster, processes: str, there: int) -> None:
    made(open_cluster, "4", [1, 3, 2])
    with pytest.raises(SettingsError) as refused:
        open_cluster(broker_lite_processes=processes)
    assert "has partitions of 3 processes, and there would be " + str(there) in str(refused.value)
    assert "start with --processes 3" in str(refused.value)


@pytest.mark.parametrize("processes", ["3", "4", "5"])
def test_as_many_or_more_are_good(open_cluster: OpenCluster, processes: str) -> None:
    made(open_cluster, "4", [1, 3, 2])
    assert len(open_cluster(broker_lite_processes=processes).all_node_ids) == int(processes)


def test_processes_without_partitions_are_not_missed(open_cluster: OpenCluster) -> None:
    made(open_cluster, "4", [1, 1])
    assert open_cluster().topics["t"].partition_count == 2
