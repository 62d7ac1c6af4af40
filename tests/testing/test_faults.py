"""Faults as context managers."""

import os
import signal
import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest

from broker_lite.errors import ClientError
from broker_lite.testing import Broker, BrokerDied, BrokerFailed, FaultUnused

SOON = timedelta(seconds=0.02)


@pytest.fixture(scope="module")
def shared() -> Iterator[Broker]:
    with Broker(topics=["orders:2"]) as broker:
        yield broker


@pytest.fixture
def broker(shared: Broker) -> Broker:
    shared.clear_faults()
    return shared


def test_a_fault_acts_as_often_as_it_says(broker: Broker) -> None:
    rule = {"topic": "orders", "error": "NOT_LEADER_OR_FOLLOWER"}
    with broker.fault("Produce", count=2, **rule) as fault:
        assert (fault.hits, fault.left, fault.near) == (0, 2, [])
        for _ in range(2):
            with pytest.raises(ClientError, match="NOT_LEADER_OR_FOLLOWER"):
                broker.produce("orders", "lost")
        assert (fault.hits, fault.left, fault.held) == (2, 0, 0)
        broker.produce("orders", "kept")
    assert fault.hits == 2
    assert fault.rule == {"keys": ["Produce"], "count": 2, **rule}


def test_a_fault_that_is_not_met_is_an_error(broker: Broker) -> None:
    rule = {"topic": "order", "error": "REQUEST_TIMED_OUT"}
    with pytest.raises(FaultUnused) as unused, broker.fault("Produce", **rule):
        broker.produce("orders", "x")
    text = str(unused.value)
    assert "(keys=['Produce'], topic='order', error='REQUEST_TIMED_OUT') acted on no" in text
    assert "; nearest: Produce from client broker-lite: topic 'orders' is not 'order'" in text
    assert "\n" not in text
    nothing_near = "acted on no request; no request came near"
    with pytest.raises(FaultUnused, match=nothing_near), broker.hold("EndTxn"):
        pass


def test_a_fault_that_may_be_unused(broker: Broker) -> None:
    with broker.fault("EndTxn", hold=True, unused_ok=True) as fault:
        pass
    assert fault.hits == 0
    with broker.hold("EndTxn"):
        broker.clear_faults()  # nobody can know any more


def test_another_error_is_the_one_that_is_told(broker: Broker) -> None:
    with pytest.raises(ZeroDivisionError), broker.hold("EndTxn"):
        _ = 1 / 0
    assert broker.control("GET", "/v1/faults") == []


def test_a_held_request_goes_on_when_it_is_released(broker: Broker) -> None:
    before = len(broker.records("orders"))
    with broker.hold("Produce") as held:
        thread = threading.Thread(target=broker.produce, args=("orders", "late"))
        thread.start()
        held.wait()
        assert held.held == 1
        assert len(broker.records("orders")) == before
        assert held.release() == 1
        thread.join()
    assert len(broker.records("orders")) == before + 1


def test_a_wait_in_one_thread_and_a_release_in_another(broker: Broker) -> None:
    with broker.hold("Produce", count=2) as held:
        waits = threading.Thread(target=held.wait, args=(2,))
        waits.start()
        for value in ("a", "b"):
            thread = threading.Thread(target=broker.produce, args=("orders", value))
            thread.start()
            while not held.held:
                pass
            assert held.release(1) == 1
            thread.join()
        waits.join()
    assert held.hits == 2


def test_leaving_lets_held_requests_go_on(broker: Broker) -> None:
    with broker.hold("Produce") as held:
        thread = threading.Thread(target=broker.produce, args=("orders", "x"))
        thread.start()
        held.wait()
    thread.join()
    held.remove()
    assert held.left == 0


def test_a_wait_that_takes_too_long(broker: Broker) -> None:
    with broker.hold("Produce", topic="order", unused_ok=True) as held:
        broker.produce("orders", "x")
        with pytest.raises(BrokerFailed, match=r"has 0 of 1 hits .* topic 'orders' is not 'order'"):
            held.wait(timeout=SOON)


def test_a_wrong_rule(broker: Broker) -> None:
    with pytest.raises(BrokerFailed, match=r"error: there is no error 'NOT_LEADER'; did you mean"):
        broker.fault("Produce", error="NOT_LEADER")
    with pytest.raises(BrokerFailed, match="there is no API 'Prodce'; did you mean 'Produce'"):
        broker.hold("Prodce")
    with pytest.raises(BrokerFailed, match="unknown field `topics`"):
        broker.hold("Produce", topics="orders")


def test_a_broker_that_dies_within_a_fault() -> None:
    with Broker() as broker:
        with pytest.raises(BrokerDied), broker.hold("EndTxn"):
            os.kill(broker.pid, signal.SIGKILL)
        broker.restart()
        with pytest.raises(BrokerFailed, match="does not run"), broker.hold("EndTxn"):
            broker.kill()
        broker.restart()
        held = broker.hold("EndTxn")
        with pytest.raises(ZeroDivisionError), held:
            _ = broker.kill() or 1 / 0
