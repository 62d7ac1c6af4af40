"""Where the leader is that another broker was taken for: C-31 (KIP-951).

Also tests: broker_lite.wire.node_endpoints, broker_lite.control.cluster.stale_view.
"""

from typing import Any

import pytest

from broker_lite.control.metadata.topic import NO_LEADER
from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.handler.endpoints import endpoints_of, leaders_elsewhere
from broker_lite.wire import messages
from broker_lite.wire.node_endpoints import NodeEndpoint
from broker_lite.wire.produce import PARTITIONS_MAX, PartitionAnswer
from tests.log.batches import batch, record
from tests.support.handler_broker import HandlerBroker, OpenBroker, one

MOVED = PartitionAnswer(6)
PRODUCE_NEWEST, FETCH_NEWEST = 13, 18


@pytest.fixture
def broker(open_broker: OpenBroker) -> HandlerBroker:
    """Three brokers in racks a and b, and a topic that broker 1, 2 and 3 lead a partition of."""
    opened = open_broker(broker_lite_brokers="3", broker_lite_racks="a,b")
    cluster = opened.cluster
    new = NewTopic("t", assignments=((0, (1, 2)), (1, (2, 3)), (2, (3, 1))))
    (topic,) = cluster.create_topics([cluster.plan_topic(new)])
    cluster.make_logs(topic)
    return opened


def test_c31_endpoints_are_those_of_the_clients_listener(broker: HandlerBroker) -> None:
    assert endpoints_of(broker.context, [3, 1]) == [
        NodeEndpoint(1, "127.0.0.1", 9092, "a"),
        NodeEndpoint(3, "127.0.0.1", 9094, "a"),
    ]
    broker.siblings[3] = broker.siblings[3]._replace(
        advertised_host="broker.example", advertised_port=19094
    )
    assert endpoints_of(broker.context, {3}) == [NodeEndpoint(3, "broker.example", 19094, "a")]


def test_c31_whoever_cannot_be_reached_has_no_endpoint(broker: HandlerBroker) -> None:
    """A broker that is fenced, one without such a listener, one that does not exist, nobody."""
    broker.cluster.controller.fence(2)
    del broker.siblings[3]
    assert endpoints_of(broker.context, [2, 3, 9, NO_LEADER]) == []
    # A broker that stops is still there.
    broker.cluster.controller.unfence(2)
    broker.cluster.controller.shut_down(2)
    assert [each.node_id for each in endpoints_of(broker.context, [2])] == [2]


def test_c31_only_partitions_that_are_led_elsewhere_have_leaders(broker: HandlerBroker) -> None:
    answers = {
        ("t", 0): PartitionAnswer(),
        ("t", 1): MOVED,
        ("t", 2): PartitionAnswer(3),
        ("t", 7): MOVED,
        ("none", 0): MOVED,
        (bytes(16), 0): MOVED,
        (broker.cluster.topics["t"].topic_id, 2): MOVED,
    }
    assert leaders_elsewhere(broker.context, answers) == {
        ("t", 1): (2, 0),
        (broker.cluster.topics["t"].topic_id, 2): (3, 0),
    }


def test_c31_a_partition_without_a_leader_says_so(broker: HandlerBroker) -> None:
    for node_id in (2, 3):
        broker.cluster.controller.fence(node_id)
    leaders = leaders_elsewhere(broker.context, {("t", 1): MOVED})
    assert leaders == {("t", 1): (NO_LEADER, 2)}


def produce(broker: HandlerBroker, version: int, *partitions: int, copies: int = 1) -> Any:
    request = messages.ProduceRequest
    records = bytes(batch(record()))
    topic = request.TopicProduceData(
        name="t",
        topic_id=broker.cluster.topics["t"].topic_id,
        partition_data=[
            request.PartitionProduceData(index=index, records=records)
            for index in partitions * copies
        ],
    )
    return broker.call("Produce", version, acks=1, timeout_ms=1, topic_data=[topic])


@pytest.mark.parametrize("version", range(3, PRODUCE_NEWEST + 1))
def test_c31_produce_names_leaders_from_version_10_on(broker: HandlerBroker, version: int) -> None:
    response = produce(broker, version, 0, 1, 2)
    first, second, third = one(response.responses).partition_responses
    assert [each.error_code for each in (first, second, third)] == [0, 6, 6]
    leaders = [
        (each.current_leader.leader_id, each.current_leader.leader_epoch)
        for each in (first, second, third)
    ]
    endpoints = [(each.node_id, each.port, each.rack) for each in response.node_endpoints]
    if version >= 10:
        assert leaders == [(-1, -1), (2, 0), (3, 0)]
        assert endpoints == [(2, 9093, "b"), (3, 9094, "a")]
    else:
        assert leaders == [(-1, -1)] * 3
        assert endpoints == []


