"""Metadata and DescribeTopicPartitions of several brokers: P-89, P-90, P-95."""

from collections.abc import Sequence
from typing import Any

import pytest

from broker_lite.control.cluster.elections import change
from broker_lite.control.metadata.brokers import BrokerRegistration
from broker_lite.control.metadata.topic import NO_LEADER, PartitionRegistration
from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.handler.topics.placed import Placed, Places
from tests.support.handler_broker import HandlerBroker, OpenBroker, one

NEWEST = 13


@pytest.fixture
def broker(open_broker: OpenBroker) -> HandlerBroker:
    """Three brokers, and a topic of which each leads a partition."""
    opened = open_broker(broker_lite_brokers="3", broker_lite_racks="a,b,c")
    create(opened, "t", [[1, 2, 3], [2, 3, 1], [3, 1, 2]])
    return opened


def create(broker: HandlerBroker, name: str, replicas: Sequence[Sequence[int]]) -> None:
    new = NewTopic(name, assignments=tuple(enumerate(replicas)))
    broker.cluster.create_topics([broker.cluster.plan_topic(new)])


def metadata(broker: HandlerBroker, version: int = NEWEST) -> Any:
    return one(answer(broker, version).topics).partitions


def answer(broker: HandlerBroker, version: int = NEWEST) -> Any:
    """Of Metadata about all topics."""
    return broker.call("Metadata", version, topics=None if version else [])


def placed(
    broker: HandlerBroker, partition: PartitionRegistration, version: int = NEWEST
) -> Placed:
    return Places(broker.context, version).of(partition)


