"""Reassignments with one broker and with several; more in tests/differential/test_plain.py."""

from typing import Any

import pytest

from broker_lite.wire import messages
from tests.support.handler_broker import HandlerBroker, OpenBroker, one
from tests.support.several_brokers import come_back, partition_of, place_topic
from tests.support.small_disk import files_end_at

_FACTOR, _ASSIGNMENT, _STORAGE, _NOT_MOVING = 38, 39, 56, 85


@pytest.fixture
def three(open_broker: OpenBroker) -> HandlerBroker:
    """Three brokers and the topic t of two partitions."""
    broker = open_broker(**{"broker.lite.brokers": "3"})
    place_topic(broker.cluster, "t", [1, 2], [2, 3])
    return broker


def reassign(broker: HandlerBroker, index: int, replicas: list[int] | None, **flags: bool) -> Any:
    """Move a partition of t; its result."""
    types = messages.AlterPartitionReassignmentsRequest
    partition = types.ReassignablePartition(partition_index=index, replicas=replicas)
    topic = types.ReassignableTopic(name="t", partitions=[partition])
    answer = broker.call("AlterPartitionReassignments", 1, topics=[topic], **flags)
    return one(one(answer.responses).partitions)


def listed(broker: HandlerBroker, **request: Any) -> list[tuple[Any, ...]]:
    """The reassignments of t that are in progress."""
    answer = broker.call("ListPartitionReassignments", 0, **request)
    assert (answer.error_code, answer.error_message) == (0, None)
    return [
        (each.partition_index, each.replicas, each.adding_replicas, each.removing_replicas)
        for topic in answer.topics
        for each in topic.partitions
    ]


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize(
    ("replicas", "code"),
    [([1], 0), (None, 85), ([2], 39), ([], 39), ([1, 1], 39)],
    ids=["there", "cancelled", "elsewhere", "nowhere", "twice"],
)
def test_p147_a_partition_is_where_it_may_be(
    broker: HandlerBroker, version: int, replicas: list[int] | None, code: int
) -> None:
    broker.cluster.create_topic("t")
    types = messages.AlterPartitionReassignmentsRequest
    partition = types.ReassignablePartition(partition_index=0, replicas=replicas)
    topic = types.ReassignableTopic(name="t", partitions=[partition])
    answer = broker.call("AlterPartitionReassignments", version, topics=[topic])
    result = one(one(answer.responses).partitions)
    assert (answer.error_code, result.error_code) == (0, code)
    assert (result.error_message is None) == (code in (0, 85))


def test_p147_nothing_is_asked_for(broker: HandlerBroker) -> None:
    answer = broker.call(
        "AlterPartitionReassignments", 1, topics=[], allow_replication_factor_change=False
    )
    assert (answer.error_message, answer.responses) == ("", [])
    assert answer.allow_replication_factor_change


def test_p148_none_is_on_its_way(broker: HandlerBroker) -> None:
    assert listed(broker, topics=None) == []


def test_p147_a_partition_moves_at_once(three: HandlerBroker) -> None:
    result = reassign(three, 0, [3, 2])
    assert (result.error_code, result.error_message) == (0, None)
    partition = partition_of(three.cluster, "t")
    assert (partition.leader, partition.replicas, partition.isr) == (3, (3, 2), (2, 3))
    assert listed(three, topics=None) == []


@pytest.mark.parametrize(
    ("index", "replicas", "text"),
    [
        (9, [1], "Unable to find partition t:9."),
        (0, [1, 9], "The manual partition assignment includes broker 9, but no such broker is"
         " registered."),
    ],
)  # fmt: skip
def test_c44_a_partition_cannot_move(
    three: HandlerBroker, index: int, replicas: list[int], text: str
) -> None:
    assert reassign(three, index, replicas).error_message == text


def test_c44_the_number_of_replicas_must_not_change(three: HandlerBroker) -> None:
    result = reassign(three, 0, [1], allow_replication_factor_change=False)
    assert result.error_code == _FACTOR
    assert result.error_message == "The replication factor is changed from 2 to 1"
    assert reassign(three, 0, [2, 1], allow_replication_factor_change=False).error_code == 0


@pytest.mark.parametrize("is_noticed", [True, False])
def test_p148_a_move_to_a_broker_that_is_gone_is_listed(
    three: HandlerBroker, is_noticed: bool
) -> None:
    if is_noticed:
        three.cluster.controller.fence(3)
    else:
        three.cluster.membership.go_silent(3)
    assert reassign(three, 0, [3, 1]).error_code == 0
    moving = (0, [3, 1, 2], [3], [2])
    types = messages.ListPartitionReassignmentsRequest
    asked = [
        types.ListPartitionReassignmentsTopics(name="t", partition_indexes=[0, 1, 7]),
        types.ListPartitionReassignmentsTopics(name="nope", partition_indexes=[0]),
    ]
    assert listed(three, topics=None) == listed(three, topics=asked) == [moving]
    come_back(three.cluster, 3)
    assert listed(three, topics=None) == []
    assert partition_of(three.cluster, "t").replicas == (3, 1)


def test_p147_a_move_is_cancelled(three: HandlerBroker) -> None:
    three.cluster.controller.fence(3)
    reassign(three, 0, [3, 1])
    assert reassign(three, 0, None).error_code == 0
    assert partition_of(three.cluster, "t").replicas == (1, 2)
    result = reassign(three, 0, None)
    assert (result.error_code, result.error_message) == (_NOT_MOVING, None)


def test_p147_a_partition_that_is_named_twice_moves_once(three: HandlerBroker) -> None:
    types = messages.AlterPartitionReassignmentsRequest
    moves = [types.ReassignablePartition(partition_index=0, replicas=[one]) for one in (3, 2)]
    topic = types.ReassignableTopic(name="t", partitions=moves)
    answer = three.call("AlterPartitionReassignments", 1, topics=[topic])
    assert [each.error_code for each in one(answer.responses).partitions] == [0, 0]
    assert partition_of(three.cluster, "t").replicas == (3,)


def test_p147_a_move_that_cannot_be_written(
    three: HandlerBroker,
) -> None:
    with files_end_at(0):
        assert reassign(three, 0, [3]).error_code == _STORAGE
        assert reassign(three, 0, []).error_code == _ASSIGNMENT
    assert partition_of(three.cluster, "t").replicas == (1, 2)