def test_c31_produce_without_a_failure_names_nobody(broker: HandlerBroker) -> None:
    response = produce(broker, PRODUCE_NEWEST, 0)
    assert response.node_endpoints == []


def test_c31_a_large_produce_names_leaders_too(broker: HandlerBroker) -> None:
    """More partitions than are decoded at once are answered by another encoder."""
    count = PARTITIONS_MAX + 1
    cluster = broker.cluster
    new = NewTopic("large", assignments=tuple((index, (2,)) for index in range(count)))
    (topic,) = cluster.create_topics([cluster.plan_topic(new)])
    request = messages.ProduceRequest
    wanted = request.TopicProduceData(
        topic_id=topic.topic_id,
        partition_data=[
            request.PartitionProduceData(index=index, records=bytes(batch(record())))
            for index in range(count)
        ],
    )
    response = broker.call("Produce", PRODUCE_NEWEST, acks=1, timeout_ms=1, topic_data=[wanted])
    answers = one(response.responses).partition_responses
    assert {each.error_code for each in answers} == {6}
    assert {
        (each.current_leader.leader_id, each.current_leader.leader_epoch) for each in answers
    } == {(2, 0)}
    assert [(each.node_id, each.port) for each in response.node_endpoints] == [(2, 9093)]


@pytest.mark.parametrize("version", range(4, FETCH_NEWEST + 1))
def test_c31_fetch_names_leaders_from_version_16_on(broker: HandlerBroker, version: int) -> None:
    broker.talk_to(3)
    topic = broker.cluster.topics["t"]
    request = messages.FetchRequest
    wanted = request.FetchTopic(
        topic="t",
        topic_id=topic.topic_id,
        partitions=[
            request.FetchPartition(partition=index, partition_max_bytes=1) for index in (0, 2)
        ],
    )
    response = broker.call("Fetch", version, topics=[wanted], max_bytes=1)
    away, here = one(response.responses).partitions
    assert (away.error_code, here.error_code) == (6, 0)
    leader = (away.current_leader.leader_id, away.current_leader.leader_epoch)
    endpoints = [(each.node_id, each.port, each.rack) for each in response.node_endpoints]
    if version >= 16:
        assert (leader, endpoints) == ((1, 0), [(1, 9092, "a")])
    else:
        assert (leader, endpoints) == ((-1, -1), [])
    assert here.current_leader.leader_id == -1


def test_c31_fetch_names_the_leader_to_whoever_knows_an_old_epoch(broker: HandlerBroker) -> None:
    broker.cluster.controller.fence(1)
    broker.talk_to(2)
    topic = broker.cluster.topics["t"]
    request = messages.FetchRequest
    partitions = [request.FetchPartition(partition=0, current_leader_epoch=0)]
    wanted = request.FetchTopic(topic_id=topic.topic_id, partitions=partitions)
    response = broker.call("Fetch", FETCH_NEWEST, topics=[wanted], max_bytes=1)
    answer = one(one(response.responses).partitions)
    assert answer.error_code == 74
    assert (answer.current_leader.leader_id, answer.current_leader.leader_epoch) == (2, 1)
    assert [each.node_id for each in response.node_endpoints] == [2]


def test_c31_fetch_names_no_leader_where_there_is_none(broker: HandlerBroker) -> None:
    for node_id in (2, 1):
        broker.cluster.controller.fence(node_id)
    broker.talk_to(3)
    request = messages.FetchRequest
    wanted = request.FetchTopic(
        topic_id=broker.cluster.topics["t"].topic_id,
        partitions=[request.FetchPartition(partition=0)],
    )
    response = broker.call("Fetch", FETCH_NEWEST, topics=[wanted], max_bytes=1)
    answer = one(one(response.responses).partitions)
    assert (answer.error_code, answer.current_leader.leader_id) == (6, NO_LEADER)
    assert answer.current_leader.leader_epoch == 1
    assert response.node_endpoints == []


