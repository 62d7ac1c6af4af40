"""Reads the result of a run for its report: every number is one, and there are not too many."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from broker_lite.errors import SettingsError

POINTS_MAX: Final = 200
"""Of a line; a longer run has several seconds to each point."""
_ROWS_MAX: Final = 40
_TEXT_MAX: Final = 600
_VALUE_MAX: Final = 1e18
_MB: Final = 1e6


class Point(NamedTuple):
    """What happened in one or several seconds.

    Attributes:
        end_s: since the start of the run.
        p50_ms: the mean of these seconds.
        p99_ms: of the worst of them, like max_ms.
    """

    end_s: float
    records_per_s: float
    mb_per_s: float
    p50_ms: float
    p99_ms: float
    max_ms: float


class CpuPoint(NamedTuple):
    """CPU cores in use; broker is None where it is not known."""

    end_s: float
    client: float
    broker: float | None


class Readout(NamedTuple):
    """What a report shows of a run.

    Attributes:
        name: of the run, if there are two.
        result: as it was read; only texts and numbers of it may be shown, escaped.
        warmup_s: the length of the warm-up.
        seconds_each: of a point.
        points: over time.
        cpu: the same.
        latencies: largest value in ms and how many requests had it or less, as a share.
    """

    name: str
    result: Mapping[str, object]
    warmup_s: float
    seconds_each: int
    points: Sequence[Point]
    cpu: Sequence[CpuPoint]
    latencies: Sequence[tuple[float, float]]

    def number(self, *place: str) -> float | None:
        """Return the number at a place; None if there is none."""
        found: object = self.result
        for name in place:
            found = found.get(name) if isinstance(found, Mapping) else None
        return None if found is None else number(found, ".".join(place))

    def text(self, name: str) -> str:
        """Return a text, cut; empty if there is none."""
        found = self.result.get(name)
        return found[:_TEXT_MAX] if isinstance(found, str) else ""

    def table(self, name: str) -> Sequence[tuple[str, str]]:
        """Return names and values of an object, as texts that are cut."""
        found = self.result.get(name)
        if not isinstance(found, Mapping):
            return ()
        shown = list(found.items())[:_ROWS_MAX]
        return [(str(key)[:_TEXT_MAX], _cell(value)[:_TEXT_MAX]) for key, value in shown]


def readout(result: Mapping[str, object], name: str = "") -> Readout:
    """Read the result of a run.

    Raises:
        SettingsError: it is no such result.
    """
    rows = _objects(result, "seconds")
    each = max(1, math.ceil(len(rows) / POINTS_MAX))
    warmup = result.get("warmup")
    return Readout(
        name=name,
        result=result,
        warmup_s=_field(warmup, "seconds") if isinstance(warmup, Mapping) else 0.0,
        seconds_each=each,
        points=[_point(group) for group in _groups(rows, each)],
        cpu=_cpu(result, each),
        latencies=_shares(result),
    )


def number(value: object, name: str) -> float:
    """Return a number.

    Raises:
        SettingsError: it is none, or beyond all bounds.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        value = -1
    if 0 <= value < _VALUE_MAX:
        return float(value)
    raise SettingsError(f"it is not the result of a run: {name} is no number")


def _objects(holder: Mapping[str, object], name: str) -> Sequence[Mapping[str, object]]:
    found = holder.get(name, [])
    if not isinstance(found, list) or not all(isinstance(each, Mapping) for each in found):
        raise SettingsError(f"it is not the result of a run: {name}")
    return found


def _field(row: Mapping[str, object], name: str) -> float:
    return number(row.get(name), name)


def _groups(
    rows: Sequence[Mapping[str, object]], each: int
) -> Sequence[Sequence[Mapping[str, object]]]:
    return [rows[begin : begin + each] for begin in range(0, len(rows), each)]


def _point(group: Sequence[Mapping[str, object]]) -> Point:
    def of(name: str, merge: Callable[[Sequence[float]], float]) -> float:
        return merge([_field(row, name) for row in group])

    length_s = of("length_s", sum) or 1.0
    return Point(
        end_s=of("end_s", max),
        records_per_s=of("records", sum) / length_s,
        mb_per_s=of("bytes", sum) / length_s / _MB,
        p50_ms=of("p50_ms", sum) / len(group),
        p99_ms=of("p99_ms", max),
        max_ms=of("max_ms", max),
    )


def _cpu(result: Mapping[str, object], each: int) -> Sequence[CpuPoint]:
    """Return cores in use between every so many samples."""
    cpu = result.get("cpu")
    samples = _objects(cpu, "samples")[::each] if isinstance(cpu, Mapping) else ()
    found = []
    for before, after in pairwise(samples):
        length_s = _field(after, "end_s") - _field(before, "end_s")
        if length_s <= 0:
            continue
        client = (_field(after, "client_s") - _field(before, "client_s")) / length_s
        broker = None
        if before.get("broker_s") is not None and after.get("broker_s") is not None:
            broker = (_field(after, "broker_s") - _field(before, "broker_s")) / length_s
            broker = max(broker, 0.0)
        found.append(CpuPoint(_field(after, "end_s"), max(client, 0.0), broker))
    return found


def _shares(result: Mapping[str, object]) -> Sequence[tuple[float, float]]:
    """Return the distribution of latencies, in POINTS_MAX steps at most."""
    measured = result.get("measured")
    pairs = measured.get("latency_counts", []) if isinstance(measured, Mapping) else []
    if not isinstance(pairs, list):
        raise SettingsError("it is not the result of a run: latency_counts")
    buckets = []
    for pair in pairs:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise SettingsError("it is not the result of a run: latency_counts")
        buckets.append((number(pair[0], "latency_counts"), number(pair[1], "latency_counts")))
    buckets.sort()
    total = sum(count for _, count in buckets)
    found, seen = [], 0.0
    for ms, count in buckets:
        seen += count
        found.append((ms, seen / total))
    each = max(1, math.ceil(len(found) / POINTS_MAX))
    return found[::-1][::each][::-1]  # the last one is always among them


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer():
        return f"{value:,.0f}"
    if isinstance(value, int | float):
        return f"{value:,}"
    if isinstance(value, Mapping) and "per_second" in value:
        return _rate(value["per_second"], is_bytes=value.get("is_bytes") is True)
    return "-" if value is None else str(value)


def _rate(per_second: object, *, is_bytes: bool) -> str:
    if per_second is None:
        return "max"
    rate = number(per_second, "rate")
    return f"{rate / _MB:,g} MB/s" if is_bytes else f"{rate:,g}/s"
