"""A broker at a URL."""

import re
from collections.abc import Iterator
from datetime import timedelta

import pytest

from broker_lite.testing import Broker, BrokerFailed


@pytest.fixture(scope="module")
def started() -> Iterator[Broker]:
    with Broker(
        {"broker.lite.control": "127.0.0.1:0", "node.id": 5, "broker.session.timeout.ms": 0},
        brokers=2,
        topics=["orders:2"],
    ) as broker:
        yield broker


@pytest.fixture(scope="module")
def url(started: Broker) -> str:
    found = re.search(r"control API at (http://\S+)", started.log)
    assert found is not None
    return found[1]


def test_it_has_the_methods_of_a_broker(started: Broker, url: str) -> None:
    with Broker.connect(url) as broker:
        assert broker.is_running
        assert (broker.bootstrap, broker.addresses) == (started.bootstrap, started.addresses)
        assert (broker.host, broker.port) == (started.host, started.port)
        broker.produce("orders", "x")
        assert len(broker.records("orders")) == 1
        with broker.fault("Produce", unused_ok=True, observe=True) as fault:
            broker.produce("orders", "y")
            fault.wait()
        assert fault.hits == 1
        assert list(broker.brokers) == [5, 6]
        broker.brokers[6].down()
        assert started.brokers[6].state == "down"
        broker.heal()
        before_ms = broker.control("GET", "/v1/clock")
        broker.advance(timedelta(hours=1))
        assert str(broker.control("GET", "/v1/clock")) > str(before_ms)
        broker.reset()
        assert broker.records("orders") == []
    assert started.is_running


def test_octets_and_lines_as_with_a_broker_of_ones_own(started: Broker, url: str) -> None:
    connected = Broker.connect(url)
    for broker in (started, connected):
        broker.reset()
        broker.record_requests("bodies")
        lines = '{"value": "x"}\n{"value": "y"}\n'
        assert broker.control("POST", "/v1/topics/orders/records", lines) == {
            "records": 2,
            "end_offsets": {"0": 1, "1": 1},
        }
        broker.produce("orders", b"\xff\xfe")
        produced = broker.requests(keys=["Produce"])[-1]
        found = [
            each.control("GET", f"/v1/requests/{produced.id}/request")
            for each in (started, connected)
        ]
        assert isinstance(found[0], bytes)
        assert found[0] == found[1]
        assert b"\xff\xfe" in found[0]
        told = broker.control("POST", "/v1/explain", found[0])
        assert isinstance(told, dict)
        assert told["refused"] is None


def test_a_reset_that_keeps_topics(started: Broker, url: str) -> None:
    for broker in (started, Broker.connect(url)):
        broker.create_topic("kept")
        broker.produce("kept", "gone")
        fault = broker.hold("EndTxn")
        broker.reset(keep_topics=True)
        assert broker.records("kept") == []
        assert fault.left == 1
        fault.remove()
        broker.reset()
        with pytest.raises(BrokerFailed, match="there is no topic 'kept'"):
            broker.partition("kept", 0)


def test_after_a_reset_from_elsewhere_the_owner_goes_on(started: Broker, url: str) -> None:
    broker = Broker.connect(url)
    for _ in range(3):
        broker.reset()
        started.reset()
        started.advance()
    assert started.records("orders") == []


@pytest.mark.anyio
async def test_it_can_be_used_in_async_tests(url: str) -> None:
    async with Broker.connect(url) as broker:
        await broker.aio.reset()
        await broker.aio.advance()


@pytest.mark.parametrize("name", ["start", "stop", "kill", "restart"])
def test_its_process_belongs_to_somebody_else(url: str, name: str) -> None:
    with pytest.raises(BrokerFailed, match=rf"^the broker at {url} is not \w+ed from here$"):
        getattr(Broker.connect(url), name)()


def test_what_is_not_known_of_it(url: str) -> None:
    broker = Broker.connect(url)
    assert broker.log == ""
    with pytest.raises(BrokerFailed, match="is no process"):
        _ = broker.pid
    with pytest.raises(BrokerFailed, match="has no data directory"):
        _ = broker.data_dir
    with pytest.raises(ValueError, match="cannot go back"):
        broker.advance(-timedelta(1))
    with pytest.raises(BrokerFailed, match="there is no topic"):
        broker.partition("nope", 0)


def test_where_clients_connect(url: str) -> None:
    broker = Broker.connect(url, bootstrap="localhost:19092,localhost:19093")
    assert (broker.host, broker.port, len(broker.addresses)) == ("localhost", 19092, 2)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [("http://127.0.0.1:1", "refused"), ("ftp://x", "is no URL of a control API")],
)
def test_a_broker_that_is_not_there(wrong: str, told: str) -> None:
    with pytest.raises(BrokerFailed, match=told):
        Broker.connect(wrong)


def test_a_broker_that_ended() -> None:
    with Broker({"broker.lite.control": "127.0.0.1:0"}) as owner:
        found = re.search(r"control API at (http://\S+)", owner.log)
        assert found is not None
        broker = Broker.connect(found[1])
    assert not broker.is_running
    with pytest.raises(BrokerFailed, match="the control API at"):
        broker.reset()
