"""Who is the limit, by figures."""

from typing import Any

import pytest

from broker_lite.server.tcp_state import TcpCounts
from broker_lite.server.usage import Usage
from broker_lite.testbench.limits import Busy, Limit, Load, limit_of, load_between, sentence

IDLE = Busy(0.02, 0.0)


def load(**parts: Any) -> Load:
    usual = {
        "seconds": 1.0,
        "requests": 50,
        "in_bytes": 1_000,
        "out_bytes": 50_000_000,
        "not_asking": 0.0,
        "not_reading": 0.0,
        "nothing_to_give": 0.0,
        "throttled": 0.0,
        "window_closed": 0.0,
    }
    return Load(**{**usual, **parts})


@pytest.mark.parametrize(
    ("found", "busy", "limit", "words"),
    [
        (load(requests=0, not_asking=1.0), IDLE, Limit.NOBODY, "asked for nothing"),
        (load(not_asking=0.81, not_reading=0.13), IDLE, Limit.NOT_ASKING, "94 % of the time"),
        (load(not_reading=0.9, window_closed=0.8), IDLE, Limit.NOT_READING, "90 % not reading"),
        (load(not_reading=0.9, window_closed=0.1), IDLE, Limit.NETWORK, "could not send"),
        (
            load(not_asking=0.35, not_reading=0.57),
            IDLE,
            Limit.NOT_READING,
            "35 % not asking, 57 % not reading",
        ),
        (load(nothing_to_give=0.6), IDLE, Limit.NOTHING_TO_GIVE, "waited for records"),
        (load(throttled=0.7), IDLE, Limit.THROTTLED, "above its quota"),
        (load(not_asking=0.2), Busy(0.9, 0.0), Limit.LOOP, "loop was busy 90 %"),
        (load(not_asking=0.2), Busy(0.1, 0.8), Limit.THREADS, "threads 80 %, which rewrite"),
        (load(not_asking=0.2), Busy(0.1, 0.1), Limit.WAITING, "waits for a disk"),
        (
            load(requests=4000, out_bytes=4_000_000, not_asking=0.7),
            Busy(0.3, 0.0),
            Limit.SMALL_REQUESTS,
            "4,000 requests a second moved 1.0 KB each",
        ),
        (
            load(requests=4000, out_bytes=4_000_000, not_asking=0.4),
            Busy(0.6, 0.0),
            Limit.SMALL_REQUESTS,
            "round trips",
        ),
        (
            load(requests=4000, out_bytes=4_000_000, not_asking=0.7),
            Busy(0.99, 0.0),
            Limit.SMALL_REQUESTS,
            "loop was busy 99 %",
        ),
        (
            load(requests=4000, out_bytes=4_000_000, not_asking=0.7, nothing_to_give=0.2),
            Busy(0.3, 0.0),
            Limit.NOT_ASKING,
            "70 % not asking",
        ),
    ],
)
def test_the_largest_part_decides(found: Load, busy: Busy, limit: Limit, words: str) -> None:
    assert limit_of(found, busy) is limit
    assert words in sentence(found, busy)


def test_what_lies_between_two_looks() -> None:
    before = Usage(100.0, 5, 10.0, 1.0, 2.0, 0.0, TcpCounts(1_000, 2_000, 3.0, 0.5))
    after = Usage(102.0, 9, 11.0, 1.5, 2.0, 0.2, TcpCounts(1_300, 9_000, 3.4, 0.7))
    found = load_between(before, after)
    assert found[:4] == (2.0, 4, 300, 7_000)
    assert found[4:] == pytest.approx((0.5, 0.25, 0.0, 0.1, 0.1))
    assert found.at_broker == pytest.approx(0.15)


@pytest.mark.parametrize(("sending_s", "in_kernel"), [(0.5, 0.0), (1.0, 0.25), (2.0, 0.5)])
def test_what_is_still_in_the_kernel_is_not_read(sending_s: float, in_kernel: float) -> None:
    before = Usage(100.0, 5, 0.0, 0.0, 0.0, 0.0, TcpCounts(0, 0, 0.0, 0.0))
    after = Usage(102.0, 9, 1.0, 0.5, 0.0, 0.0, TcpCounts(0, 0, sending_s, 0.0))
    found = load_between(before, after)
    assert found.not_asking == pytest.approx(0.5 - in_kernel)
    assert found.not_reading == pytest.approx(0.25 + in_kernel)
