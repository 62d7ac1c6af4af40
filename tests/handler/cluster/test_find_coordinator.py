"""G-20 to G-23, as a Kafka 4.3.1 answers."""

import pytest

from broker_lite.control.topics.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from tests.handler.three_brokers import ThreeBrokers
from tests.support.handler_broker import HandlerBroker, OpenBroker

MALFORMED = "This most likely occurs because of a request being malformed by the client library"


@pytest.mark.parametrize("version", range(4))
def test_g21_one_key(broker: HandlerBroker, version: int) -> None:
    answer = broker.call("FindCoordinator", version, key="g")
    assert (answer.error_code, answer.node_id, answer.host, answer.port) == (
        0,
        1,
        "127.0.0.1",
        9092,
    )
    assert answer.error_message == ("NONE" if version else "")
    assert OFFSETS_TOPIC in broker.cluster.topics


@pytest.mark.parametrize("version", range(4, 7))
def test_g21_several_keys(broker: HandlerBroker, version: int) -> None:
    answer = broker.call("FindCoordinator", version, coordinator_keys=["x", "", "x"], key_type=1)
    told = [
        (one.key, one.node_id, one.host, one.port, one.error_code, one.error_message)
        for one in answer.coordinators
    ]
    assert told == [(key, 1, "127.0.0.1", 9092, 0, "") for key in ("x", "", "x")]
    assert (answer.node_id, answer.host, answer.port) == (0, "", 0)
    assert [*broker.cluster.topics] == [TRANSACTIONS_TOPIC]


@pytest.mark.parametrize("key_type", [-1, 2, 3])
def test_g22_a_type_that_there_is_not(broker: HandlerBroker, key_type: int) -> None:
    one = broker.call("FindCoordinator", 3, key="g", key_type=key_type)
    assert (one.error_code, one.node_id, one.host, one.port) == (42, -1, "", -1)
    assert one.error_message.startswith(MALFORMED)
    answer = broker.call("FindCoordinator", 6, coordinator_keys=["g"], key_type=key_type)
    (one,) = answer.coordinators
    assert (one.error_code, one.node_id, one.host, one.port) == (42, -1, "", -1)
    assert one.error_message.startswith(MALFORMED) == (key_type != 2)
    assert [*broker.cluster.topics] == []


def test_g23_a_topic_that_cannot_be_made(
    open_broker: OpenBroker, caplog: pytest.LogCaptureFixture
) -> None:
    """The log says why: without this topic no group works."""
    broker = open_broker(offsets_topic_replication_factor="2")
    one = broker.call("FindCoordinator", 1, key="g")
    assert (one.error_code, one.node_id) == (15, -1)
    assert one.error_message == "The coordinator is not available."
    (line,) = caplog.messages
    assert "__consumer_offsets cannot be made" in line
    assert "replication factor" in line
    (one,) = broker.call("FindCoordinator", 4, coordinator_keys=["g"]).coordinators
    assert (one.error_code, one.node_id, one.error_message) == (15, -1, "")


@pytest.mark.parametrize(("key_type", "topic"), [(0, OFFSETS_TOPIC), (1, TRANSACTIONS_TOPIC)])
def test_c62_the_leader_of_the_partition_is_the_coordinator(
    open_broker: OpenBroker, key_type: int, topic: str
) -> None:
    brokers = ThreeBrokers.open(open_broker)
    index = brokers.partition("x", topic)

    def find(node_id: int) -> tuple[int, int, int]:
        fields = {"coordinator_keys": ["x"], "key_type": key_type}
        (one,) = brokers.ask(node_id, "FindCoordinator", 6, **fields).coordinators
        assert one.error_message == ""
        assert one.host == ("" if one.error_code else "127.0.0.1")
        return one.node_id, one.port, one.error_code

    for leader in (1, 2, 3):
        brokers.set_leader(topic, index, leader)
        assert [find(node_id) for node_id in (1, 2, 3)] == [(leader, 9091 + leader, 0)] * 3
    brokers.set_leader(topic, index, -1)
    assert [find(node_id) for node_id in (1, 2, 3)] == [(-1, -1, 15)] * 3
    one = brokers.ask(1, "FindCoordinator", 3, key="x", key_type=key_type)
    assert (one.error_code, one.node_id, one.host, one.port) == (15, -1, "", -1)


def test_c62_a_coordinator_that_is_fenced_is_not_told(open_broker: OpenBroker) -> None:
    brokers = ThreeBrokers.open(open_broker)
    leader, index = brokers.coordinator("g"), brokers.partition("g")
    brokers.cluster.controller.fence(leader)
    brokers.set_leader(OFFSETS_TOPIC, index, leader)
    (one,) = brokers.ask(1, "FindCoordinator", 6, coordinator_keys=["g"]).coordinators
    assert (one.node_id, one.error_code) == (-1, 15)
