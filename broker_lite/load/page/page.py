"""Writes the HTML of a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from broker_lite.load.page.plots import BOTTOM, LEFT, RIGHT, TOP, Line, Plot
from broker_lite.load.page.readout import Readout
from broker_lite.load.page.scales import (
    Scale,
    linear,
    logarithmic,
    ms_text,
    percent_text,
    plain_text,
    seconds_text,
)
from broker_lite.load.page.style import STYLE

_STYLES: Final = (("one", "two", "three"), ("one dashed", "two dashed", "three dashed"))
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
_TABLES: Final = {
    "settings": "Settings",
    "acknowledged_ms": "Latencies of acknowledgements, ms",
    "connect_ms": "Time to connect, ms",
    "fetch_ms": "Latencies of fetches, ms",
    "errors": "Errors",
    "reasons": "The last reason of each",
    "retries": "Sent again after",
}
_COUNTS: Final = {
    "refused": "requests refused",
    "unanswered": "requests without an answer at the end",
    "unsent": "requests due and never sent",
    "throttles": "times throttled by the broker",
    "unseen": "batches accepted and not seen",
    "repeated": "batches seen again",
}
_OPEN: Final = "open loop: a latency counts from when a request was due"
_CLOSED: Final = "closed loop: latencies are of a saturated system"


def page(runs: Sequence[Readout], figures: Sequence[tuple[str, str, str, str]] = ()) -> str:
    """Return the report.

    Args:
        runs: one, or two side by side.
        figures: rows of a comparison: name, both values, ratio.
    """
    kinds = " and ".join(dict.fromkeys(run.text("kind") for run in runs))
    title = f"broker-lite bench {kinds}"
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}</style></head><body><main>",
            f"<h1>{escape(title)}</h1>",
            *(part for run in runs for part in _head(run, has_cards=not figures)),
            *_compared(runs, figures),
            '<div class="plots">',
            *plots(runs),
            "</div>",
            *(part for run in runs for part in _tables(run)),
            "</main></body></html>",
            "",
        ]
    )


def _head(run: Readout, *, has_cards: bool) -> Iterator[str]:
    settings = dict(run.table("settings"))
    loop = _OPEN if run.text("loop") == "open" else _CLOSED
    parts = [
        run.name,
        f"topic {settings.get('topic', '-')}",
        f"started {settings.get('started', '-')}",
        loop,
    ]
    if run.result.get("interrupted") is True:
        parts.append("interrupted")
    yield f'<p class="sub">{escape(" · ".join(filter(None, parts)))}</p>'
    if run.text("verdict"):
        yield f'<p class="verdict">{escape(run.text("verdict"))}</p>'
    if has_cards:
        yield f'<dl class="cards">{"".join(_cards(run))}</dl>'


def _cards(run: Readout) -> Iterator[str]:
    rates = {
        "requests/s": plain_text(run.number("measured", "requests_per_s") or 0),
        "records/s": plain_text(run.number("measured", "records_per_s") or 0),
        "MB/s": plain_text(run.number("measured", "mb_per_s") or 0),
    }
    for name, text in rates.items():
        yield _card(name, text)
    for name in ("p50", "p99", "p99.9", "max"):
        ms = run.number("measured", "latency_ms", name)
        yield _card(name, "-" if ms is None else ms_text(ms))
    for name, place in (("accepted", "accepted_records"), ("delivered", "delivered_records")):
        count = run.number(place)
        if count is not None:
            yield _card(f"records {name}", plain_text(count))
    for who in ("client", "broker"):
        cpu_s = run.number("cpu", f"{who}_s")
        if cpu_s is not None:
            per_gb = run.number("cpu", f"{who}_s_per_gb")
            more = "" if per_gb is None else f"{plain_text(per_gb)} s a GB"
            yield _card(f"CPU of the {who}", f"{plain_text(cpu_s)} s", more)


def _card(name: str, text: str, more: str = "") -> str:
    small = f"<small>{escape(more)}</small>" if more else ""
    return f"<div><dt>{escape(name)}</dt><dd>{escape(text)}{small}</dd></div>"


def _compared(
    runs: Sequence[Readout], figures: Sequence[tuple[str, str, str, str]]
) -> Iterator[str]:
    if not figures:
        return
    names = ["", *(run.name for run in runs), "B / A"]
    head = "".join(f'<th class="n">{escape(name)}</th>' for name in names)
    yield f"<h2>Side by side</h2><table><tr>{head}</tr>"
    for name, *values in figures:
        cells = "".join(f'<td class="n">{escape(value)}</td>' for value in values)
        yield f"<tr><th>{escape(name)}</th>{cells}</tr>"
    yield "</table><h2>Over time</h2>"


def plots(runs: Sequence[Readout]) -> Iterator[str]:
    """Yield the figures of one run, or of two over each other."""
    ends = [point.end_s for run in runs for point in run.points]
    x = Scale(0.0, max(ends, default=1.0) or 1.0, LEFT, RIGHT)
    each = max((run.seconds_each for run in runs), default=1)
    label = "time" if each == 1 else f"time; each point is {each} s, p99 and max of the worst"
    warmup_s = max((run.warmup_s for run in runs), default=0.0)

    def over_time(title: str, y: Scale, text: object, lines: Sequence[Line]) -> str:
        assert callable(text)
        return Plot(title, x, y, seconds_text, text, label, lines, shaded_to=warmup_s).svg()

    moved = [point.mb_per_s for run in runs for point in run.points]
    lines = [
        Line(
            _named(number, runs, "MB/s"),
            _STYLES[number][0],
            [(point.end_s, point.mb_per_s) for point in run.points],
        )
        for number, run in enumerate(runs)
    ]
    yield over_time("Throughput, MB/s", linear(moved, BOTTOM, TOP), plain_text, lines)
    latencies = [ms for run in runs for point in run.points for ms in (point.p50_ms, point.max_ms)]
    lines = [line for number, run in enumerate(runs) for line in _latencies(run, runs, number)]
    yield over_time("Latency", logarithmic(latencies, BOTTOM, TOP), ms_text, lines)
    yield _distribution(runs)
    if any(run.cpu for run in runs):
        lines = [line for number, run in enumerate(runs) for line in _cpu(run, runs, number)]
        cores = [y for line in lines for _, y in line.points if y is not None]
        yield over_time("CPU, cores in use", linear(cores, BOTTOM, TOP), plain_text, lines)


def _named(number: int, runs: Sequence[Readout], what: str) -> str:
    return what if len(runs) == 1 else f"{'AB'[number]} {what}"


def _latencies(run: Readout, runs: Sequence[Readout], number: int) -> Iterator[Line]:
    """Return the lines over time; a second without an answer has no latency."""
    for what, style in zip(("p50", "p99", "max"), _STYLES[number], strict=True):
        points = [
            (point.end_s, getattr(point, f"{what}_ms") if point.max_ms else None)
            for point in run.points
        ]
        yield Line(_named(number, runs, what), style, points)


def _cpu(run: Readout, runs: Sequence[Readout], number: int) -> Iterator[Line]:
    styles = _STYLES[number]
    client = [(point.end_s, point.client) for point in run.cpu]
    yield Line(_named(number, runs, "client"), styles[0], client)
    broker = [(point.end_s, point.broker) for point in run.cpu]
    if any(cores is not None for _, cores in broker):
        yield Line(_named(number, runs, "broker"), styles[1], broker)


def _distribution(runs: Sequence[Readout]) -> str:
    """Draw how many requests were answered within a time."""
    every = [ms for run in runs for ms, _ in run.latencies]
    lines = [
        Line(_named(number, runs, "requests"), _STYLES[number][0], run.latencies)
        for number, run in enumerate(runs)
    ]
    return Plot(
        "Latency: share of requests answered within",
        logarithmic(every, LEFT, RIGHT),
        Scale(0.0, 1.0, BOTTOM, TOP),
        ms_text,
        percent_text,
        "latency, logarithmic",
        lines,
        is_stepped=True,
    ).svg()


def _tables(run: Readout) -> Iterator[str]:
    yield f'<h2>{escape(run.name)}</h2><div class="tables">' if run.name else '<div class="tables">'
    for name, title in _TABLES.items():
        rows = run.table(name)
        if rows:
            yield f"<section><h2>{title}</h2>{_table(rows)}</section>"
    counts = [(text, plain_text(run.number(name) or 0)) for name, text in _COUNTS.items()]
    counts = [(text, count) for text, count in counts if count != "0"]
    if counts:
        yield f"<section><h2>What went wrong</h2>{_table(counts)}</section>"
    yield "</div>"


def _table(rows: Sequence[tuple[str, str]]) -> str:
    lines = (f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in rows)
    return f"<table>{''.join(lines)}</table>"
