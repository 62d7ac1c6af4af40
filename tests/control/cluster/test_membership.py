"""The brokers of one process, over a directory that is opened again."""

from collections.abc import Sequence

import pytest

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.cluster.elections import Election, ReplicaMove, change
from broker_lite.control.metadata import metadata_records as kinds
from broker_lite.control.metadata.brokers import Endpoint
from broker_lite.control.metadata.metadata_records import decode
from broker_lite.control.metadata.topic import NO_LEADER
from broker_lite.control.topics.topic_rules import Growth, NewTopic
from broker_lite.record.records import iterate_records
from tests.control.conftest import OpenCluster
from tests.control.metadata_files import stored
from tests.log.batches import batch, record

THREE = {"broker_lite_brokers": "3", "broker_lite_features": "metadata.version=30"}


def started(open_cluster: OpenCluster, count: int = 3, **settings: str) -> Cluster:
    """A cluster of which all brokers are registered, as the server does it."""
    cluster = open_cluster(broker_lite_brokers=str(count), **settings)
    for node_id in cluster.node_ids:
        cluster.register(node_id, [Endpoint("PLAINTEXT", "h", 9090 + node_id)])
    return cluster


def with_topic(cluster: Cluster, replicas: Sequence[Sequence[int]], name: str = "t") -> None:
    assigned = tuple(enumerate(replicas))
    cluster.create_topics([cluster.plan_topic(NewTopic(name, assignments=assigned))])
    cluster.make_logs(cluster.topics[name])


def stored_kinds(cluster: Cluster, start: int) -> list[int]:
    """The kinds of records of the metadata log from an offset on."""
    path = cluster.logs.data_dir / "__cluster_metadata-0" / f"{0:020d}.log"
    return [
        decode(one.value or b"").api_key
        for each in stored(path)
        if not each.is_control and each.base_offset >= start
        for one in iterate_records(each)
    ]


def test_the_brokers_of_a_process_have_ids_side_by_side(open_cluster: OpenCluster) -> None:
    cluster = started(open_cluster, node_id="5")
    assert list(cluster.node_ids) == [5, 6, 7]
    assert list(cluster.brokers.by_id) == [5, 6, 7]
    assert all(one.is_active for one in cluster.brokers.by_id.values())
    assert [one.endpoints[0].port for one in cluster.brokers.alive()] == [9095, 9096, 9097]
    assert cluster.controller_id == 5


@pytest.mark.parametrize(
    ("settings", "racks"),
    [
        ({}, [None, None, None]),
        ({"broker_rack": "r"}, ["r", "r", "r"]),
        ({"broker_lite_racks": "a,b"}, ["a", "b", "a"]),
        ({"broker_lite_racks": "a,a, b"}, ["a", "a", "b"]),
        ({"broker_lite_racks": "a,,b"}, ["a", None, "b"]),
        ({"broker_lite_racks": "a,b,c,d", "broker_rack": "r"}, ["a", "b", "c"]),
    ],
)
def test_each_broker_has_its_rack(
    open_cluster: OpenCluster, settings: dict[str, str], racks: list[str | None]
) -> None:
    cluster = started(open_cluster, **settings)
    assert [one.rack for one in cluster.brokers.alive()] == racks
    assert [cluster.rack_of(node_id) for node_id in cluster.node_ids] == racks


def test_each_broker_has_a_directory_id_of_its_own_and_keeps_it(open_cluster: OpenCluster) -> None:
    first = started(open_cluster)
    directories = [one.directories for one in first.brokers.alive()]
    assert len({*directories}) == 3
    with_topic(first, [[2, 3, 1]])
    first.close()
    second = started(open_cluster)
    assert [one.directories for one in second.brokers.alive()] == directories
    assert {second.brokers.default_directory(one) for one in (1, 2, 3)} == {
        one for (one,) in directories
    }


