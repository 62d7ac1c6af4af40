"""Who is the limit, by figures."""

from typing import Any

import pytest

from broker_lite.server.tcp_state import TcpCounts
from broker_lite.server.usage import LinkTimes, Usage
from broker_lite.testbench.limits import Busy, Limit, Load, limit_of, load_between, sentence

IDLE = Busy(0.02, 0.0)
SATURATED = Busy(0.99, 0.0, wait_s=0.01, requests=10_000)


def load(**parts: Any) -> Load:
    usual = {
        "seconds": 1.0,
        "requests": 50,
        "in_bytes": 1_000,
        "out_bytes": 50_000_000,
        "not_asking": 0.0,
        "not_reading": 0.0,
        "on_network": 0.0,
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
        (load(not_reading=0.9), IDLE, Limit.NOT_READING, "or a proxy in front of it"),
        (load(on_network=0.9), IDLE, Limit.NETWORK, "90 % of the time a request was on its way"),
        (load(on_network=0.5, not_asking=0.4), IDLE, Limit.NETWORK, "The network is the limit"),
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
            load(requests=4000, out_bytes=4_000_000, not_asking=0.1),
            Busy(0.99, 0.0, requests=7_000),
            Limit.SMALL_REQUESTS,
            "loop was busy 99 %",
        ),
        (
            load(requests=4000, out_bytes=4_000_000, not_asking=0.1),
            SATURATED,
            Limit.LOOP,
            "4,000 requests a second moved 1.0 KB each, and larger ones would cost it less",
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


def usage(at_s: float, **counts: Any) -> Usage:
    """A look; TCP counts bytes in and out, seconds of sending and of a closed window."""
    nothing = {
        "requests": 0,
        "events": 0,
        "not_asking_s": 0.0,
        "arriving_s": 0.0,
        "not_reading_s": 0.0,
        "nothing_to_give_s": 0.0,
        "throttled_s": 0.0,
        "link": None,
        "tcp": TcpCounts(0, 0, 0.0, 0.0),
    }
    return Usage(at_s, **{**nothing, **counts})


def between(busy: Busy = IDLE, **counts: Any) -> Load:
    """Two seconds from nothing."""
    return load_between(usage(100.0), usage(102.0, **counts), busy)


def test_what_lies_between_two_looks() -> None:
    before = usage(
        100.0,
        requests=5,
        not_asking_s=10.0,
        not_reading_s=1.0,
        nothing_to_give_s=2.0,
        tcp=TcpCounts(1_000, 2_000, 3.0, 0.5),
    )
    after = usage(
        102.0,
        requests=9,
        not_asking_s=11.0,
        not_reading_s=1.5,
        nothing_to_give_s=2.0,
        throttled_s=0.2,
        tcp=TcpCounts(1_300, 9_000, 3.4, 0.9),
    )
    found = load_between(before, after, IDLE)
    assert found[:4] == (2.0, 4, 300, 7_000)
    assert found[4:] == pytest.approx((0.5, 0.25, 0.0, 0.0, 0.1, 0.2))
    assert found.at_broker == pytest.approx(0.15)


@pytest.mark.parametrize(("sending_s", "in_kernel"), [(0.5, 0.0), (1.0, 0.25), (2.0, 0.5)])
def test_what_is_still_in_the_kernel_is_not_read(sending_s: float, in_kernel: float) -> None:
    found = between(not_asking_s=1.0, not_reading_s=0.5, tcp=TcpCounts(0, 0, sending_s, 2.0))
    assert found.not_asking == pytest.approx(0.5 - in_kernel)
    assert found.not_reading == pytest.approx(0.25 + in_kernel)


@pytest.mark.parametrize(
    ("closed_s", "not_reading", "on_network"), [(0.0, 0.0, 0.5), (0.4, 0.0, 0.5), (0.6, 0.5, 0.0)]
)
def test_a_client_that_has_room_does_not_keep_the_broker_waiting(
    closed_s: float, not_reading: float, on_network: float
) -> None:
    found = between(not_asking_s=1.0, not_reading_s=1.0, tcp=TcpCounts(0, 0, 1.0, closed_s))
    assert found.not_asking == pytest.approx(0.5)
    assert (found.not_reading, found.on_network) == (not_reading, on_network)


def test_a_request_that_has_begun_to_arrive_is_on_its_way() -> None:
    found = between(not_asking_s=1.6, arriving_s=1.2)
    assert found.not_asking == pytest.approx(0.2)
    assert found.on_network == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("sent_s", "waits"),
    [
        pytest.param(1.0, (0.4, 0.5, 0.0), id="copied"),
        pytest.param(1.6, (0.0, 0.0, 0.9), id="a proxy, or a limit of the kernel"),
    ],
)
def test_within_a_host_bytes_are_on_their_way_too(sent_s: float, waits: tuple[float, ...]) -> None:
    """As long as they are copied, by who sends or who reads."""
    rest_s = 1.8 - sent_s
    found = between(
        not_asking_s=rest_s,
        arriving_s=min(rest_s, 0.2),
        not_reading_s=sent_s,
        tcp=TcpCounts(0, 0, sent_s, 0.0),
        is_within_host=True,
    )
    assert found[4:7] == pytest.approx(waits)


@pytest.mark.parametrize(
    ("on_way_s", "not_read_s", "not_asking", "not_reading", "on_network"),
    [
        pytest.param(0.0, 0.0, 0.9, 0.0, 0.0, id="a link that carries nothing"),
        pytest.param(0.8, 0.4, 0.3, 0.2, 0.4, id="each"),
        pytest.param(0.2, 2.0, 0.0, 0.8, 0.1, id="answers that the client does not read"),
        pytest.param(2.0, 0.4, 0.0, 0.0, 0.9, id="what is with the broker is not on the link"),
    ],
)
def test_a_slow_link_of_the_broker_knows_what_it_does(
    on_way_s: float, not_read_s: float, not_asking: float, not_reading: float, on_network: float
) -> None:
    """Whatever the window of the connection within the host says."""
    before = usage(100.0, link=LinkTimes(0.0, 0.0))
    tcp = TcpCounts(0, 0, 1.0, 0.9)
    link = LinkTimes(on_way_s, not_read_s)
    after = usage(102.0, not_asking_s=0.8, not_reading_s=1.0, link=link, tcp=tcp)
    found = load_between(before, after, IDLE)
    assert found[4:7] == pytest.approx((not_asking, not_reading, on_network))


@pytest.mark.parametrize(
    ("busy", "not_asking", "at_broker"),
    [
        pytest.param(Busy(0.7, 0.0, 0.01, 1000), 0.9, 0.1, id="a loop that has time left"),
        pytest.param(SATURATED, 0.4, 0.6, id="a byte waits for 10 ms, a hundred times"),
        pytest.param(Busy(0.99, 0.0, 0.01, 99), 0.9, 0.1, id="the client alone keeps it at work"),
        pytest.param(Busy(0.99, 0.0, 0.1, 1000), 0.0, 1.0, id="not longer than it is waited for"),
    ],
)
def test_at_a_saturated_loop_requests_wait_in_the_kernel(
    busy: Busy, not_asking: float, at_broker: float
) -> None:
    found = between(busy, requests=50, events=100, not_asking_s=1.8)
    assert found.not_asking == pytest.approx(not_asking)
    assert found.at_broker == pytest.approx(at_broker)
