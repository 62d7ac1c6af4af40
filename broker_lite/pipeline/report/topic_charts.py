"""Draws what was written to a topic, and when."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from broker_lite.pipeline.report.charts import over_time, times_over
from broker_lite.pipeline.report.data import LogReport
from broker_lite.pipeline.report.page import Html
from broker_lite.pipeline.report.text import (
    byte_rate_text,
    count_text,
    duration_text,
    rate_text,
    rate_unit,
    share_text,
    time_text,
)


def topic_charts(report: LogReport, topic: str) -> Iterator[Html]:
    """Draw what was written to a topic, and how its timestamps grow."""
    bucket_ms = report.bucket_ms[topic]
    seconds = bucket_ms / 1000
    points = [one for one in report.rates if one.topic == topic]
    names = {one.name for one in report.partitions if one.topic == topic}
    times: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for one in report.times:
        if one.name in names:
            times[one.name].append((one.offset, one.at_ms))
    for what, counts, text in (
        ("Records", [one.records for one in points], rate_text),
        ("Bytes", [one.size_bytes for one in points], byte_rate_text),
    ):
        unit, unit_s = rate_unit(max(counts) / seconds)
        values = [
            (one.at_ms, count / seconds * unit_s) for one, count in zip(points, counts, strict=True)
        ]
        title = f"{what} {unit}, by {duration_text(bucket_ms)}"
        yield over_time(title, {"": _filled(values, bucket_ms)}, text, scope=topic)
    if times:
        yield times_over("Timestamps along the log", "offset", times, count_text, scope=topic)


def outside_text(report: LogReport, topic: str) -> str:
    """Tell which records the axis of time of a topic leaves out; nothing if it has all."""
    outside = report.outside.get(topic, ())
    if not outside:
        return ""
    begin_ms = min(one.at_ms for one in report.rates if one.topic == topic)
    parts = []
    for one in outside:
        side = "before it" if one.last_ms < begin_ms else "behind it"
        first, last = time_text(one.first_ms), time_text(one.last_ms)
        times = f"at {first}" if first == last else f"from {first} to {last}"
        lie = "record lies" if one.records == 1 else "records lie"
        share = share_text(one.share)
        parts.append(f"{count_text(one.records)} {lie} {side} ({share}), {times} UTC")
    return f"Not all times are on the axis: {'; '.join(parts)}."


def _filled(points: Sequence[tuple[float, float]], step: int) -> list[tuple[float, float]]:
    """Add zeros at both ends of a pause, so that the line does not bridge it."""
    line: list[tuple[float, float]] = []
    for at, value in points:
        if line and at - line[-1][0] > step:
            line += [(line[-1][0] + step, 0.0), (at - step, 0.0)]
        line.append((at, value))
    return line
