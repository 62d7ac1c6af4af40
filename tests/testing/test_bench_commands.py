"""Recorded requests, expectations and waits.

Also tests: broker_lite.testing.controlled, broker_lite.testing.requests.
"""

import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest

from broker_lite.errors import ClientError
from broker_lite.testing import Broker, BrokerFailed, Request

SOON = timedelta(seconds=0.02)


@pytest.fixture(scope="module")
def shared() -> Iterator[Broker]:
    with Broker(topics=["orders:2"]) as broker:
        yield broker


@pytest.fixture
def broker(shared: Broker) -> Broker:
    shared.clear_faults()
    shared.control("DELETE", "/v1/requests")
    shared.record_requests()
    return shared


def test_what_a_client_asked(broker: Broker) -> None:
    broker.produce("orders", "x", partition=1)
    (request,) = broker.requests("Produce", topic="orders")
    assert isinstance(request, Request)
    assert (request.api, request.client_id, request.node) == ("Produce", "broker-lite", 1)
    assert (request.topics, request.groups, request.txn_ids) == (["orders"], [], [])
    assert (request.ended, request.errors) == ("answered", [])
    assert request.body["acks"] == -1
    assert request.answer is not None
    assert request.answer["throttle_time_ms"] == 0
    assert request.load() is request.load()
    assert " Produce v" in str(request)
    assert repr(request) == f"<{request}>"


def test_which_requests(broker: Broker) -> None:
    broker.produce("orders", "x", partition=0)
    (first,) = broker.requests("Produce")
    error = "UNKNOWN_SERVER_ERROR"
    with broker.fault("Produce", error=error), pytest.raises(ClientError, match=error):
        broker.produce("orders", "y", partition=1)
    assert len(broker.requests("Produce")) == 2
    assert [each.errors for each in broker.requests("Produce", errors=True)] == [
        ["UNKNOWN_SERVER_ERROR"]
    ]
    assert len(broker.requests("Produce", partitions=[0, 7])) == 1
    assert [each.id for each in broker.requests("Produce", after=first)] != [first.id]
    assert {each.api for each in broker.requests("Produce", "Metadata")} == {"Produce", "Metadata"}
    assert broker.requests("EndTxn") == []
    assert broker.requests("Produce", where={"acks": 1}) == []
    assert len(broker.requests("Produce", where={"acks": -1})) == 2
    with pytest.raises(BrokerFailed, match="there is no API 'Prod'"):
        broker.requests("Prod")


def test_a_request_that_is_worked_on(broker: Broker) -> None:
    with broker.hold("Produce") as held:
        thread = threading.Thread(target=broker.produce, args=("orders", "x"))
        thread.start()
        held.wait()
        (request,) = broker.requests("Produce")
        assert (request.ended, request.answer) == ("", None)
        held.release()
        thread.join()
    assert request.answer is not None


def test_what_has_to_come_in_order(broker: Broker) -> None:
    broker.produce("orders", "x", partition=0)
    broker.produce("orders", "y", partition=1)
    first, second = broker.expect(
        "Produce", ("Produce", {"partitions": [1]}), others_ok=["Metadata", "ApiVersions"]
    )
    assert first.api == second.api == "Produce"
    assert broker.expect(
        {"keys": ["Produce"], "client_id": "broker-*"}, others_ok=None, after=first
    )
    with pytest.raises(AssertionError, match=r"^expected 1\. EndTxn, got r\d+ ApiVersions") as told:
        broker.expect("EndTxn", "Produce")
    assert "\n- 1. EndTxn\n+ r" in str(told.value)
    with pytest.raises(BrokerFailed, match=r"there is no API 'Endtx'; did you mean 'EndTxn'"):
        broker.expect("Endtx")


def test_a_wait_for_requests(broker: Broker) -> None:
    broker.produce("orders", "x")
    (first,) = broker.wait_for_request("Produce")
    thread = threading.Timer(0.01, broker.produce, ("orders", "y"))
    thread.start()
    (second,) = broker.wait_for_request("Produce", after=first, where={"acks": -1})
    thread.join()
    assert first.id != second.id
    assert len(broker.wait_for_request("Produce", count=2)) == 2
    with pytest.raises(BrokerFailed, match="1 of 2 requests came in time"):
        broker.wait_for_request("Produce", count=2, after=first.id, timeout=SOON)


def test_a_wait_for_a_group(broker: Broker) -> None:
    empty = broker.wait_for_group("nobody", state="Dead", members=0)
    assert empty["members"] == []
    with pytest.raises(BrokerFailed, match=r"group nobody .*there is \{") as late:
        broker.wait_for_group("nobody", members=2, timeout=SOON)
    assert "\n" not in str(late.value)


def test_a_wait_for_a_topic(broker: Broker) -> None:
    thread = threading.Timer(0.01, broker.produce, ("new-topic", "x"))
    thread.start()
    found = broker.wait_for_topic("new-topic", records=1)
    thread.join()
    assert found["name"] == "new-topic"
    assert broker.wait_for_topic("orders", partitions=2, partition=1, end_offset=0)
    with pytest.raises(BrokerFailed, match="topic orders"):
        broker.wait_for_topic("orders", partitions=3, timeout=SOON)


def test_a_wait_for_a_transaction(broker: Broker) -> None:
    with pytest.raises(BrokerFailed, match="txn"):
        broker.wait_for_transaction("txn", state="Ongoing", timeout=SOON)


def test_nothing_is_recorded(broker: Broker) -> None:
    broker.record_requests("off")
    for use in (
        lambda: broker.requests("Produce"),
        lambda: broker.expect("Produce"),
        lambda: broker.wait_for_request("Produce"),
    ):
        with pytest.raises(BrokerFailed, match="requests are not recorded"):
            use()


def test_some_apis_are_recorded(broker: Broker) -> None:
    broker.record_requests("bodies", keys=["Produce"], keep=1)
    broker.produce("orders", "x")
    broker.produce("orders", "y")
    (request,) = broker.requests()
    assert (request.api, request.load()["has_bytes"]) == ("Produce", True)


def test_a_state_is_put_back(broker: Broker) -> None:
    broker.produce("of-a-snapshot", "kept")
    broker.snapshot("seeded")
    broker.produce("of-a-snapshot", "gone")
    broker.create_topic("gone")
    broker.restore("seeded")
    assert [record.value for record in broker.records("of-a-snapshot")] == [b"kept"]
    broker.reset()
    broker.advance()
    broker.restore("seeded")
    assert [record.value for record in broker.records("of-a-snapshot")] == [b"kept"]
    with pytest.raises(BrokerFailed, match="there is no snapshot 'other'"):
        broker.restore("other")
