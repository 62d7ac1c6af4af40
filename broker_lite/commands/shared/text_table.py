"""Formats tables as Kafka's tools do."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

MISSING: Final = "-"
"""What Kafka's tools print for a cell that has nothing to tell."""


class Column(NamedTuple):
    """A column.

    Attributes:
        name: the heading.
        width: minimum width in characters; 0 for the last column, which is not padded.
        grows: whether the column grows with its cells; else a longer cell overflows.
    """

    name: str
    width: int
    grows: bool = False


def table(columns: Sequence[Column], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of a table: the headings, then one line per row, without line ends."""
    texts = [[column.name for column in columns], *([str(cell) for cell in row] for row in rows)]
    widths = [
        max(column.width, *(len(row[index]) for row in texts)) if column.grows else column.width
        for index, column in enumerate(columns)
    ]
    for row in texts:
        yield " ".join(text.ljust(width) for text, width in zip(row, widths, strict=True))


def one_row(cells: Sequence[tuple[Column, object]]) -> Iterator[str]:
    """Yield the lines of a table with one row, whose cells stand beside their columns."""
    yield from table([column for column, _ in cells], [[cell for _, cell in cells]])


def or_missing(number: int | None) -> object:
    """Return a number, or what is printed where there is none."""
    return MISSING if number is None else number


def tabbed_table(names: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of a table whose columns fit their cells and end with a tab."""
    texts = [list(names), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[index]) for row in texts) for index in range(len(names))]
    for row in texts:
        yield "".join(f"{text:<{width}}\t" for text, width in zip(row, widths, strict=True))
