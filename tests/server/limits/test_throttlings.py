"""Quotas of a running broker: in force at once, after a restart, and on each node by itself."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from broker_lite.testing import Broker
from tests.differential.compare_quotas import LEVELS, Step, by_level, make_topic, produce, set_quota
from tests.support.raw_client import RawClient

RATE = "producer_byte_rate"
PRODUCE = Step("produce", 10_000)


def port_of(broker: Broker, node: int = 0) -> int:
    return int(broker.bootstrap.split(",")[node].rpartition(":")[2])


@contextmanager
def client_of(broker: Broker, client_id: str = "c", node: int = 0) -> Iterator[RawClient]:
    with RawClient("127.0.0.1", port_of(broker, node), client_id=client_id) as client:
        yield client


def told(client: RawClient) -> int:
    answer = produce(client, PRODUCE)
    assert answer.responses[0].partition_responses[0].error_code == 0
    throttle_ms: int = answer.throttle_time_ms
    return throttle_ms


def is_answered(client: RawClient, within_s: float) -> bool:
    client.socket.settimeout(within_s)
    try:
        client.exchange(18, 0, b"")
    except TimeoutError:
        return False
    return True


def test_x89_a_quota_counts_at_once_on_open_connections() -> None:
    with Broker() as broker, client_of(broker) as client, client_of(broker, "admin") as admin:
        make_topic(admin)
        assert told(client) == 0
        set_quota(admin, RATE, 500.0, client_id="c")
        assert told(client) > 9_000
        assert told(admin) == 0
        assert not is_answered(client, 0.2)
        broker.advance(timedelta(minutes=1))
        client.socket.settimeout(5)
        assert client.receive(flexible=False)[1]


def test_x89_a_quota_that_is_taken_away_counts_no_more() -> None:
    with Broker() as broker, client_of(broker) as client, client_of(broker, "admin") as admin:
        make_topic(admin)
        set_quota(admin, RATE, 1.0, client_id=None)
        set_quota(admin, RATE, None, client_id=None)
        assert told(client) == 0
        set_quota(admin, RATE, 500.0, client_id=None)
        set_quota(admin, RATE, 2000.0, client_id="c")
        assert told(client) == 0


def test_x89_quotas_are_in_force_after_a_restart() -> None:
    with Broker() as broker:
        with client_of(broker, "admin") as admin:
            make_topic(admin)
            set_quota(admin, RATE, 500.0, user=None)
        broker.restart()
        with client_of(broker) as client:
            assert told(client) > 9_000


def test_x88_the_mute_ends_by_the_clock_and_holds_nobody_else() -> None:
    with Broker() as broker, client_of(broker) as client, client_of(broker, "admin") as admin:
        make_topic(admin)
        set_quota(admin, RATE, 900.0, client_id="c")
        throttle_ms = told(client)
        assert 1_000 < throttle_ms < 1_500
        began = time.monotonic()
        for _ in range(20):
            assert told(admin) == 0
        assert time.monotonic() - began < 0.9
        assert is_answered(client, 10)
        assert time.monotonic() - began > throttle_ms / 1000 - 0.2


def test_x80_each_level_over_the_network() -> None:
    with Broker() as broker:
        with client_of(broker, "admin") as admin:
            make_topic(admin)
        times = by_level(port_of(broker))
    assert len(times) == len(LEVELS) + 1
    # one produce of 20 kB by its own, for the first client of each share
    expected = {0: 1500, 2: 1600, 6: 1800}
    for number, rate in expected.items():
        assert times[number] == pytest.approx((2000 / rate - 1) * 10_000, abs=150)
    assert times[-1] == 0


def test_x89_each_node_measures_its_own_clients() -> None:
    with Broker({"broker.lite.brokers": "2"}) as broker:
        with client_of(broker, "admin") as admin:
            make_topic(admin)
            set_quota(admin, "request_percentage", 0.000_001, client_id="c")
            set_quota(admin, RATE, 500.0, client_id="d")
        for node in (0, 1):
            with client_of(broker, "c", node) as client:
                assert client.call("Metadata", 9, topics=[]).throttle_time_ms == 1000
        times = []
        for node in (0, 1):
            with client_of(broker, "d", node) as client:
                times.append(produce(client, PRODUCE).throttle_time_ms)
        assert times[0] == pytest.approx(times[1], abs=20)


def test_a_broker_without_quotas_does_not_import_them() -> None:
    script = (
        "import sys, broker_lite.server.run, broker_lite.handler.table as table;"
        "table.load_handlers();"
        "found = [name for name in sys.modules if 'throttl' in name or '.quotas' in name];"
        "sys.exit(repr(found) if found else 0)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
