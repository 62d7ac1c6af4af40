"""Charts as inline SVG, drawn by matplotlib: bars, histograms, lines over time.

The same values give the same bytes. Text stays text, so that the browser uses the page's font and
can search it.
"""

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from io import StringIO
from typing import Any, Final

import matplotlib as mpl
from matplotlib import dates
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from broker_lite.pipeline.report.page import Html

COLORS: Final = (
    *("#2f6fb5", "#d9822b", "#3a9a63", "#b8433f", "#7a5ea8"),
    *("#8a6a4f", "#c965a5", "#5f6b78", "#a3a32e", "#2fa3b5"),
)

_DATES: Final[Any] = dates  # untyped in matplotlib
_SIZE_INCHES: Final = (6.0, 3.1)
_SMALL_INCHES: Final = (4.4, 2.6)
"""Of a chart that is one of three beside each other."""
_HEADROOM: Final = 1.06
_TITLE_CHARACTERS_MAX: Final = 56
_MARGIN: Final = 0.02
_MARGIN_MS_MIN: Final = 2000
_SETTINGS: Final[Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # ships with matplotlib, and is wide: other fonts fit, too
    "font.size": 9,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": "#9aa5b1",
    "axes.labelcolor": "#5d6b7a",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": "#e6eaee",
    "text.color": "#1c2733",
    "xtick.color": "#5d6b7a",
    "ytick.color": "#5d6b7a",
    "legend.frameon": False,
    "legend.fontsize": 8,
}

Text = Callable[[float], str]
Points = Sequence[tuple[float, float]]


def bars(title: str, values: Sequence[tuple[str, float]], text: Text) -> Html:
    """Draw horizontal bars, the first one on top, labelled with their values."""
    with mpl.rc_context(_SETTINGS):
        height = max(1.2, 0.75 + 0.26 * len(values))
        figure, axes = _figure(title, (_SIZE_INCHES[0], height))
        names = [_shortened(name) for name, _ in values]
        drawn = axes.barh(range(len(values)), [value for _, value in values], color=COLORS[0])
        axes.set_yticks(range(len(values)), names)
        axes.invert_yaxis()
        axes.bar_label(drawn, [text(value) for _, value in values], padding=4, fontsize=8)
        axes.margins(x=0.16)
        axes.xaxis.set_visible(False)
        axes.spines["bottom"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        return _svg(figure, title)


def histogram(title: str, label: str, values: Sequence[tuple[str, float]], text: Text) -> Html:
    """Draw vertical bars."""
    with mpl.rc_context(_SETTINGS):
        figure, axes = _figure(title)
        places = range(len(values))
        axes.bar(places, [value for _, value in values], width=0.9, color=COLORS[0])
        step = len(values) // 12 + 1
        axes.set_xticks(places[::step], [name for name, _ in values][::step])
        axes.set_xlabel(label)
        _scale(axes, text, is_whole=True)
        return _svg(figure, title)


def over_time(title: str, lines: Mapping[str, Points], text: Text, *, scope: str = "") -> Html:
    """Draw lines over time in a small chart; x is in ms since the epoch, y begins at 0.

    Charts with the same title need scopes that differ: their ids are made of both.
    """
    with mpl.rc_context(_SETTINGS):
        figure, axes = _figure(title, _SMALL_INCHES)
        _draw(axes, {name: [(_time(at), value) for at, value in lines[name]] for name in lines})
        _date(axes.xaxis)
        axes.set_xlim(*_span(at for line in lines.values() for at, _ in line))
        _scale(axes, text)
        highest = max((value for line in lines.values() for _, value in line), default=0)
        axes.set_ylim(0, highest * _HEADROOM or 1)
        return _svg(figure, title + scope)


def times_over(
    title: str, label: str, lines: Mapping[str, Points], text: Text, *, scope: str = ""
) -> Html:
    """Draw timestamps over a number in a small chart; y is in ms since the epoch.

    See over_time() for the scope.
    """
    with mpl.rc_context(_SETTINGS):
        figure, axes = _figure(title, _SMALL_INCHES)
        _draw(axes, {name: [(value, _time(at)) for value, at in lines[name]] for name in lines})
        _date(axes.yaxis)
        axes.set_ylim(*_span(at for line in lines.values() for _, at in line))
        numbers = {number for line in lines.values() for number, _ in line}
        if len(numbers) == 1:
            axes.set_xlim(min(numbers) - 1, min(numbers) + 1)
        axes.grid(axis="y")
        axes.set_xlabel(label)
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))
        return _svg(figure, title + scope)


def _figure(title: str, size: tuple[float, float] = _SIZE_INCHES) -> tuple[Figure, Any]:
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(_shortened(title, _TITLE_CHARACTERS_MAX))
    return figure, axes


def _draw(axes: Axes, lines: Mapping[str, Sequence[tuple[Any, Any]]]) -> None:
    """Draw lines, with a legend if there are several."""
    for color, (name, points) in zip(COLORS, lines.items(), strict=False):
        axes.plot(
            [x for x, _ in points],
            [y for _, y in points],
            color=color,
            label=_shortened(name),
            linewidth=1.4,
            marker="o" if len(points) == 1 else None,
        )
    if len(lines) > 1:
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1))


def _scale(axes: Axes, text: Text, *, is_whole: bool = False) -> None:
    axes.grid(axis="y")
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=is_whole))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))


def _date(axis: XAxis | YAxis) -> None:
    # With more than 3 least ticks, the locator has no step for 37 to 60 months, and warns.
    locator = _DATES.AutoDateLocator(tz=UTC, minticks=3, maxticks=7)
    axis.set_major_locator(locator)
    axis.set_major_formatter(_DATES.ConciseDateFormatter(locator, tz=UTC))


def _span(times_ms: Iterable[float]) -> tuple[Any, Any]:
    """Return the ends of an axis: a little beyond the times, also if there is only one."""
    times = [*times_ms]
    first_ms, last_ms = min(times), max(times)
    margin_ms = max((last_ms - first_ms) * _MARGIN, _MARGIN_MS_MIN)
    return _time(first_ms - margin_ms), _time(last_ms + margin_ms)


def _time(at_ms: float) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)


def _shortened(name: str, length_max: int = 28) -> str:
    # matplotlib reads a dollar sign as the beginning of a formula.
    name = name if len(name) <= length_max else f"{name[: length_max - 1]}…"
    return name.replace("$", r"\$")


def _svg(figure: Figure, salt: str) -> Html:
    """Return the svg element; its ids are unique to the chart."""
    buffer = StringIO()
    with mpl.rc_context({"svg.hashsalt": salt}), warnings.catch_warnings():
        # The browser has its own fonts, so it does not matter which letters matplotlib's lacks.
        warnings.filterwarnings(
            "ignore", message="Glyph .* missing from font", category=UserWarning
        )
        figure.savefig(
            buffer, format="svg", metadata={"Date": None, "Creator": None}, transparent=True
        )
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    # Group ids are the same in every chart, and nothing refers to them.
    return Html(re.sub(r'<g id="[^"]*"', "<g", text))
