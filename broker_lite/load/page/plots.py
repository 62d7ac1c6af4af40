"""Draws lines as SVG. What the pointer is at is written above the plot, by CSS alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Final, NamedTuple

from broker_lite.load.page.scales import Scale

WIDTH: Final = 720
HEIGHT: Final = 250
LEFT: Final = 64
RIGHT: Final = WIDTH - 20
TOP: Final = 40
BOTTOM: Final = HEIGHT - 44
_LEGEND_Y: Final = 14
_READOUT_Y: Final = 31
_LABEL_GAP: Final = 8
_SWATCH: Final = 14
_CHARACTER: Final = 6.4  # about the width of one, in the legend


class Line(NamedTuple):
    """A line of a plot.

    Attributes:
        name: in the legend.
        style: its class in the style sheet.
        points: x and y; None ends a piece of the line.
    """

    name: str
    style: str
    points: Sequence[tuple[float, float | None]]


class Plot(NamedTuple):
    """What is drawn.

    Attributes:
        title: over it.
        x: the axis at the bottom.
        y: the axis at the left.
        x_text: writes a value of the x axis.
        y_text: the same for y.
        x_label: what the x axis is.
        lines: at least one.
        shaded_to: the x up to which the ground is shaded, as a warm-up; None for nothing.
        is_stepped: whether a line goes on level until the next point.
    """

    title: str
    x: Scale
    y: Scale
    x_text: Callable[[float], str]
    y_text: Callable[[float], str]
    x_label: str
    lines: Sequence[Line]
    shaded_to: float | None = None
    is_stepped: bool = False

    def svg(self) -> str:
        """Return it as SVG, with a title for screen readers."""
        parts = [
            f"<figure><figcaption>{escape(self.title)}</figcaption>",
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(self.title)}">',
        ]
        if self.shaded_to is not None and self.shaded_to > self.x.low:
            parts.append(self._shade(self.shaded_to))
        parts += [*self._grid(), *map(self._path, self.lines), *self._legend(), *self._columns()]
        return "\n".join([*parts, "</svg></figure>"])

    def _shade(self, until: float) -> str:
        width = self.x.at(until) - LEFT
        return (
            f'<rect class="warmup" x="{LEFT}" y="{TOP}" width="{width:.1f}"'
            f' height="{BOTTOM - TOP}"/>'
            f'<text class="note" x="{LEFT + 4}" y="{BOTTOM - 6}">warm-up</text>'
        )

    def _grid(self) -> Sequence[str]:
        parts = []
        for value in self.y.ticks():
            y = self.y.at(value)
            parts.append(
                f'<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{y}" y2="{y}"/>'
                f'<text class="tick end" x="{LEFT - _LABEL_GAP}" y="{y + 4}">'
                f"{escape(self.y_text(value))}</text>"
            )
        for value in self.x.ticks():
            x = self.x.at(value)
            parts.append(
                f'<line class="axis" x1="{x}" x2="{x}" y1="{BOTTOM}" y2="{BOTTOM + 5}"/>'
                f'<text class="tick middle" x="{x}" y="{BOTTOM + 18}">'
                f"{escape(self.x_text(value))}</text>"
            )
        middle = (LEFT + RIGHT) / 2
        parts.append(
            f'<line class="axis" x1="{LEFT}" x2="{RIGHT}" y1="{BOTTOM}" y2="{BOTTOM}"/>'
            f'<text class="label middle" x="{middle}" y="{HEIGHT - 6}">'
            f"{escape(self.x_label)}</text>"
        )
        return parts

    def _path(self, line: Line) -> str:
        steps: list[str] = []
        is_drawing = False
        for x, y in line.points:
            if y is None:
                is_drawing = False
                continue
            at_x, at_y = self.x.at(x), self.y.at(y)
            if self.is_stepped and is_drawing:
                steps.append(f"H{at_x}V{at_y}")
            else:
                steps.append(f"{'L' if is_drawing else 'M'}{at_x} {at_y}")
            is_drawing = True
        if len(steps) == 1:  # one point is shown as a short line
            steps.append("h3")
        return f'<path class="line {line.style}" d="{"".join(steps)}"/>'

    def _legend(self) -> Sequence[str]:
        parts, x = [], float(LEFT)
        for line in self.lines:
            parts.append(
                f'<line class="line {line.style}" x1="{x:.0f}" x2="{x + _SWATCH:.0f}"'
                f' y1="{_LEGEND_Y - 4}" y2="{_LEGEND_Y - 4}"/>'
                f'<text class="legend" x="{x + _SWATCH + 5:.0f}" y="{_LEGEND_Y}">'
                f"{escape(line.name)}</text>"
            )
            x += _SWATCH + 5 + len(line.name) * _CHARACTER + 18
        return parts

    def _columns(self) -> Sequence[str]:
        """Return a column for each x, whose values are shown while the pointer is there."""
        values: dict[float, list[str]] = {}
        for line in self.lines:
            for x, y in line.points:
                if y is not None:
                    values.setdefault(x, []).append(f"{line.name} {self.y_text(y)}")
        columns = sorted(values)
        edges = [self.x.at(x) for x in columns]
        parts = []
        for number, (x, at) in enumerate(zip(columns, edges, strict=True)):
            begin = (edges[number - 1] + at) / 2 if number else LEFT
            end = (at + edges[number + 1]) / 2 if number + 1 < len(edges) else RIGHT
            text = "  ·  ".join([self.x_text(x), *values[x]])
            parts.append(
                f'<g class="at"><rect x="{begin:.1f}" y="{TOP}" width="{max(end - begin, 0.5):.1f}"'
                f' height="{BOTTOM - TOP}"/><path d="M{at} {TOP}V{BOTTOM}"/>'
                f'<text x="{LEFT}" y="{_READOUT_Y}">{escape(text)}</text></g>'
            )
        return parts
