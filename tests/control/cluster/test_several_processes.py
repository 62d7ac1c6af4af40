"""What the controller does otherwise when each broker is a process: one replica, and no moves."""

import pytest

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.cluster.reassigning import plan_reassignment
from broker_lite.control.metadata.brokers import Endpoint
from broker_lite.control.topics.topic_rules import Growth, NewTopic
from broker_lite.errors import InvalidReplicaAssignment, InvalidReplicationFactor
from tests.control.conftest import OpenCluster


@pytest.fixture
def cluster(open_cluster: OpenCluster) -> Cluster:
    cluster = open_cluster(broker_lite_processes="3", node_id="5")
    for node_id in cluster.all_node_ids:
        cluster.register(node_id, [Endpoint("PLAINTEXT", "h", 9090 + node_id)])
    return cluster


def test_each_process_has_a_broker(cluster: Cluster) -> None:
    assert list(cluster.node_ids) == [5]
    assert list(cluster.all_node_ids) == [5, 6, 7]
    assert [one.node_id for one in cluster.brokers.alive()] == [5, 6, 7]
    assert cluster.settings_of(7).node_id == 7


def test_c_01_partitions_are_spread_with_one_replica_each(cluster: Cluster) -> None:
    plan = cluster.plan_topic(NewTopic("t", 6))
    replicas = [placement.replicas for placement in plan.placements]
    assert sorted(replicas) == [(5,), (5,), (6,), (6,), (7,), (7,)]


def test_c_01_more_replicas_are_refused(cluster: Cluster) -> None:
    with pytest.raises(InvalidReplicationFactor) as refused:
        cluster.plan_topic(NewTopic("t", 6, 2))
    assert refused.value.message is not None
    assert "the brokers are several processes" in refused.value.message
    with pytest.raises(InvalidReplicaAssignment):
        cluster.plan_topic(NewTopic("t", assignments=((0, [5, 6]),)))


@pytest.mark.parametrize("name", ["__consumer_offsets", "__transaction_state"])
def test_internal_topics_are_where_the_coordinators_are(cluster: Cluster, name: str) -> None:
    topic = cluster.create_topic(name)
    assert {partition.replicas for partition in topic.partitions} == {(5,)}
    plan = cluster.plan_growth(Growth(name, topic.partition_count + 4))
    assert {placement.replicas for placement in plan.placements} == {(5,)}


def test_c_44_a_partition_stays_in_its_process(cluster: Cluster) -> None:
    plan = cluster.plan_topic(NewTopic("t", assignments=((0, [6]),)))
    cluster.create_topics([plan])
    with pytest.raises(InvalidReplicaAssignment) as refused:
        plan_reassignment(cluster, "t", 0, [7])
    assert refused.value.message is not None
    assert "stay in theirs" in refused.value.message
    assert not plan_reassignment(cluster, "t", 0, [6]).steps


def test_the_controller_takes_a_process_out_and_in(cluster: Cluster) -> None:
    cluster.create_topics([cluster.plan_topic(NewTopic("t", assignments=((0, [6]), (1, [5]))))])
    cluster.membership.fence(6)
    assert [one.leader for one in cluster.topics["t"].partitions] == [-1, 5]
    cluster.membership.prepare_return(6, was_killed=True)
    directory = bytes(range(16))
    cluster.register(6, [Endpoint("PLAINTEXT", "h", 9096)], directory)
    assert [one.leader for one in cluster.topics["t"].partitions] == [6, 5]
    assert cluster.brokers.by_id[6].directories == (directory,)


def test_leaders_stay_when_all_stop_and_start(open_cluster: OpenCluster, cluster: Cluster) -> None:
    cluster.create_topics([cluster.plan_topic(NewTopic("t", assignments=((0, [6]), (1, [5]))))])
    before = cluster.topics["t"].partitions
    cluster.close()
    again = open_cluster(broker_lite_processes="3", node_id="5")
    assert again.topics["t"].partitions == before
