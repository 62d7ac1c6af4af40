"""The result of a run as plain data."""

import json

from broker_lite.load.cpu import CpuMeter, Usage
from broker_lite.load.report import result_of
from tests.load.lanes import MS, SECOND, recorder


class Steps:
    """CPU time that grows by 2 s with each reading."""

    def __init__(self) -> None:
        self._spent_s = 0.0

    def read(self) -> Usage:
        self._spent_s += 2
        return Usage(self._spent_s, 5000)


def test_everything_that_is_known() -> None:
    counts = recorder(warmup_s=1)
    meter = CpuMeter(Steps())
    counts.answered(SECOND + 5 * MS, SECOND, 3, 300)
    for number in range(1, 11):
        counts.answered(3 * SECOND - MS, 3 * SECOND - MS - number * MS, 10, 50_000_000)
    meter.begin()
    assert meter.broker_s() is None
    meter.end()
    counts.error("no connection", "refused")
    counts.finish(4 * SECOND)
    result = result_of(
        "produce",
        {"topic": "load"},
        counts,
        meter,
        requests_per_s=5,
        was_interrupted=False,
        figures={"delivered_records": 103},
    )
    result = json.loads(json.dumps(result))
    assert result["kind"] == "produce"
    assert result["settings"] == {"topic": "load"}
    assert (result["loop"], result["interrupted"]) == ("open", False)
    assert result["verdict"] == "Nobody was the limit: the rate of 5.0 requests/s was kept."
    assert result["warmup"]["records"] == 3
    measured = result["measured"]
    assert (measured["seconds"], measured["requests"]) == (2, 10)
    assert (measured["requests_per_s"], measured["records_per_s"]) == (5, 50)
    assert measured["mb_per_s"] == 250
    latencies_ms = measured["latency_ms"]
    assert (latencies_ms["mean"], latencies_ms["max"]) == (5.5, 10)
    assert 5 <= latencies_ms["p50"] <= 5 * 33 / 32
    assert 10 <= latencies_ms["p99.9"] <= 10 * 33 / 32
    assert (result["accepted_records"], result["delivered_records"]) == (103, 103)
    assert result["errors"] == {"no connection": 1}
    assert result["reasons"] == {"no connection": "refused"}
    assert result["cpu"]["broker_s_per_gb"] == 4
    assert result["cpu"]["client_s"] == meter.client_s
    assert result["cpu"]["broker_memory_bytes"] == 5000
    assert [count for _, count in measured["latency_counts"]] == [1] * 10
    assert measured["latency_counts"][-1] == [10, 1]
    assert [second["is_warmup"] for second in result["seconds"]] == [True, False, False]
    assert result["seconds"][1]["bytes"] == 500_000_000


def test_a_run_without_an_answer() -> None:
    counts = recorder()
    counts.finish(SECOND)
    meter = CpuMeter(None)
    meter.problem = "it has gone"
    result = result_of(
        "fetch", {}, counts, meter, requests_per_s=None, was_interrupted=True, figures={}
    )
    assert (result["loop"], result["interrupted"]) == ("closed", True)
    assert result["cpu"] == {
        "client_s": 0,
        "broker_s": None,
        "broker_memory_bytes": None,
        "samples": [],
        "problem": "it has gone",
    }
    assert result["seconds"] == []