def test_brokers_count_before_they_have_told_their_addresses(open_cluster: OpenCluster) -> None:
    """So that the topics of a seed are there before a client can connect; nothing is written."""
    cluster = open_cluster(**THREE, default_replication_factor="3")
    end = cluster.metadata_log.end_offset
    assert [one.endpoints for one in cluster.brokers.alive()] == [(), (), ()]
    assert [one.epoch for one in cluster.brokers.alive()] == [-1, -1, -1]
    assert cluster.metadata_log.end_offset == end
    topic = cluster.create_topic("t")
    assert sorted(topic.partitions[0].isr) == [1, 2, 3]


def test_c20_a_registration_is_a_record_and_an_epoch(open_cluster: OpenCluster) -> None:
    cluster = open_cluster(broker_lite_brokers="2")
    end = cluster.metadata_log.end_offset
    cluster.register(1, [])
    cluster.register(2, [])
    assert [one.epoch for one in cluster.brokers.alive()] == [end, end + 2]
    assert (
        stored_kinds(cluster, end)
        == [
            kinds.REGISTER_BROKER,
            kinds.BROKER_REGISTRATION_CHANGE,
        ]
        * 2
    )


def test_a_stop_fences_all_brokers_and_moves_no_leader(open_cluster: OpenCluster) -> None:
    first = started(open_cluster)
    with_topic(first, [[1, 2, 3], [2, 3, 1], [3, 1, 2]])
    partitions, end = first.topics["t"].partitions, first.metadata_log.end_offset
    first.membership.leave()
    assert stored_kinds(first, end) == [kinds.BROKER_REGISTRATION_CHANGE] * 3
    assert first.brokers.alive() == []
    assert first.controller_id == -1
    assert first.topics["t"].partitions == partitions
    first.membership.leave()
    assert first.metadata_log.end_offset == end + 3


def test_a_broker_that_was_fenced_before_the_stop_is_not_fenced_again(
    open_cluster: OpenCluster,
) -> None:
    cluster = started(open_cluster)
    cluster.controller.fence(2)
    end = cluster.metadata_log.end_offset
    cluster.membership.leave()
    assert stored_kinds(cluster, end) == [kinds.BROKER_REGISTRATION_CHANGE] * 2


@pytest.mark.parametrize("sync", [True, False], ids=["stopped", "killed"])
def test_p89_a_restart_keeps_leaders_epochs_and_isrs(open_cluster: OpenCluster, sync: bool) -> None:
    first = started(open_cluster)
    with_topic(first, [[1, 2, 3], [2, 3, 1], [3, 1, 2]])
    topic = first.topics["t"]
    before = topic.partitions[1]
    shrunk = change(before, first.controller.terms(topic), isr=(2, 3))
    first.controller.alter(topic, 1, shrunk)
    topic = first.topics["t"]
    led = change(
        topic.partitions[0], first.controller.terms(topic), isr=(2, 3), move=ReplicaMove((2, 3))
    )
    first.controller.alter(topic, 0, led)
    first.log("t", 0).append_batch(batch(record()), now_ms=1)
    partitions = first.topics["t"].partitions
    assert (partitions[0].leader, partitions[0].leader_epoch) == (2, 1)
    first.close(sync=sync)
    second = started(open_cluster)
    assert second.topics["t"].partitions == partitions
    assert [second.log("t", index).leader_id for index in range(3)] == [2, 2, 3]
    assert [second.log("t", index).leader_epoch for index in range(3)] == [1, 0, 0]
    assert second.log("t", 0).log_end_offset == 1


