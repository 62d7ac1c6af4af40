"""UnregisterBroker; the answers are those of Kafka 4.3.1."""

import pytest

from broker_lite.errors import KafkaStorageError
from tests.support.handler_broker import HandlerBroker, OpenBroker
from tests.support.several_brokers import join_isrs, partition_of, place_topic
from tests.support.small_disk import files_end_at


@pytest.fixture
def three(open_broker: OpenBroker) -> HandlerBroker:
    broker = open_broker(broker_lite_brokers="3")
    place_topic(broker.cluster, "t", [3, 1, 2])
    return broker


@pytest.mark.parametrize("is_fenced", [False, True], ids=["alive", "fenced"])
def test_c46_a_broker_is_forgotten(three: HandlerBroker, is_fenced: bool) -> None:
    if is_fenced:
        three.cluster.controller.fence(3)
    answer = three.call("UnregisterBroker", 0, broker_id=3)
    assert (answer.error_code, answer.error_message) == (0, "")
    assert sorted(three.cluster.brokers.by_id) == [1, 2]
    partition = partition_of(three.cluster, "t")
    assert (partition.leader, partition.replicas, partition.isr) == (1, (3, 1, 2), (1, 2))


@pytest.mark.parametrize("node_id", [-1, 9])
def test_c46_a_broker_that_is_not_there(three: HandlerBroker, node_id: int) -> None:
    answer = three.call("UnregisterBroker", 0, broker_id=node_id)
    text = f"Broker ID {node_id} is not currently registered"
    assert (answer.error_code, answer.error_message) == (102, text)


def test_c46_what_happens_to_a_forgotten_broker_changes_nothing(three: HandlerBroker) -> None:
    three.call("UnregisterBroker", 0, broker_id=3)
    end_offset = three.cluster.metadata_log.end_offset
    controller = three.cluster.controller
    for step in (controller.shut_down, controller.fence, controller.unfence):
        step(3)
    join_isrs(three.cluster, 3)
    assert three.cluster.metadata_log.end_offset == end_offset


def test_c46_a_change_that_cannot_be_written(
    three: HandlerBroker,
) -> None:
    with files_end_at(0):
        answer = three.call("UnregisterBroker", 0, broker_id=3)
    assert answer.error_code == KafkaStorageError.code
    assert 3 in three.cluster.brokers.by_id
