"""The lines about a run."""

from broker_lite.commands.bench.texts import loop_line, percentile_line, result_lines, second_line
from broker_lite.load.cpu import CpuMeter
from broker_lite.load.histogram import Histogram
from broker_lite.load.recorder import Second
from tests.load.lanes import MS, SECOND, recorder


def test_a_line_each_second() -> None:
    second = Second(
        end_s=3,
        length_s=0.5,
        is_warmup=False,
        requests=5,
        records=1000,
        bytes=2_000_000,
        errors=0,
        p50_ms=1.234,
        p99_ms=5,
        max_ms=17.5,
    )
    line = second_line(second)
    assert " ".join(line.split()) == (
        "3 s 2,000 records/s 4.0 MB/s p50 1.23 ms p99 5.00 ms max 17.50 ms"
    )
    assert second_line(second._replace(errors=2)) == f"{line}  2 errors"
    assert second_line(second._replace(is_warmup=True)) == f"{line}  (warm-up)"


def test_percentiles_in_a_line() -> None:
    latencies_ns = Histogram()
    for ms in range(1, 11):
        latencies_ns.record(ms * MS)
    assert percentile_line(latencies_ns) == (
        "p50 5.11 ms, p90 9.18 ms, p99 10.00 ms, p99.9 10.00 ms, max 10.00 ms"
    )


def test_what_latencies_mean() -> None:
    assert "when a request was due" in loop_line(is_open=True)
    assert "latencies are of a saturated system" in loop_line(is_open=False)


def test_the_table_at_the_end() -> None:
    counts = recorder(warmup_s=1)
    meter = CpuMeter(None)
    counts.answered(SECOND + MS, SECOND, 5, 1000)
    counts.answered(3 * SECOND - MS, 3 * SECOND - 3 * MS, 100, 2_000_000_000)
    counts.finish(3 * SECOND)
    meter.client_s = 0.5
    lines = [
        " ".join(line.split())
        for line in result_lines(counts, meter, more=["accepted 105 records"])
    ]
    assert lines[:5] == [
        "warm-up measured",
        "seconds 1.0 1.0",
        "requests/s 1.0 1.0",
        "records/s 5 100",
        "MB/s 0.00 2,000.00",
    ]
    assert lines[5:11] == [
        "mean ms 1.00 2.00",
        "p50 ms 1.00 2.00",
        "p90 ms 1.00 2.00",
        "p99 ms 1.00 2.00",
        "p99.9 ms 1.00 2.00",
        "max ms 1.00 2.00",
    ]
    assert lines[11:] == [
        "",
        "accepted 105 records",
        "CPU of the client: 0.50 s, 0.25 s a GB",
    ]


def test_what_went_wrong() -> None:
    counts = recorder()
    meter = CpuMeter(None)
    meter.client_s, meter.problem = 0.97, "it has gone"
    counts.error("no connection", "refused")
    counts.error("MESSAGE_TOO_LARGE")
    counts.finish(2 * SECOND)
    counts.retries = {"connection lost": 1000}
    counts.refused, counts.unanswered, counts.unsent = 2, 3, 4
    counts.throttled(1500)
    lines = list(result_lines(counts, meter))
    assert lines[0].split() == ["measured"]
    assert lines[lines.index("") + 1 :] == [
        "error MESSAGE_TOO_LARGE: 1",
        "error no connection: 1, the last one: refused",
        "requests sent again after connection lost: 1,000",
        "requests refused: 2",
        "requests without an answer at the end: 3",
        "requests due and never sent: 4",
        "throttled by the broker: 1 times, 1.5 s in all",
        "CPU of the client: 0.97 s",
        "CPU of the broker: not known: it has gone",
    ]
