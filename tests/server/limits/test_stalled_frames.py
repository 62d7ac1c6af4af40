"""Requests that stop arriving while others wait for their memory."""

import pytest

from broker_lite.rate_limited_log import RateLimitedLog
from broker_lite.server.limits.stalled_frames import STALLED_BYTES, STALLED_MS, StalledFrames


class Slow:
    client_ip = "10.0.0.1"

    def __init__(self, arrived_bytes: int | None) -> None:
        self.arrived_bytes = arrived_bytes
        self.is_dropped = False

    def drop(self) -> None:
        self.is_dropped = True


class Watch:
    def __init__(self) -> None:
        self.is_short = True
        self.frames = StalledFrames(lambda: self.is_short, RateLimitedLog(lambda: 0))


def test_a_request_that_does_not_grow_is_closed(caplog: pytest.LogCaptureFixture) -> None:
    watch, slow, fast, idle = Watch(), Slow(70_000), Slow(70_000), Slow(None)
    for now_ms in (0, STALLED_MS - 1):
        watch.frames.look([slow, fast, idle], now_ms)
        slow.arrived_bytes = 70_001
        fast.arrived_bytes = 70_000 + STALLED_BYTES
    assert not slow.is_dropped
    watch.frames.look([slow, fast, idle], STALLED_MS)
    assert slow.is_dropped
    assert not fast.is_dropped
    assert not idle.is_dropped
    assert "its request stopped arriving after 70001 bytes" in caplog.text


def test_the_next_request_of_a_connection_has_its_own_time() -> None:
    watch, client = Watch(), Slow(1_000_000)
    watch.frames.look([client], 0)
    client.arrived_bytes = 40_000
    watch.frames.look([client], STALLED_MS)
    watch.frames.look([client], 2 * STALLED_MS - 1)
    assert not client.is_dropped
    watch.frames.look([client], 2 * STALLED_MS)
    assert client.is_dropped


def test_while_nobody_waits_a_request_may_take_its_time() -> None:
    watch, client = Watch(), Slow(1_000_000)
    watch.frames.look([client], 0)
    watch.is_short = False
    watch.frames.look([client], STALLED_MS)
    watch.is_short = True
    watch.frames.look([client], 2 * STALLED_MS)
    assert not client.is_dropped
