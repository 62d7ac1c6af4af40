"""What a run prints: a line each second, and a table at the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from broker_lite.load.cpu import CpuMeter
from broker_lite.load.histogram import Histogram
from broker_lite.load.recorder import NS_PER_MS, Phase, Recorder, Second
from broker_lite.load.report import PERCENTILES

_MB: Final = 1e6
_GB: Final = 1e9
_OPEN_LOOP: Final = "open loop: a latency counts from when a request was due, not from when it left"
_CLOSED_LOOP: Final = "closed loop: latencies are of a saturated system"


def second_line(second: Second) -> str:
    """Format the figures of a second."""
    length_s = second.length_s or 1
    phase = "  (warm-up)" if second.is_warmup else ""
    errors = f"  {second.errors} errors" if second.errors else ""
    return (
        f"{second.end_s:6.0f} s  {second.records / length_s:12,.0f} records/s"
        f"  {second.bytes / length_s / _MB:9.1f} MB/s  p50 {second.p50_ms:.2f} ms"
        f"  p99 {second.p99_ms:.2f} ms  max {second.max_ms:.2f} ms{errors}{phase}"
    )


def loop_line(*, is_open: bool) -> str:
    """Say what the latencies mean."""
    return _OPEN_LOOP if is_open else _CLOSED_LOOP


def result_lines(
    recorder: Recorder,
    meter: CpuMeter,
    *,
    more: Sequence[str] = (),
) -> Iterator[str]:
    """Yield the lines about a run that has ended.

    Args:
        recorder: of the run.
        meter: which was read.
        more: lines that only some kinds of load have.
    """
    phases = [recorder.measured]
    names = ["measured"]
    if recorder.warmup.requests:
        phases.insert(0, recorder.warmup)
        names.insert(0, "warm-up")
    yield _row("", names)
    for label, cells in _figures(phases).items():
        yield _row(label, cells)
    yield ""
    yield from more
    yield from _errors(recorder)
    yield from _cpu(recorder.measured, meter)


def percentile_line(latencies_ns: Histogram) -> str:
    """Format the percentiles of latencies."""
    figures = {name: latencies_ns.percentile(share) for name, share in PERCENTILES.items()}
    figures["max"] = latencies_ns.max
    return ", ".join(f"{name} {value / NS_PER_MS:.2f} ms" for name, value in figures.items())


def _row(label: str, cells: Sequence[str]) -> str:
    return f"{label:<16}" + "".join(f"{cell:>16}" for cell in cells)


def _per_second(value: int, phase: Phase) -> float:
    return value / phase.length_s if phase.length_s else 0.0


def _figures(phases: Sequence[Phase]) -> Mapping[str, Sequence[str]]:
    found = {
        "seconds": [f"{phase.length_s:.1f}" for phase in phases],
        "requests/s": [f"{_per_second(phase.requests, phase):,.1f}" for phase in phases],
        "records/s": [f"{_per_second(phase.records, phase):,.0f}" for phase in phases],
        "MB/s": [f"{_per_second(phase.bytes, phase) / _MB:,.2f}" for phase in phases],
    }
    latencies = [phase.latencies_ns for phase in phases]
    found["mean ms"] = [f"{each.mean / NS_PER_MS:.2f}" for each in latencies]
    for name, share in PERCENTILES.items():
        found[f"{name} ms"] = [f"{each.percentile(share) / NS_PER_MS:.2f}" for each in latencies]
    found["max ms"] = [f"{each.max / NS_PER_MS:.2f}" for each in latencies]
    return found


def _errors(recorder: Recorder) -> Iterator[str]:
    for name, count in sorted(recorder.errors.items()):
        reason = recorder.reasons.get(name)
        yield f"error {name}: {count:,}" + (f", the last one: {reason}" if reason else "")
    for name, count in sorted(recorder.retries.items()):
        yield f"requests sent again after {name}: {count:,}"
    for what, count in (
        ("refused", recorder.refused),
        ("without an answer at the end", recorder.unanswered),
        ("due and never sent", recorder.unsent),
    ):
        if count:
            yield f"requests {what}: {count:,}"
    if recorder.throttles:
        yield (
            f"throttled by the broker: {recorder.throttles:,} times,"
            f" {recorder.throttled_ms / 1000:,.1f} s in all"
        )


def _cpu(phase: Phase, meter: CpuMeter) -> Iterator[str]:
    broker_s = meter.broker_s()
    for who, cpu_s in (("client", meter.client_s), ("broker", broker_s)):
        if cpu_s is not None:
            per_gb = f", {cpu_s / phase.bytes * _GB:.2f} s a GB" if phase.bytes else ""
            yield f"CPU of the {who}: {cpu_s:.2f} s{per_gb}"
    if meter.problem:
        yield f"CPU of the broker: not known: {meter.problem}"
