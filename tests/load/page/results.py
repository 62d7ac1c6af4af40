"""Results of runs, as they come from a file."""

from typing import Any

from broker_lite.load.cpu import CpuMeter
from broker_lite.load.report import result_of
from tests.load.lanes import MS, SECOND, recorder


def result(seconds: int = 10, *, per_second: float | None = None, **settings: object) -> Any:
    """A run of so many seconds with two answers in each, after a warm-up of 2 s."""
    counts, meter = recorder(warmup_s=2), CpuMeter(None)
    for number in range(seconds):
        now_ns = SECOND + number * SECOND + SECOND // 2
        for latency_ms in (number + 1, 50):
            counts.answered(now_ns, now_ns - latency_ms * MS, 10, 1_000_000)
        counts.tick(SECOND + (number + 1) * SECOND)
        meter.sample(number + 1, (number + 1) * 0.25)
    counts.finish(SECOND + seconds * SECOND)
    return result_of(
        "produce",
        {"topic": "load", "version": "1", **settings},
        counts,
        meter,
        requests_per_s=per_second,
        was_interrupted=False,
        figures={"delivered_records": 20 * seconds},
    )
