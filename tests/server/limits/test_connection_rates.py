"""How many connections are taken per second: X-90, X-91."""

import time
from collections import Counter

import anyio
import pytest

from broker_lite.control.quotas.rates import Windows
from broker_lite.control.quotas.source import CONNECTION, QuotaSource
from broker_lite.control.users.quota_rules import Entity
from broker_lite.server.limits.connection_rates import ConnectionRates, Rates, plain_ip
from broker_lite.server.limits.node_limits import NO_LIMIT, has_rate
from broker_lite.settings import Given, Settings
from tests.server.conftest import ECHO, Serve, request_frame

WINDOWS = Windows()
UNLIMITED = Rates(NO_LIMIT, NO_LIMIT)


class Limited:
    """The rates of a node whose limits and quotas a test changes."""

    def __init__(
        self, rates: Rates = UNLIMITED, protected: str | None = None, **quotas: float
    ) -> None:
        self.now_ms = 0
        self.rates = rates
        self.quotas: dict[Entity, dict[str, float]] = {}
        self.counts: Counter[tuple[str, tuple[str, ...]]] = Counter()
        self.version = 0
        source = QuotaSource(self.quotas, self.counts, lambda: self.version, lambda: self.now_ms)
        self.measured = ConnectionRates(source, WINDOWS, lambda _: self.rates, protected)
        for ip, rate in quotas.items():
            self.set(ip, rate)

    def set(self, ip: str | None, rate: float) -> None:
        self.quotas[("ip", ip),] = {CONNECTION: rate}
        self.counts[CONNECTION, ("ip",)] += 1
        self.version += 1

    def delays(self, count: int, listener: str = "A") -> list[int]:
        return [self.measured.delay_ms(listener) for _ in range(count)]

    def throttled(self, count: int, ip: str = "1.2.3.4") -> list[int]:
        return [self.measured.throttle_ms(ip, "A") for _ in range(count)]


def test_x90_connections_above_the_rate_of_the_node_wait() -> None:
    limited = Limited(Rates(2, NO_LIMIT))
    assert limited.delays(20) == [0] * 20
    assert limited.delays(1) == [500]
    assert limited.delays(1, "B") == [1000]
    assert limited.delays(3) == [1000] * 3
    limited.now_ms += 60_000
    assert limited.delays(20) == [0] * 20


def test_x90_a_listener_has_a_rate_of_its_own() -> None:
    limited = Limited(Rates(NO_LIMIT, 1))
    assert limited.delays(11) == [0] * 10 + [1000]
    assert limited.delays(11, "B") == [0] * 10 + [1000]


def test_x90_the_longer_time_counts() -> None:
    limited = Limited(Rates(10, 4))
    assert limited.delays(41)[-1] == 250
    limited.rates = Rates(4, 10)
    assert limited.delays(1) == [500]


def test_x90_the_listener_of_brokers_has_only_its_own_limit() -> None:
    limited = Limited(Rates(1, NO_LIMIT), protected="A")
    assert limited.delays(30) == [0] * 30
    assert limited.delays(11, "B") == [0] * 10 + [1000]


def test_x90_no_connection_is_allowed_by_a_rate_of_0() -> None:
    assert Limited(Rates(0, NO_LIMIT)).delays(2) == [1000, 1000]


def test_x91_an_address_above_its_quota_is_throttled() -> None:
    limited = Limited()
    assert limited.throttled(100) == [0] * 100
    limited.set("1.2.3.4", 2.0)
    assert limited.throttled(20) == [0] * 20
    assert limited.throttled(3) == [500] * 3
    assert limited.throttled(30, "1.2.3.5") == [0] * 30
    limited.set(None, 1.0)
    assert limited.throttled(11, "1.2.3.6") == [0] * 10 + [1000]
    assert limited.throttled(11, "1.2.3.7") == [0] * 10 + [1000]
    limited.set("1.2.3.4", 2.0**31 - 1)
    assert limited.throttled(1) == [0]


def test_x91_one_that_is_throttled_counts_nowhere() -> None:
    limited = Limited(Rates(2, 3), **{"1.2.3.4": 1.0})
    for _ in range(10):
        limited.delays(1)
        assert limited.throttled(1) == [0]
    for _ in range(50):
        assert limited.delays(1) == [0]
        assert limited.throttled(1) == [1000]
    assert limited.delays(10) == [0] * 10


def test_x91_an_address_may_be_written_in_any_form() -> None:
    limited = Limited(**{"0:0:0:0:0:0:0:1": 1.0, "localhost": 1.0})
    assert limited.throttled(11, "::1") == [0] * 10 + [1000]
    assert limited.throttled(11, "127.0.0.1") == [0] * 11
    assert plain_ip("localhost") == "localhost"


def test_x90_whether_there_is_a_rate() -> None:
    def settings(**texts: str) -> Settings:
        return Settings({name.replace("_", "."): Given(value, "") for name, value in texts.items()})

    assert not has_rate(settings())
    assert has_rate(settings(max_connection_creation_rate="5"))
    assert has_rate(settings(listener_name_plaintext_max_connection_creation_rate="5"))


@pytest.mark.anyio
async def test_x90_a_client_that_waits_is_served_later(serve: Serve) -> None:
    limited = Limited(Rates(1, NO_LIMIT))
    limited.delays(10)
    async with serve(rates=limited.measured) as served:
        began = time.monotonic()
        client = await served.connect()
        await client.send(request_frame(ECHO, b"late"))
        assert await client.answer() == (1, b"late")
        assert 0.9 < time.monotonic() - began < 3


@pytest.mark.anyio
async def test_x90_a_stop_closes_a_client_that_waits(serve: Serve) -> None:
    limited = Limited(Rates(1, NO_LIMIT))
    limited.delays(10)
    async with serve(rates=limited.measured) as served:
        client = await served.connect()
        await anyio.sleep(0.1)
        served.node.stop()
        assert await client.is_closed()
        await served.ended.wait()


@pytest.mark.anyio
async def test_x91_a_throttled_connection_is_closed_after_its_time(serve: Serve) -> None:
    limited = Limited(**{"127.0.0.1": 2.0})
    limited.throttled(20, "127.0.0.1")
    async with serve(rates=limited.measured) as served:
        began = time.monotonic()
        client = await served.connect()
        await client.send(request_frame(ECHO, b"never"))
        assert await client.receive(1) == b""
        assert 0.4 < time.monotonic() - began < 2
        await served.until(lambda: served.node.connection_count == 0)


@pytest.mark.anyio
async def test_x91_a_stop_closes_throttled_connections(serve: Serve) -> None:
    limited = Limited(**{"127.0.0.1": 1.0})
    limited.throttled(10, "127.0.0.1")
    async with serve(rates=limited.measured) as served:
        client = await served.connect()
        await anyio.sleep(0.1)
        served.node.stop()
        await served.ended.wait()
        assert await client.is_closed()
