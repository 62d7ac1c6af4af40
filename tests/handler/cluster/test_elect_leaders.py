"""ElectLeaders with one broker and with several; more in tests/differential/test_plain.py."""

import pytest

from broker_lite.errors import KafkaStorageError
from broker_lite.wire import messages
from tests.support.handler_broker import HandlerBroker, OpenBroker, one
from tests.support.several_brokers import come_back, place_topic
from tests.support.small_disk import files_end_at

_PREFERRED, _UNCLEAN = 0, 1
_NONE, _UNKNOWN, _INVALID, _NO_PREFERRED, _NO_ELIGIBLE, _NOT_NEEDED = 0, 3, 42, 80, 83, 84


@pytest.fixture
def three(open_broker: OpenBroker) -> HandlerBroker:
    """Three brokers; all partitions of the topics t and single have their preferred leader."""
    broker = open_broker(**{"broker.lite.brokers": "3"})
    place_topic(broker.cluster, "t", [1, 2, 3], [3, 1, 2])
    place_topic(broker.cluster, "single", [3])
    return broker


def elect(
    broker: HandlerBroker, indexes: list[int], election_type: int = _PREFERRED, *, topic: str = "t"
) -> list[tuple[int, int]]:
    """Ask for elections; each partition with its error code."""
    asked = messages.ElectLeadersRequest.TopicPartitions(topic=topic, partitions=indexes)
    answer = broker.call("ElectLeaders", 2, topic_partitions=[asked], election_type=election_type)
    assert answer.error_code == 0
    results = one(answer.replica_election_results).partition_result
    return [(each.partition_id, each.error_code) for each in results]


def leaders(broker: HandlerBroker) -> list[tuple[int, int]]:
    """The leader and the leader epoch of each partition of t."""
    partitions = broker.cluster.topics["t"].partitions
    return [(partition.leader, partition.leader_epoch) for partition in partitions]


@pytest.mark.parametrize("version", range(3))
def test_p146_no_election_is_needed(broker: HandlerBroker, version: int) -> None:
    broker.cluster.create_topic("t")
    asked = messages.ElectLeadersRequest.TopicPartitions(topic="t", partitions=[0, 1])
    answer = broker.call("ElectLeaders", version, topic_partitions=[asked])
    codes = [each.error_code for each in one(answer.replica_election_results).partition_result]
    assert codes == [_NOT_NEEDED, _UNKNOWN]


def test_p146_of_all_partitions_none_has_changed(broker: HandlerBroker) -> None:
    broker.cluster.create_topic("t")
    answer = broker.call("ElectLeaders", 2, topic_partitions=None)
    result = one(answer.replica_election_results)
    assert (answer.error_code, result.topic, result.partition_result) == (0, "t", [])


def test_p146_an_election_of_another_type(broker: HandlerBroker) -> None:
    answer = broker.call("ElectLeaders", 2, topic_partitions=None, election_type=7)
    assert (answer.error_code, answer.replica_election_results) == (_INVALID, [])


def test_p146_an_election_of_another_type_names_each_partition(broker: HandlerBroker) -> None:
    asked = messages.ElectLeadersRequest.TopicPartitions(topic="t", partitions=[4])
    answer = broker.call("ElectLeaders", 2, topic_partitions=[asked], election_type=7)
    result = one(one(answer.replica_election_results).partition_result)
    assert answer.error_code == result.error_code == _INVALID
    assert result.error_message == "Unknown election type 7"


def test_p146_no_partition_is_asked_for(broker: HandlerBroker) -> None:
    answer = broker.call("ElectLeaders", 2, topic_partitions=[], election_type=7)
    assert (answer.error_code, answer.replica_election_results) == (0, [])


def test_c40_the_preferred_replica_leads_again(three: HandlerBroker) -> None:
    three.cluster.controller.fence(3)
    come_back(three.cluster, 3)
    assert leaders(three) == [(1, 0), (1, 1)]
    assert elect(three, [0, 1]) == [(0, _NOT_NEEDED), (1, _NONE)]
    assert leaders(three) == [(1, 0), (3, 2)]
    assert three.cluster.log("t", 1).leader_epoch == 2


def test_c40_a_preferred_replica_that_is_not_in_sync(three: HandlerBroker) -> None:
    three.cluster.controller.fence(3)
    assert elect(three, [1]) == [(1, _NO_PREFERRED)]
    assert elect(three, [0], topic="single") == [(0, _NO_PREFERRED)]
    three.cluster.controller.unfence(3)
    assert elect(three, [1]) == [(1, _NO_PREFERRED)]


def test_c40_an_unclean_election_takes_any_replica_that_is_there(three: HandlerBroker) -> None:
    cluster = three.cluster
    for node_id in (2, 3, 1):
        cluster.controller.fence(node_id)
    assert elect(three, [0], _UNCLEAN) == [(0, _NO_ELIGIBLE)]
    cluster.controller.unfence(2)
    assert leaders(three) == [(-1, 1), (-1, 2)]
    assert elect(three, [0], _UNCLEAN) == [(0, _NONE)]
    assert elect(three, [0], _UNCLEAN, topic="single") == [(0, _NO_ELIGIBLE)]
    partition = cluster.topics["t"].partitions[0]
    assert (partition.leader, partition.isr, partition.is_recovering) == (2, (2,), True)
    assert elect(three, [0], _UNCLEAN) == [(0, _NOT_NEEDED)]


def test_p146_of_all_partitions_those_that_need_an_election_are_told(three: HandlerBroker) -> None:
    three.cluster.create_topic("u")
    three.cluster.controller.fence(3)
    answer = three.call("ElectLeaders", 2, topic_partitions=None)
    told = {
        result.topic: [(each.partition_id, each.error_code) for each in result.partition_result]
        for result in answer.replica_election_results
    }
    assert told == {"t": [(1, _NO_PREFERRED)], "single": [(0, _NO_PREFERRED)], "u": []}


def test_c40_a_partition_that_is_named_twice_is_elected_once(three: HandlerBroker) -> None:
    three.cluster.controller.fence(3)
    come_back(three.cluster, 3)
    assert elect(three, [1, 1]) == [(1, _NONE), (1, _NONE)]
    assert leaders(three)[1] == (3, 2)


@pytest.mark.parametrize(
    ("topic", "index", "text"),
    [
        ("nope", 0, "No such topic as nope"),
        ("t", 9, "No such partition as t-9"),
        ("t", -1, "No such partition as t--1"),
    ],
)
def test_p146_a_partition_that_is_not_there(
    three: HandlerBroker, topic: str, index: int, text: str
) -> None:
    asked = messages.ElectLeadersRequest.TopicPartitions(topic=topic, partitions=[index])
    answer = three.call("ElectLeaders", 2, topic_partitions=[asked])
    result = one(one(answer.replica_election_results).partition_result)
    assert (result.error_code, result.error_message) == (_UNKNOWN, text)


def test_c40_an_election_that_cannot_be_written(
    three: HandlerBroker,
) -> None:
    three.cluster.controller.fence(3)
    come_back(three.cluster, 3)
    with files_end_at(0):
        assert elect(three, [0, 1]) == [(0, _NOT_NEEDED), (1, KafkaStorageError.code)]
    assert leaders(three)[1] == (1, 1)
