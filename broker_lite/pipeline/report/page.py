"""Builds self-contained HTML pages: one file, without links to other files.

Text from a log is escaped here; only Html is inserted unescaped.
"""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final, NamedTuple

_STYLE: Final = """
:root { color-scheme: light dark; --page: #fff; --ink: #1c2733; --soft: #5d6b7a; --line: #dfe4ea;
  --fill: #f5f7f9; --good: #1b7f4b; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --page: #14191f; --ink: #e4e9ee; --soft: #a3afbb;
  --line: #323b45; --fill: #1e252d; --good: #5cc48d; --bad: #ff8a80; }
  .charts [style*="stroke: #e6eaee"], .charts [style*="stroke: #9aa5b1"] {
    stroke: var(--line) !important; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1280px; margin: 0 auto; padding: 32px 24px 64px; }
h1 { font-size: 26px; margin: 0 0 4px; }
h2 { font-size: 19px; margin: 40px 0 4px; padding-top: 16px; border-top: 1px solid var(--line); }
p { margin: 4px 0 12px; color: var(--soft); max-width: 80ch; }
code { font: 13px/1.5 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  overflow-wrap: anywhere; }
.tiles { display: flex; flex-wrap: wrap; gap: 12px; margin: 20px 0; }
.tile { flex: 1 1 150px; background: var(--fill); border-radius: 8px; padding: 12px 16px; }
.tile b { display: block; font-size: 21px; font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: 13px; }
.good b { color: var(--good); } .bad b { color: var(--bad); }
.charts { display: flex; flex-wrap: wrap; gap: 16px; margin: 12px 0; }
.charts figure { flex: 1 1 480px; min-width: 0; max-width: 620px; margin: 0; overflow-x: auto; }
.charts svg { width: 100%; min-width: 460px; height: auto; display: block; }
.charts text { font-family: inherit !important; fill: var(--ink) !important; }
.three figure { flex-basis: 340px; max-width: 410px; }
.three svg { min-width: 330px; }
.note { border-left: 3px solid var(--bad); padding-left: 10px; color: var(--ink); }
h3 { font-size: 15px; margin: 20px 0 0; overflow-wrap: anywhere; }
.table { overflow-x: auto; margin: 12px 0; }
table { border-collapse: collapse; width: 100%; font-size: 13px;
  font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 5px 10px 5px 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { color: var(--soft); font-weight: 600; white-space: nowrap; }
td:first-child { overflow-wrap: anywhere; min-width: 20ch; }
.number { text-align: right; white-space: nowrap; }
"""


class Html(str):
    """A piece of a page, already escaped."""

    __slots__ = ()


class Tile(NamedTuple):
    """A number in the head of the page; tone is good, bad or empty."""

    value: str
    label: str
    tone: str = ""


class Column(NamedTuple):
    """A column of a table."""

    name: str
    is_number: bool = False


def page(title: str, subtitle: str, parts: Iterable[Html]) -> str:
    """Assemble a page from its parts."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{escape(title)}</h1>\n<p><code>{escape(subtitle)}</code></p>\n"
        + "\n".join(parts)
        + "\n</main>\n</body>\n</html>\n"
    )


def section(title: str, text: str, *parts: Html) -> Html:
    """Put parts below a heading and an explanation."""
    return Html(f"<h2>{escape(title)}</h2>\n<p>{escape(text)}</p>\n" + "\n".join(parts))


def tiles(values: Iterable[Tile]) -> Html:
    """Lay out tiles side by side."""
    shown = "".join(
        f'<div class="tile {one.tone}"><b>{escape(one.value)}</b>'
        f"<span>{escape(one.label)}</span></div>"
        for one in values
    )
    return Html(f'<div class="tiles">{shown}</div>')


def charts(*svgs: Html) -> Html:
    """Lay out charts side by side if there is room."""
    figures = "".join(f"<figure>{svg}</figure>" for svg in svgs)
    return Html(f'<div class="charts">{figures}</div>')


def charts_of(title: str, svgs: Iterable[Html], note: str = "") -> Html:
    """Lay out up to three small charts side by side below a title, and a note if there is one."""
    figures = "".join(f"<figure>{svg}</figure>" for svg in svgs)
    noted = f'<p class="note">{escape(note)}</p>' if note else ""
    return Html(f'<h3>{escape(title)}</h3>{noted}<div class="charts three">{figures}</div>')


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> Html:
    """Make a table; cells that are Html are not escaped."""
    kinds = [' class="number"' if column.is_number else "" for column in columns]
    head = "".join(
        f"<th{kind}>{escape(column.name)}</th>" for kind, column in zip(kinds, columns, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(f"<td{kind}>{_cell(cell)}</td>" for kind, cell in zip(kinds, row, strict=True))
        + "</tr>\n"
        for row in rows
    )
    content = f"<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody>"
    return Html(f'<div class="table"><table>{content}</table></div>')


def code(text: str) -> Html:
    """Format a path or a key in a fixed-width font."""
    return Html(f"<code>{escape(text)}</code>")


def _cell(text: str) -> str:
    return text if isinstance(text, Html) else escape(text)
