"""Transactions by the control API: what they are, aborts, waits."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer

from broker_lite.testing import Broker, BrokerFailed
from broker_lite.testing.processes.forks import ControlRefused


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(topics=["t"]) as started:
        yield started


def asked(broker: Broker, method: str, path: str, body: object = None) -> Any:
    return broker.control(method, path, body)


def begun(broker: Broker, transactional_id: str) -> Producer:
    """A producer with an open transaction."""
    settings = {"bootstrap.servers": broker.bootstrap, "transactional.id": transactional_id}
    producer = Producer(settings)
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce("t", "v")
    producer.flush()
    return producer


def test_a_transaction_is_told_as_it_is(broker: Broker) -> None:
    producer = begun(broker, "a")
    found = asked(broker, "GET", "/v1/transactions/a")
    assert (found["state"], found["topics"], found["coordinator"]) == ("Ongoing", {"t": [0]}, 1)
    assert found["started_ms"] > 0
    assert found in asked(broker, "GET", "/v1/transactions?state=Ongoing")
    producer.commit_transaction()
    assert asked(broker, "GET", "/v1/transactions/a")["state"] == "CompleteCommit"
    assert found["id"] not in [
        each["id"] for each in asked(broker, "GET", "/v1/transactions?state=Ongoing")
    ]


def test_an_abort_fences_the_producer(broker: Broker) -> None:
    producer = begun(broker, "b")
    before = asked(broker, "GET", "/v1/transactions/b")
    after = asked(broker, "POST", "/v1/transactions/b/abort")
    assert after["state"] == "Empty"
    assert after["producer_epoch"] > before["producer_epoch"]
    assert after["topics"] == {}
    with pytest.raises(KafkaException):
        producer.commit_transaction()
    broker.control("POST", "/v1/topics/t/wait", {"records": 0})
    offsets = asked(broker, "GET", "/v1/topics/t")["offsets"][0]
    assert offsets["last_stable_offset"] == offsets["end"]


def test_a_wait_ends_with_the_commit(broker: Broker) -> None:
    producer = begun(broker, "c")
    later = threading.Timer(0.05, producer.commit_transaction)
    later.start()
    wanted = {"state": "CompleteCommit", "timeout_ms": 20_000}
    assert asked(broker, "POST", "/v1/transactions/c/wait", wanted)["id"] == "c"
    later.join()


def test_a_time_out_tells_what_is_there(broker: Broker) -> None:
    producer = begun(broker, "d")
    with pytest.raises(BrokerFailed, match=r'after 1 ms; there is \{"id": "d", "state": "Ongoing"'):
        broker.control(
            "POST", "/v1/transactions/d/wait", {"state": "CompleteAbort", "timeout_ms": 1}
        )
    producer.abort_transaction()


def test_pages(broker: Broker) -> None:
    for each in ("x", "y", "z"):
        begun(broker, each).commit_transaction()
    page = asked(broker, "GET", "/v1/transactions?after=x&limit=1")
    assert [each["id"] for each in page] == ["y"]


@pytest.mark.parametrize(
    ("method", "path", "body", "text"),
    [
        ("GET", "/v1/transactions/none", None, "there is no transactional id 'none'"),
        ("POST", "/v1/transactions/none/abort", None, "there is no transactional id 'none'"),
        (
            "POST",
            "/v1/transactions/none/wait",
            {"timeout_ms": 1},
            "is not as wanted after 1 ms: there is no transactional id 'none'",
        ),
        ("POST", "/v1/transactions/none/wait", {"state": "Done"}, "Invalid enum value 'Done'"),
        ("GET", "/v1/transactions?limit=0", None, "Expected `int` >= 1"),
        ("GET", "/v1/transactions?state=Done", None, "Invalid enum value 'Done'"),
    ],
)
def test_what_cannot_be_done_is_told(
    broker: Broker, method: str, path: str, body: object, text: str
) -> None:
    with pytest.raises(BrokerFailed) as caught:
        broker.control(method, path, body)
    assert text in str(caught.value)


def test_an_id_that_nobody_coordinates_is_not_gone() -> None:
    settings = {"broker.session.timeout.ms": 0, "transaction.state.log.replication.factor": 1}
    with Broker(settings, topics=["t"], brokers=3) as broker:
        producer = begun(broker, "x")
        producer.commit_transaction()
        down = broker.brokers[asked(broker, "GET", "/v1/transactions/x")["coordinator"]]
        down.down()
        not_read = r"'x' cannot be read: nobody leads __transaction_state-\d+, where it is"
        for method, path in (("GET", ""), ("POST", "/abort")):
            with pytest.raises(ControlRefused, match=not_read) as caught:
                broker.control(method, f"/v1/transactions/x{path}")
            assert caught.value.status == 409
        with pytest.raises(BrokerFailed, match=f"not as wanted after 1 ms: {not_read}"):
            broker.control("POST", "/v1/transactions/x/wait", {"timeout_ms": 1})
        with pytest.raises(
            BrokerFailed, match=r"nobody leads \d+ partitions of __transaction_state"
        ):
            broker.control("GET", "/v1/transactions")
        down.up()
        assert [each["id"] for each in asked(broker, "GET", "/v1/transactions")] == ["x"]