@pytest.mark.parametrize("version", range(NEWEST + 1))
def test_p89_each_partition_has_its_leader(broker: HandlerBroker, version: int) -> None:
    found = metadata(broker, version)
    assert [each.error_code for each in found] == [0, 0, 0]
    assert [each.leader_id for each in found] == [1, 2, 3]
    assert [each.replica_nodes for each in found] == [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
    assert [each.isr_nodes for each in found] == [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
    assert [each.offline_replicas for each in found] == [[], [], []]


@pytest.mark.parametrize("node_id", [1, 2, 3])
def test_every_broker_tells_the_same(broker: HandlerBroker, node_id: int) -> None:
    """And the addresses of all, at the listener by which the client came."""
    broker.talk_to(node_id)
    response = answer(broker)
    told = [(each.node_id, each.host, each.port, each.rack) for each in response.brokers]
    assert told == [
        (1, "127.0.0.1", 9092, "a"),
        (2, "127.0.0.1", 9093, "b"),
        (3, "127.0.0.1", 9094, "c"),
    ]
    assert response.controller_id == 1
    assert [each.leader_id for each in one(response.topics).partitions] == [1, 2, 3]


def test_p89_a_leader_that_is_gone_has_a_successor_with_a_new_epoch(broker: HandlerBroker) -> None:
    broker.cluster.controller.fence(2)
    found = metadata(broker)
    assert [(each.leader_id, each.leader_epoch) for each in found] == [(1, 0), (3, 1), (3, 0)]
    assert [each.isr_nodes for each in found] == [[1, 3], [3, 1], [3, 1]]
    assert [each.replica_nodes for each in found] == [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
    assert [each.offline_replicas for each in found] == [[2], [2], [2]]
    assert [each.node_id for each in answer(broker).brokers] == [1, 3]


def test_a_broker_that_stops_is_told_until_it_is_fenced(broker: HandlerBroker) -> None:
    broker.cluster.controller.shut_down(2)
    response = answer(broker)
    assert [each.node_id for each in response.brokers] == [1, 2, 3]
    found = one(response.topics).partitions
    assert [each.leader_id for each in found] == [1, 3, 3]
    assert [each.offline_replicas for each in found] == [[], [], []]


@pytest.mark.parametrize("version", range(NEWEST + 1))
def test_p90_without_a_leader_it_is_5(broker: HandlerBroker, version: int) -> None:
    for node_id in (2, 3, 1):
        broker.cluster.controller.fence(node_id)
    broker.cluster.controller.unfence(3)
    for each in metadata(broker, version)[:2]:
        assert (each.error_code, each.leader_id) == (5, NO_LEADER)


@pytest.mark.parametrize("version", range(NEWEST + 1))
def test_p90_a_leader_without_this_listener_is_72_or_5(broker: HandlerBroker, version: int) -> None:
    del broker.siblings[2]
    found = metadata(broker, version)
    assert [each.leader_id for each in found] == [1, NO_LEADER, 3]
    if version == 0:
        assert [each.error_code for each in found] == [9, 5, 9]
        assert [each.replica_nodes for each in found] == [[1, 3], [3, 1], [3, 1]]
    else:
        assert [each.error_code for each in found] == [0, 72 if version >= 6 else 5, 0]
        assert [each.replica_nodes for each in found] == [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
    if version >= 5:
        assert [each.offline_replicas for each in found] == [[2], [2], [2]]
    assert [each.node_id for each in answer(broker, version).brokers] == [1, 3]


def test_p90_an_old_client_is_told_that_replicas_are_not_available(broker: HandlerBroker) -> None:
    broker.cluster.controller.fence(2)
    for each in metadata(broker, 0):
        assert each.error_code == 9
        assert 2 not in each.replica_nodes
    for each in metadata(broker, 1):
        assert each.error_code == 0
        assert 2 in each.replica_nodes


def test_p90_an_old_client_misses_an_isr_too(broker: HandlerBroker) -> None:
    """A replica in sync that is not listed: all that an image could have."""
    foreign = PartitionRegistration(1, 0, (1, 2), (1, 2, 9))
    assert placed(broker, foreign, 0).error_code == 9
    assert placed(broker, foreign, 0).isr == [1, 2]
    assert placed(broker, foreign, 1) == Placed(0, 1, [1, 2], [1, 2, 9], [])  # type: ignore[arg-type]


def test_p90_a_leader_that_nobody_knows_is_5(broker: HandlerBroker) -> None:
    """Also in the versions that know 72, which says that the broker is there."""
    foreign = PartitionRegistration(9, 3, (9, 1), (9,))
    found = placed(broker, foreign)
    assert (found.error_code, found.leader, found.offline) == (5, NO_LEADER, [9])


def test_p90_a_leader_that_is_fenced_is_named_while_it_leads(broker: HandlerBroker) -> None:
    """Kafka looks for its address only: the record that fences it takes its partitions away."""
    known = broker.cluster.brokers.by_id[2]
    broker.cluster.brokers.expect(known._replace(is_fenced=True))
    found = metadata(broker)[1]
    assert (found.error_code, found.leader_id, found.offline_replicas) == (0, 2, [2])


def test_partitions_that_are_alike_are_described_once(broker: HandlerBroker) -> None:
    create(broker, "u", [[1, 2], [1, 2], [2, 1]])
    places = Places(broker.context, NEWEST)
    first, second, third = (places.of(each) for each in broker.cluster.topics["u"].partitions)
    assert first is second
    assert third is not first


def test_p95_describe_topic_partitions_has_no_error_for_a_leader_that_is_away(
    broker: HandlerBroker,
) -> None:
    del broker.siblings[2]
    found = one(broker.call("DescribeTopicPartitions", 0).topics).partitions
    assert [each.error_code for each in found] == [0, 0, 0]
    assert [each.leader_id for each in found] == [1, NO_LEADER, 3]
    assert [each.replica_nodes for each in found] == [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
    assert [each.offline_replicas for each in found] == [[2], [2], [2]]


def test_p95_describe_topic_partitions_tells_who_could_lead(broker: HandlerBroker) -> None:
    create(broker, "u", [[2, 3]])
    for node_id in (2, 3):
        broker.cluster.controller.fence(node_id)
    found = {each.name: each for each in broker.call("DescribeTopicPartitions", 0).topics}
    partition = one(found["u"].partitions)
    assert (partition.leader_id, partition.isr_nodes) == (NO_LEADER, [])
    assert (partition.eligible_leader_replicas, partition.last_known_elr) == ([3], [3])
    assert partition.offline_replicas == [2, 3]
    assert partition.leader_epoch == 2


def test_p95_whoever_left_an_isr_that_is_too_small_is_told(broker: HandlerBroker) -> None:
    cluster = broker.cluster
    cluster.alter_configs([(2, "t", {"min.insync.replicas": "2"})])
    topic = cluster.topics["t"]
    terms = cluster.controller.terms(topic)
    cluster.controller.alter(topic, 0, change(topic.partitions[0], terms, isr=(1,)))
    (found, *_) = one(broker.call("DescribeTopicPartitions", 0).topics).partitions
    assert (found.isr_nodes, found.eligible_leader_replicas) == ([1], [2, 3])


def test_a_broker_of_another_process_is_offline(broker: HandlerBroker) -> None:
    """It is in the metadata of this directory, but nobody of this process listens for it."""
    away = BrokerRegistration(7, 1, None, (), (bytes(16),), is_fenced=True)
    broker.cluster.brokers.expect(away)
    found = placed(broker, PartitionRegistration(1, 0, (1, 7), (1,)))
    assert (found.error_code, found.leader, found.offline) == (0, 1, [7])
