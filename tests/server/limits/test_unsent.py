"""Answers that clients do not take: their memory is bounded."""

import pytest

from broker_lite.rate_limited_log import RateLimitedLog
from broker_lite.server.limits.unsent import NO_LIMIT, UnsentAnswers


class Slow:
    def __init__(self, ip: str) -> None:
        self.client_ip = ip
        self.is_dropped = False

    def drop(self) -> None:
        self.is_dropped = True


def test_whoever_holds_its_answer_for_longest_is_closed(caplog: pytest.LogCaptureFixture) -> None:
    unsent = UnsentAnswers(100, RateLimitedLog(lambda: 0))
    clients = [Slow(f"10.0.0.{number}") for number in range(4)]
    for client in clients[:3]:
        unsent.hold(client, 30)
    assert unsent.release(clients[1]) == 30
    assert unsent.release(clients[1]) == 0
    unsent.hold(clients[3], 40)
    assert unsent.held_bytes == 100
    assert not any(client.is_dropped for client in clients)
    unsent.hold(clients[1], 1)
    assert [client.is_dropped for client in clients] == [True, False, False, False]
    assert unsent.held_bytes == 71
    assert "closing 10.0.0.0: it does not take its answer of 30 bytes" in caplog.text


def test_one_answer_may_not_be_larger_than_the_limit() -> None:
    unsent = UnsentAnswers(100, RateLimitedLog(lambda: 0))
    client = Slow("10.0.0.1")
    unsent.hold(client, 101)
    assert client.is_dropped
    assert unsent.held_bytes == 0


def test_without_a_limit_nobody_is_closed() -> None:
    unsent = UnsentAnswers(NO_LIMIT, RateLimitedLog(lambda: 0))
    client = Slow("10.0.0.1")
    unsent.hold(client, 1 << 40)
    assert not client.is_dropped
