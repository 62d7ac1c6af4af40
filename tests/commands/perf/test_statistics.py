"""Latencies and rates, as Kafka's tool prints them."""

import pytest

from broker_lite.commands.perf.statistics import Statistics, metric_lines


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now_ms = 1000.0

    def __call__(self) -> float:
        return self.now_ms


@pytest.fixture
def clock() -> Clock:
    return Clock()


def statistics(clock: Clock, lines: list[str], **options: bool) -> Statistics:
    return Statistics(1000, interval_ms=100, now_ms=clock, tell=lines.append, **options)


def test_the_total(clock: Clock) -> None:
    found = statistics(clock, [])
    for latency_ms in range(1, 101):
        found.add(latency_ms, 1 << 20)
    clock.now_ms += 2000
    assert found.total() == (
        "100 records sent, 50.000000 records/sec (50.00 MB/sec), 50.50 ms avg latency,"
        " 100.00 ms max latency, 51 ms 50th, 96 ms 95th, 100 ms 99th, 100 ms 99.9th."
    )


def test_without_a_record(clock: Clock) -> None:
    assert statistics(clock, []).total() == (
        "0 records sent, 0.000000 records/sec (0.00 MB/sec), NaN ms avg latency,"
        " 0.00 ms max latency, 0 ms 50th, 0 ms 95th, 0 ms 99th, 0 ms 99.9th."
    )


def test_reports(clock: Clock) -> None:
    lines: list[str] = []
    found = statistics(clock, lines)
    clock.now_ms += 200
    found.report()
    found.add(4, 100)
    clock.now_ms += 50
    found.report()
    found.add(1, 100)
    found.report()
    assert lines == [
        "1 records sent, 4.0 records/sec (0.00 MB/sec), 4.0 ms avg latency, 4.0 ms max latency."
    ]
    clock.now_ms += 100
    found.is_silent = True
    found.report()
    assert len(lines) == 1


def test_steady_state_says_so_once(clock: Clock) -> None:
    lines: list[str] = []
    found = statistics(clock, lines, steady=True)
    for _ in range(2):
        found.add(1, 1)
        clock.now_ms += 100
        found.report()
    assert lines[0] == "In steady state."
    assert len(lines) == 3
    assert found.total().startswith("2 steady state records sent, ")


def test_of_many_records_only_some_latencies_are_kept(clock: Clock) -> None:
    found = Statistics(1_500_000, interval_ms=100, now_ms=clock, tell=pytest.fail)
    for latency_ms in (1, 9, 9, 2, 9):
        found.add(latency_ms, 1)
    assert found.percentiles() == [2, 2, 2, 2]


def test_metrics() -> None:
    assert list(metric_lines("g", "c", {"long-name": 2, "a": 1})) == [
        "",
        "Metric Name                 Value",
        "g:a:{client-id=c}         : 1.000",
        "g:long-name:{client-id=c} : 2.000",
    ]
