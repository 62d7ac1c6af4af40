"""The picture of the rooms, drawn from the layers that import-linter holds the package to."""

import re
import tomllib
from pathlib import Path
from typing import Final

from tests.tidy.project_files import text_of

PICTURE: Final = Path("docs/internals/rooms.svg")
_WIDTH: Final = 720
_ROW: Final = 58
_BOX: Final = 40
_GAP: Final = 12
_STYLE: Final = """
    text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif;
      font-size: 15px; fill: #1f2328; text-anchor: middle; }
    .page { fill: #ffffff; }
    .room { fill: #ddf4ff; stroke: #54aeff; }
    .down { fill: none; stroke: #8c959f; stroke-width: 1.5; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3; }
      .page { fill: #0d1117; }
      .room { fill: #10233b; stroke: #316dca; }
    }"""


def layers() -> list[list[str]]:
    """The rooms of the package from the top, those of one row together."""
    contracts = tomllib.loads(text_of(Path("pyproject.toml")))["tool"]["importlinter"]["contracts"]
    (rooms,) = [each for each in contracts if each.get("containers") == ["broker_lite"]]
    return [re.split(r" [|:] ", row) for row in rooms["layers"]]


def rooms_picture() -> str:
    """The picture as the text of an SVG file."""
    rows = layers()
    height = _ROW * len(rows) + 14
    drawn = [line for number, row in enumerate(rows) for line in _row(row, 16 + _ROW * number)]
    middle = _WIDTH // 2
    arrows = [
        f'  <path class="down" d="M{middle} {y}v{_ROW - _BOX}m-4 -5l4 5l4 -5"/>'
        for y in range(16 + _BOX, 16 + _ROW * (len(rows) - 1), _ROW)
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
            "  <title>The rooms of broker_lite: each imports only what is below it</title>",
            f"  <style>{_STYLE}\n  </style>",
            f'  <rect class="page" width="{_WIDTH}" height="{height}"/>',
            *arrows,
            *drawn,
            "</svg>\n",
        ]
    )


def _row(rooms: list[str], y: int) -> list[str]:
    width = (_WIDTH - 32 - _GAP * (len(rooms) - 1)) // len(rooms)
    lines = []
    for number, room in enumerate(rooms):
        x = 16 + (width + _GAP) * number
        box = f'x="{x}" y="{y}" width="{width}" height="{_BOX}" rx="8"'
        lines.append(f'  <rect class="room" {box}/>')
        lines.append(f'  <text x="{x + width // 2}" y="{y + 25}">{room}</text>')
    return lines