def test_c21_fewer_brokers_lead_what_the_others_led(open_cluster: OpenCluster) -> None:
    """The process is started again with one broker: the others are fenced as dead ones."""
    first = started(open_cluster)
    with_topic(first, [[1, 2, 3], [2, 3, 1], [3, 1, 2]])
    with_topic(first, [[3, 2]], "elsewhere")
    for index in range(3):
        first.log("t", index).append_batch(batch(record()), now_ms=1)
    first.log("elsewhere", 0).append_batch(batch(record()), now_ms=1)
    first.close()
    second = started(open_cluster, count=1)
    assert [one.node_id for one in second.brokers.alive()] == [1]
    partitions = second.topics["t"].partitions
    assert [one.leader for one in partitions] == [1, 1, 1]
    assert [one.leader_epoch for one in partitions] == [0, 1, 1]
    assert [one.isr for one in partitions] == [(1,), (1,), (1,)]
    logs = [second.log("t", index) for index in range(3)]
    assert [log.leader_id for log in logs] == [1, 1, 1]
    assert [log.leader_epoch for log in logs] == [0, 1, 1]
    assert [log.log_end_offset for log in logs] == [1, 1, 1]
    # Nobody of this process has a replica of it: its records are there, but nobody serves them.
    (alone,) = second.topics["elsewhere"].partitions
    assert (alone.leader, alone.isr, len(alone.eligible)) == (NO_LEADER, (), 1)
    log = second.log("elsewhere", 0)
    assert (log.leader_id, log.log_end_offset) == (NO_LEADER, 1)
    second.close()
    third = started(open_cluster)
    assert [one.node_id for one in third.brokers.alive()] == [1, 2, 3]
    assert third.topics["elsewhere"].partitions[0].leader == alone.last_leader[0]
    # The others do not become leaders again by themselves.
    assert [one.leader for one in third.topics["t"].partitions] == [1, 1, 1]


def test_c21_brokers_of_a_killed_process_are_fenced_too(open_cluster: OpenCluster) -> None:
    first = started(open_cluster)
    with_topic(first, [[2, 1], [3, 1]])
    first.close(sync=False)
    second = started(open_cluster, count=2)
    assert [one.node_id for one in second.brokers.alive()] == [1, 2]
    assert [one.leader for one in second.topics["t"].partitions] == [2, 1]
    end = second.metadata_log.end_offset
    second.close()
    third = open_cluster(broker_lite_brokers="2")
    # Nothing is left to do: a departure of each, and the election of the start.
    assert third.metadata_log.end_offset == end + 3


def test_more_brokers_than_before_get_new_partitions(open_cluster: OpenCluster) -> None:
    first = started(open_cluster, count=1)
    with_topic(first, [[1]])
    first.close()
    second = started(open_cluster)
    second.create_partitions([second.plan_growth(Growth("t", 40))])
    leaders = {one.leader for one in second.topics["t"].partitions[1:]}
    assert leaders == {1, 2, 3}


def test_a_leader_that_was_chosen_is_that_of_the_log(open_cluster: OpenCluster) -> None:
    cluster = started(open_cluster)
    with_topic(cluster, [[1, 2, 3]])
    log = cluster.log("t", 0)
    woken: list[str] = []
    log.visibility.add_waiter(lambda: woken.append("woken"))
    cluster.controller.fence(1)
    assert (log.leader_id, log.leader_epoch) == (2, 1)
    assert woken
    topic = cluster.topics["t"]
    cluster.controller.unfence(1)
    back = change(topic.partitions[0], cluster.controller.terms(topic), isr=(2, 3, 1))
    cluster.controller.alter(topic, 0, back)
    topic = cluster.topics["t"]
    terms = cluster.controller.terms(topic, Election.PREFERRED)
    cluster.controller.alter(topic, 0, change(topic.partitions[0], terms))
    assert (log.leader_id, log.leader_epoch) == (1, 2)


@pytest.mark.parametrize("is_forgotten", [False, True], ids=["known", "unregistered"])
def test_c25_who_was_unregistered_comes_back_as_one_that_was_not_shut_down(
    open_cluster: OpenCluster, is_forgotten: bool
) -> None:
    """Otherwise a clean stop leaves it eligible, also when it is no replica any more."""
    cluster = started(open_cluster, min_insync_replicas="2")
    with_topic(cluster, [[1, 3]])
    cluster.membership.shut_down(3)
    cluster.membership.has_shut_down(3)
    if is_forgotten:
        cluster.controller.unregister(3)
    assert cluster.topics["t"].partitions[0].eligible == (3,)
    cluster.membership.prepare_return(3, was_killed=False)
    cluster.register(3, [Endpoint("PLAINTEXT", "h", 9093)])
    after = cluster.topics["t"].partitions[0]
    assert (after.isr, after.eligible) == ((1,), () if is_forgotten else (3,))
