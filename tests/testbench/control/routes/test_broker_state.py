"""The clock of a real broker: frozen, stepped, and set going again."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from broker_lite.testing import Broker, BrokerFailed
from broker_lite.wire import messages
from tests.support.raw_client import RawClient

SETTINGS = {"group.min.session.timeout.ms": 100, "group.initial.rebalance.delay.ms": 0}
SESSION = timedelta(milliseconds=150)


@pytest.fixture(scope="module")
def running() -> Iterator[Broker]:
    with Broker(SETTINGS, topics=["t:1:message.timestamp.type=LogAppendTime"]) as started:
        yield started


@pytest.fixture
def broker(running: Broker) -> Iterator[Broker]:
    yield running
    running.reset()


def clock(broker: Broker) -> Any:
    return broker.control("GET", "/v1/clock")


def join(broker: Broker) -> None:
    """Join a group as a member that never sends a heartbeat."""
    kind = messages.JoinGroupRequest
    protocol = kind.JoinGroupRequestProtocol(name="p", metadata=b"")
    with RawClient(broker.host, broker.port) as client:
        client.call("FindCoordinator", 2, key="g", key_type=0)
        joined = client.call(
            "JoinGroup",
            3,
            group_id="g",
            session_timeout_ms=SESSION // timedelta(milliseconds=1),
            rebalance_timeout_ms=100,
            member_id="",
            protocol_type="consumer",
            protocols=[protocol],
        )
    assert joined.error_code == 0


def test_no_session_ends_while_it_is_frozen(broker: Broker) -> None:
    broker.freeze()
    join(broker)
    with pytest.raises(BrokerFailed, match="is not as wanted"):
        broker.wait_for_group("g", state="Empty", timeout=2 * SESSION)
    broker.advance(SESSION)
    broker.wait_for_group("g", state="Empty")


def test_records_of_a_frozen_clock_have_the_same_time(broker: Broker) -> None:
    broker.freeze()
    before = clock(broker)
    assert before["is_frozen"]
    broker.produce("t", "a")
    assert clock(broker) == before
    broker.produce("t", "b")
    broker.advance(timedelta(milliseconds=7))
    broker.produce("t", "c")
    now_ms = before["now_ms"]
    times = [record.timestamp_ms for record in broker.records("t")]
    assert times == [now_ms, now_ms, now_ms + 7]


def test_it_goes_on_from_where_it_stands(broker: Broker) -> None:
    told: Any = broker.control("POST", "/v1/clock", {"freeze": True, "advance_ms": 3_600_000})
    assert clock(broker) == told
    broker.unfreeze()
    after = clock(broker)
    assert not after["is_frozen"]
    assert 0 <= after["now_ms"] - told["now_ms"] < 60_000


def test_a_reset_and_a_restore_let_it_go_on(broker: Broker) -> None:
    broker.snapshot("s")
    for begin_anew in (broker.reset, lambda: broker.restore("s")):
        asyncio.run(broker.aio.freeze())
        begin_anew()
        assert not clock(broker)["is_frozen"]
    broker.freeze()
    asyncio.run(broker.aio.unfreeze())
    assert not clock(broker)["is_frozen"]
