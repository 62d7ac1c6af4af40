"""Faults by the control API at a real broker."""

import threading
from collections.abc import Iterator

import pytest

from broker_lite.client.client import Client
from broker_lite.errors import ClientError
from broker_lite.testing import Broker, BrokerFailed
from broker_lite.wire import messages
from tests.support.raw_client import RawClient


@pytest.fixture(scope="module")
def running() -> Iterator[Broker]:
    with Broker(topics=["t"]) as started:
        yield started


@pytest.fixture
def broker(running: Broker) -> Iterator[Broker]:
    yield running
    running.control("DELETE", "/v1/faults")


def add(broker: Broker, **rule: object) -> str:
    told = broker.control("POST", "/v1/faults", rule)
    assert isinstance(told, dict)
    return str(told["id"])


def state(broker: Broker, rule: str) -> dict[str, object]:
    told = broker.control("GET", f"/v1/faults/{rule}")
    assert isinstance(told, dict)
    return told


def latest_offset(broker: Broker) -> tuple[int, int]:
    """Ask for the end of t-0; return the error code and the offset."""
    kind = messages.ListOffsetsRequest
    partitions = [kind.ListOffsetsPartition(partition_index=0, timestamp=-1)]
    topics = [kind.ListOffsetsTopic(name="t", partitions=partitions)]
    with RawClient(broker.host, broker.port) as client:
        answer = client.request(kind, kind(replica_id=-1, topics=topics), 7)
    [partition] = answer.topics[0].partitions
    return partition.error_code, partition.offset


def test_an_error_so_often(broker: Broker) -> None:
    fault = add(broker, keys=["ListOffsets"], topic="t", error="NOT_LEADER_OR_FOLLOWER", count=2)
    assert [latest_offset(broker)[0] for _ in range(3)] == [6, 6, 0]
    found = state(broker, fault)
    assert (found["hits"], found["left"]) == (2, 0)
    assert broker.control("POST", f"/v1/faults/{fault}/wait", {"hits": 2})


def test_several_rules_one_after_the_other(broker: Broker) -> None:
    rules = [
        {"id": "first", "keys": ["ListOffsets"], "error": "LEADER_NOT_AVAILABLE"},
        {"id": "then", "keys": ["ListOffsets"], "error": "FENCED_LEADER_EPOCH", "after": "first"},
    ]
    broker.control("POST", "/v1/faults", {"rules": rules})
    assert [latest_offset(broker)[0] for _ in range(3)] == [5, 74, 0]


def test_a_request_is_held_until_it_is_released(broker: Broker) -> None:
    fault = add(broker, keys=["ListOffsets"], hold=True)
    answers: list[tuple[int, int]] = []
    asking = threading.Thread(target=lambda: answers.append(latest_offset(broker)))
    asking.start()
    broker.control("POST", f"/v1/faults/{fault}/wait", {"hits": 1})
    assert state(broker, fault)["held"] == 1
    assert answers == []
    assert broker.control("POST", f"/v1/faults/{fault}/release") == {"released": 1}
    asking.join(20)
    assert answers[0][0] == 0


def test_a_client_survives_a_lost_answer(broker: Broker) -> None:
    add(broker, keys=["Metadata"], drop="after")
    with Client(broker.bootstrap) as client, pytest.raises((ClientError, OSError)):
        client.metadata()
    with Client(broker.bootstrap) as client:
        assert "t" in {topic.name for topic in client.metadata().topics}


def test_what_came_near_is_told(broker: Broker) -> None:
    fault = add(broker, keys=["ListOffsets"], topic="u", error="LEADER_NOT_AVAILABLE")
    assert latest_offset(broker)[0] == 0
    [near] = state(broker, fault)["near"]  # type: ignore[misc]
    assert "topic 't' is not 'u'" in near
    with pytest.raises(BrokerFailed, match="0 of 1 hits after 1 ms"):
        broker.control("POST", f"/v1/faults/{fault}/wait", {"hits": 1, "timeout_ms": 1})


def test_faults_outlive_a_reset(broker: Broker) -> None:
    add(broker, keys=["ListOffsets"], error="LEADER_NOT_AVAILABLE", count=-1)
    broker.reset()
    assert latest_offset(broker)[0] == 5
    broker.control("DELETE", "/v1/faults")
    assert broker.control("GET", "/v1/faults") == []
    assert latest_offset(broker)[0] == 0


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({}, "the rule has no action"),
        ({"error": "NO_SUCH"}, "there is no error 'NO_SUCH'"),
        ({"keys": ["Fetsch"], "hold": True}, "did you mean 'Fetch'"),
        ({"eror": "X"}, "Object contains unknown field `eror`"),
        ({"rules": [{"hold": True}], "keys": ["Fetch"]}, "Object contains unknown field `keys`"),
        ({"rules": [{"hold": True}, {"hold": 1}]}, "Expected `bool`, got `int`"),
        ([], "Expected `object`, got `array`"),
    ],
)
def test_a_wrong_rule_is_refused(broker: Broker, body: object, text: str) -> None:
    with pytest.raises(BrokerFailed) as caught:
        broker.control("POST", "/v1/faults", body)
    assert text in str(caught.value)
    assert broker.control("GET", "/v1/faults") == []
    with pytest.raises(BrokerFailed, match="there is no rule 'f99'"):
        broker.control("GET", "/v1/faults/f99")
