"""Reassignments step by step: the outcomes were measured with three brokers of Kafka 4.3.1."""

import pytest

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.cluster.reassigning import plan_reassignment
from broker_lite.errors import InvalidReplicaAssignment, InvalidReplicationFactor
from tests.control.conftest import OpenCluster
from tests.support.several_brokers import come_back, join_isrs, partition_of, place_topic


@pytest.fixture
def cluster(open_cluster: OpenCluster) -> Cluster:
    return open_cluster(broker_lite_brokers="3")


def reassign(
    cluster: Cluster, replicas: list[int] | None, *, may_change_factor: bool = True
) -> None:
    alteration = plan_reassignment(cluster, "t", 0, replicas, may_change_factor=may_change_factor)
    cluster.controller.alter_all([alteration])


def outcome(cluster: Cluster) -> tuple[int, int, list[int], list[int]]:
    """Leader, leader epoch, replicas and ISR."""
    partition = partition_of(cluster, "t")
    return (
        partition.leader,
        partition.leader_epoch,
        list(partition.replicas),
        list(partition.isr),
    )


def test_c44_each_step_as_kafka_takes_it(cluster: Cluster) -> None:
    place_topic(cluster, "t", [1])
    reassign(cluster, [2])
    assert outcome(cluster) == (2, 1, [2], [2])
    reassign(cluster, [2, 3, 1])
    assert outcome(cluster) == (2, 1, [2, 3, 1], [1, 2, 3])
    reassign(cluster, [1, 2])
    assert outcome(cluster) == (2, 2, [1, 2], [1, 2])
    reassign(cluster, [2, 1])
    assert outcome(cluster) == (2, 2, [2, 1], [1, 2])
    before = partition_of(cluster, "t")
    reassign(cluster, [2, 1])
    assert partition_of(cluster, "t") is before


def test_c12_c44_each_step_has_a_min_isr_of_its_own(cluster: Cluster) -> None:
    cluster.update_features({"eligible.leader.replicas.version": 1})
    place_topic(cluster, "t", [1, 2], [1, 2], min_insync_replicas="2")
    reassign(cluster, [1])
    assert partition_of(cluster, "t").eligible == (2,)
    reassign(cluster, [2])
    assert outcome(cluster) == (2, 2, [2], [2])
    assert partition_of(cluster, "t").eligible == (1,)


def test_c44_the_partition_epoch_counts_both_steps(cluster: Cluster) -> None:
    place_topic(cluster, "t", [1])
    reassign(cluster, [2])
    assert partition_of(cluster, "t").partition_epoch == 2
    reassign(cluster, [2, 1, 3])
    assert partition_of(cluster, "t").partition_epoch == 4
    reassign(cluster, [1, 2])
    assert partition_of(cluster, "t").partition_epoch == 5


def test_c44_the_change_is_in_the_metadata_log(cluster: Cluster, open_cluster: OpenCluster) -> None:
    place_topic(cluster, "t", [1])
    reassign(cluster, [2, 3])
    after = partition_of(cluster, "t")
    cluster.close()
    assert partition_of(open_cluster(broker_lite_brokers="3"), "t") == after


def test_c43_a_new_broker_that_is_gone_keeps_the_old_ones(
    cluster: Cluster, open_cluster: OpenCluster
) -> None:
    place_topic(cluster, "t", [2])
    cluster.controller.fence(3)
    reassign(cluster, [3])
    moving = partition_of(cluster, "t")
    assert (moving.replicas, moving.adding, moving.removing) == ((3, 2), (3,), (2,))
    assert (moving.leader, moving.isr, moving.partition_epoch) == (2, (2,), 1)
    cluster.close()
    again = open_cluster(broker_lite_brokers="3")
    assert partition_of(again, "t") == moving
    come_back(again, 3)
    assert outcome(again) == (3, 1, [3], [3])
    assert not partition_of(again, "t").adding


def test_c43_another_target_while_the_first_is_in_progress(cluster: Cluster) -> None:
    place_topic(cluster, "t", [2])
    cluster.controller.fence(3)
    reassign(cluster, [2, 3])
    with pytest.raises(InvalidReplicationFactor, match="changed from 2 to 1"):
        reassign(cluster, [3], may_change_factor=False)
    reassign(cluster, [1, 3], may_change_factor=False)
    assert outcome(cluster) == (1, 1, [1, 3], [1])
    assert not partition_of(cluster, "t").adding


def test_c43_more_brokers_go_than_come(cluster: Cluster) -> None:
    place_topic(cluster, "t", [3, 1, 2])
    cluster.controller.fence(3)
    reassign(cluster, [3])
    moving = partition_of(cluster, "t")
    assert (moving.leader, moving.isr, moving.removing) == (1, (1, 2), (1, 2))
    reassign(cluster, None)
    assert outcome(cluster) == (1, 1, [3, 1, 2], [1, 2])
    reassign(cluster, [3, 2])
    assert partition_of(cluster, "t").removing == (1,)
    come_back(cluster, 3)
    assert outcome(cluster) == (3, 2, [3, 2], [2, 3])


def test_c44_nobody_leads_the_partition(cluster: Cluster) -> None:
    place_topic(cluster, "t", [3])
    cluster.controller.fence(3)
    reassign(cluster, [1])
    moving = partition_of(cluster, "t")
    assert (moving.leader, moving.replicas, moving.isr) == (-1, (1, 3), ())
    with pytest.raises(InvalidReplicaAssignment, match="for t:0 because it would require an uncl"):
        reassign(cluster, None)
    come_back(cluster, 3)
    assert partition_of(cluster, "t").leader == 3


def test_c45_a_cancelled_move_may_lose_records(cluster: Cluster) -> None:
    place_topic(cluster, "t", [3], unclean_leader_election_enable="true")
    cluster.controller.fence(3)
    reassign(cluster, [1])
    assert partition_of(cluster, "t").adding == (1,)
    reassign(cluster, None)
    partition = partition_of(cluster, "t")
    assert (partition.replicas, partition.isr, partition.adding) == ((3,), (3,), ())


def test_c45_all_replicas_are_new(cluster: Cluster) -> None:
    place_topic(cluster, "t", [3])
    before = partition_of(cluster, "t")
    odd = before._replace(adding=(3,), isr=(), leader=-1)
    cluster.controller.alter(cluster.topics["t"], 0, odd)
    with pytest.raises(InvalidReplicaAssignment, match="addingReplicas contains all replicas"):
        reassign(cluster, None)


def test_c43_a_broker_whose_silence_is_not_noticed_does_not_join(cluster: Cluster) -> None:
    place_topic(cluster, "t", [1])
    cluster.membership.go_silent(3)
    reassign(cluster, [2, 3])
    moving = partition_of(cluster, "t")
    assert (moving.isr, moving.adding) == ((1, 2), (2, 3))
    cluster.membership.speak(3)
    join_isrs(cluster, 3)
    assert outcome(cluster) == (2, 1, [2, 3], [2, 3])


def test_c43_nobody_joins_while_the_leader_is_silent(cluster: Cluster) -> None:
    place_topic(cluster, "t", [1])
    cluster.membership.go_silent(1)
    reassign(cluster, [2])
    assert outcome(cluster) == (1, 0, [2, 1], [1])