def test_c31_followers_get_no_endpoints(broker: HandlerBroker) -> None:
    broker.talk_to(3)
    request = messages.FetchRequest
    wanted = request.FetchTopic(
        topic_id=broker.cluster.topics["t"].topic_id,
        partitions=[request.FetchPartition(partition=0)],
    )
    response = broker.call(
        "Fetch",
        FETCH_NEWEST,
        replica_state=request.ReplicaState(replica_id=2),
        topics=[wanted],
        max_bytes=1,
    )
    answer = one(one(response.responses).partitions)
    assert (answer.error_code, answer.current_leader.leader_id) == (6, 1)
    assert response.node_endpoints == []


# -- a broker whose metadata is frozen


@pytest.fixture
def stale(broker: HandlerBroker) -> HandlerBroker:
    """Broker 1 knows neither that broker 2 is fenced nor of topic "new"; 3 leads partition 1."""
    broker.call("FindCoordinator", 3, key="g", key_type=0)
    broker.cluster.freeze_metadata(1)
    broker.cluster.controller.fence(2)
    new = NewTopic("new", assignments=((0, (3,)),))
    broker.cluster.create_topics([broker.cluster.plan_topic(new)])
    return broker


def told(broker: HandlerBroker) -> tuple[Any, ...]:
    """Brokers by Metadata and DescribeCluster; leaders by Metadata and DescribeTopicPartitions."""
    metadata = broker.call("Metadata", 12, topics=None)
    described = broker.call("DescribeTopicPartitions", 0, response_partition_limit=100)
    return (
        [each.node_id for each in metadata.brokers],
        [each.broker_id for each in broker.call("DescribeCluster", 1).brokers],
        *(
            {each.name: [one.leader_id for one in each.partitions] for each in topics}
            for topics in (metadata.topics, described.topics)
        ),
    )


def test_a_broker_tells_what_was_and_then_what_is(stale: HandlerBroker) -> None:
    brokers, described, topics, pages = told(stale)
    assert brokers == described == [1, 2, 3]
    assert topics["t"] == pages["t"] == [1, 2, 3]
    assert "new" not in {*topics, *pages}
    stale.cluster.thaw_metadata(1)
    brokers, described, topics, pages = told(stale)
    assert brokers == described == [1, 3]
    assert topics["t"] == pages["t"] == [1, 3, 3]
    assert topics["new"] == pages["new"] == [3]
    stale.cluster.thaw_metadata(1)


def test_other_brokers_tell_what_is(stale: HandlerBroker) -> None:
    stale.talk_to(3)
    brokers, described, topics, pages = told(stale)
    assert brokers == described == [1, 3]
    assert topics["t"] == pages["t"] == [1, 3, 3]


def test_a_broker_that_registers_knows_what_is(stale: HandlerBroker) -> None:
    stale.cluster.register(1, [])
    assert told(stale)[0] == [1, 3]


def test_c31_a_replica_knows_its_leader_and_others_look_into_their_metadata(
    stale: HandlerBroker,
) -> None:
    """Broker 1 has no replica of partition 1, and does not know that broker 2 is gone."""
    assert leaders_elsewhere(stale.context, {("t", 1): MOVED}) == {("t", 1): (2, 0)}
    assert [each.node_id for each in endpoints_of(stale.context, [2, 3])] == [2, 3]
    assert leaders_elsewhere(stale.context, {("new", 0): MOVED}) == {("new", 0): (-1, -1)}
    stale.cluster.controller.fence(1)  # 2 and 1 are gone, so that nobody leads partition 0
    assert leaders_elsewhere(stale.context, {("t", 0): MOVED})["t", 0][0] == NO_LEADER
    stale.cluster.thaw_metadata(1)
    assert leaders_elsewhere(stale.context, {("t", 1): MOVED}) == {("t", 1): (3, 1)}


def test_c62_a_broker_sends_groups_to_the_coordinator_that_was(stale: HandlerBroker) -> None:
    """Nobody leads a partition of a topic that the broker does not know."""
    find = "FindCoordinator"
    leaders = {key: stale.call(find, 3, key=key, key_type=0).node_id for key in "abcdefgh"}
    assert 2 in leaders.values()
    answer = stale.call(find, 3, key="x", key_type=1)
    assert (answer.error_code, answer.node_id) == (15, -1)
    stale.cluster.thaw_metadata(1)
    leaders = {key: stale.call(find, 3, key=key, key_type=0).node_id for key in "abcdefgh"}
    assert 2 not in leaders.values()
    assert stale.call(find, 3, key="x", key_type=1).error_code == 0
