"""The result of a run as plain data, which JSON can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from broker_lite.load.cpu import CpuMeter
from broker_lite.load.histogram import Histogram
from broker_lite.load.recorder import NS_PER_MS, Phase, Recorder, Second
from broker_lite.load.verdict import verdict

PERCENTILES: Final[Mapping[str, float]] = {
    "p50": 0.5,
    "p90": 0.9,
    "p99": 0.99,
    "p99.9": 0.999,
}
_MB: Final = 1e6
_GB: Final = 1e9
_MS_DIGITS: Final = 3
_BUCKET_DIGITS: Final = 6

Result = dict[str, object]


def result_of(
    kind: str,
    settings: Mapping[str, object],
    recorder: Recorder,
    meter: CpuMeter,
    *,
    requests_per_s: float | None,
    was_interrupted: bool,
    figures: Mapping[str, object],
) -> Result:
    """Return everything that is known about a run.

    Args:
        kind: of the load: produce, fetch ...
        settings: of the run.
        recorder: whose run has ended.
        meter: which was read.
        requests_per_s: the rate by which requests were due; None for a closed loop.
        was_interrupted: whether it ended before its time.
        figures: what only this kind of load has to tell.
    """
    result: Result = {
        "kind": kind,
        "settings": dict(settings),
        "loop": "closed" if requests_per_s is None else "open",
        "requests_per_s": requests_per_s,
        "interrupted": was_interrupted,
        "warmup": phase_figures(recorder.warmup),
        "measured": phase_figures(recorder.measured),
        "accepted_records": recorder.accepted_records,
        **figures,
        "errors": dict(recorder.errors),
        "reasons": dict(recorder.reasons),
        "retries": dict(recorder.retries),
        "refused": recorder.refused,
        "unanswered": recorder.unanswered,
        "unsent": recorder.unsent,
        "throttles": recorder.throttles,
        "throttled_ms": recorder.throttled_ms,
        "cpu": _cpu(meter, recorder.measured),
        "seconds": [_second(second) for second in recorder.seconds],
    }
    return {**result, "verdict": verdict(result)}


def phase_figures(phase: Phase) -> Result:
    """Return the figures of a phase."""
    length_s = phase.length_s or float("inf")
    return {
        "seconds": phase.length_s,
        "requests": phase.requests,
        "records": phase.records,
        "bytes": phase.bytes,
        "requests_per_s": phase.requests / length_s,
        "records_per_s": phase.records / length_s,
        "mb_per_s": phase.bytes / length_s / _MB,
        "latency_ms": latency_figures(phase.latencies_ns),
        "latency_counts": _buckets(phase.latencies_ns),
    }


def latency_figures(latencies_ns: Histogram) -> Result:
    """Return mean, percentiles and maximum in ms."""
    found: Result = {"mean": round(latencies_ns.mean / NS_PER_MS, _MS_DIGITS)}
    for name, share in PERCENTILES.items():
        found[name] = round(latencies_ns.percentile(share) / NS_PER_MS, _MS_DIGITS)
    return {**found, "max": round(latencies_ns.max / NS_PER_MS, _MS_DIGITS)}


def _buckets(latencies_ns: Histogram) -> list[tuple[float, int]]:
    """Return the largest value in ms and the count of each bucket; there are at most 1,888."""
    return [
        (round(value / NS_PER_MS, _BUCKET_DIGITS), count) for value, count in latencies_ns.buckets()
    ]


def _cpu(meter: CpuMeter, phase: Phase) -> Result:
    broker_s = meter.broker_s()
    found: Result = {
        "client_s": meter.client_s,
        "broker_s": broker_s,
        "broker_memory_bytes": meter.memory_bytes,
        "samples": [sample._asdict() for sample in meter.samples],
    }
    if phase.bytes:
        found["client_s_per_gb"] = meter.client_s / phase.bytes * _GB
        found["broker_s_per_gb"] = None if broker_s is None else broker_s / phase.bytes * _GB
    if meter.problem:
        found["problem"] = meter.problem
    return found


def _second(second: Second) -> Result:
    found: Result = second._asdict()
    for name in ("end_s", "length_s", "p50_ms", "p99_ms", "max_ms"):
        found[name] = round(float(getattr(second, name)), _MS_DIGITS)
    return found
