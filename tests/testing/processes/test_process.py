"""A broker's process that ends although nobody had it stopped."""

import os
import signal
import time
from datetime import timedelta

import pytest

from broker_lite.client.consuming.fetcher import FetchedBatch, Fetcher
from broker_lite.errors import ClientError
from broker_lite.testing import Broker, BrokerDied, BrokerFailed
from broker_lite.testing.processes.channel import Answer, Channel, NoAnswer


def kill_from_outside(broker: Broker) -> None:
    os.kill(broker.pid, signal.SIGKILL)
    while broker.is_running:
        time.sleep(0.001)


DIED = r"^the broker \(pid \d+\) was killed by SIGKILL; it logged last: .*ready on"


def test_a_broker_that_died_is_told_by_every_method() -> None:
    with Broker() as broker:
        broker.produce("t", "kept")
        kill_from_outside(broker)
        uses = [
            lambda: broker.records("t"),
            lambda: broker.pid,
            broker.reset,
            broker.advance,
            broker.kill,
            lambda: broker.produce("t", "x"),
            lambda: broker.create_topic("other"),
        ]
        for use in uses:
            with pytest.raises(BrokerDied, match=DIED) as death:
                use()
            assert "\n" not in str(death.value)
        broker.restart()
        assert [record.value for record in broker.records("t")] == [b"kept"]


@pytest.mark.parametrize("first", ["reset", "restart", "start", "stop"])
def test_a_broker_that_died_unseen(first: str) -> None:
    broker = Broker().start()
    broker.produce("t", "kept")
    data_dir, port = broker.data_dir, broker.port
    kill_from_outside(broker)
    if first == "reset":
        with pytest.raises(BrokerDied, match=DIED):
            broker.reset()
        broker.restart()
    if first == "restart":
        broker.restart()
    if first in {"reset", "restart"}:
        assert ([record.value for record in broker.records("t")], broker.port) == ([b"kept"], port)
    if first == "start":
        broker.start()
        with pytest.raises(ClientError):
            broker.records("t")
    if first == "stop":
        with pytest.raises(BrokerDied, match=DIED):
            broker.stop()
    assert broker.is_running is (first != "stop")
    broker.stop()
    assert not data_dir.exists()


def test_a_broker_that_dies_while_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with Broker() as broker:
        broker.produce("t", "x")
        poll = Fetcher.poll

        def kill_then_poll(fetcher: Fetcher, wait_s: float) -> list[FetchedBatch]:
            kill_from_outside(broker)
            return poll(fetcher, wait_s)

        monkeypatch.setattr(Fetcher, "poll", kill_then_poll)
        with pytest.raises(BrokerDied, match=DIED):
            broker.records("t")


def test_a_wrong_answer_names_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    def garbled(*_: object) -> Answer:
        raise NoAnswer("it is no answer")

    with Broker() as broker:
        monkeypatch.setattr(Channel, "ask", garbled)
        with pytest.raises(BrokerFailed, match="the broker: GET /v1: it is no answer"):
            broker.control("GET", "/v1")


def test_how_it_ended_is_told() -> None:
    with Broker() as broker:
        os.kill(broker.pid, signal.SIGTERM)
        while broker.is_running:
            time.sleep(0.001)
        with pytest.raises(BrokerDied, match=r"ended with exit code 0; .*stopping on SIGTERM"):
            broker.records("t")


def test_a_step_of_a_broker_that_has_ended() -> None:
    broker = Broker()
    with pytest.raises(BrokerFailed, match="does not run"):
        broker.advance()
    broker.start()
    os.kill(broker.pid, signal.SIGKILL)
    with pytest.raises(BrokerFailed, match=r"pid \d+\) was killed by SIGKILL; it logged last:"):
        broker.advance(timedelta(hours=1))
    assert not broker.is_running
    broker.stop()
