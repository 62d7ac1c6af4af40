"""Draws the picture of a report that the docs show, from the result of a run.

    python -m tests.load.picture RESULT.json > docs/use/report.svg

It has what the report has in its first screen, light or dark as the reader's browser likes it.
"""

import json
import re
import sys
from html import escape
from pathlib import Path
from textwrap import wrap

from broker_lite.load.page.page import plots
from broker_lite.load.page.plots import HEIGHT, WIDTH
from broker_lite.load.page.readout import Readout, readout
from broker_lite.load.page.scales import ms_text, plain_text
from broker_lite.load.page.style import STYLE

GAP = 24
TOP = 138
CAPTION = 30
LINE = 21
LETTERS = 165
HOVER = re.compile(r'<g class="at">.*?</g>', re.DOTALL)
FIGURE = re.compile(r"<figcaption>(.*?)</figcaption>.*?(<svg .*?</svg>)", re.DOTALL)


def picture(run: Readout) -> str:
    """The picture as SVG."""
    figures = [match.groups() for each in plots([run]) if (match := FIGURE.search(each))]
    width = 2 * WIDTH + 3 * GAP
    height = TOP + (len(figures) + 1) // 2 * (HEIGHT + CAPTION + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">',
        f"<style>{STYLE}text{{font-family:system-ui,sans-serif}}</style>",
        f'<rect width="{width}" height="{height}" fill="var(--ground)"/>',
        text(GAP, 34, f"broker-lite bench {run.text('kind')}", "font-size='21' font-weight='600'"),
    ]
    for number, line in enumerate(wrap(run.text("verdict"), LETTERS)):
        parts.append(text(GAP, 64 + LINE * number, line, "font-size='17'"))
    parts.append(text(GAP, TOP - 18, figures_line(run), "font-size='16' font-weight='600'"))
    for number, (caption, svg) in enumerate(figures):
        x = GAP + number % 2 * (WIDTH + GAP)
        y = TOP + number // 2 * (HEIGHT + CAPTION + GAP)
        place = f'<svg x="{x}" y="{y + CAPTION}" width="{WIDTH}" height="{HEIGHT}" '
        parts += [
            f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT + CAPTION}" rx="6"'
            ' fill="var(--card)"/>',
            text(x + 14, y + 22, caption, "font-size='15' font-weight='600'"),
            HOVER.sub("", svg).replace("<svg ", place, 1),
        ]
    return "\n".join([*parts, "</svg>", ""])


def figures_line(run: Readout) -> str:
    """The figures that the cards of the report show first."""
    rates = (("records_per_s", "records/s"), ("mb_per_s", "MB/s"))
    found = [f"{plain_text(run.number('measured', name) or 0)} {unit}" for name, unit in rates]
    found += [
        f"{name} {ms_text(run.number('measured', 'latency_ms', name) or 0)}"
        for name in ("p50", "p99", "p99.9", "max")
    ]
    return "   ·   ".join(found)


def text(x: int, y: int, words: str, more: str) -> str:
    """A text of the picture."""
    return f'<text x="{x}" y="{y}" fill="var(--text)" {more}>{escape(words, quote=False)}</text>'


if __name__ == "__main__":
    sys.stdout.write(picture(readout(json.loads(Path(sys.argv[1]).read_text()))))
