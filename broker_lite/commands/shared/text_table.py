"""Tables with blanks between columns, as Kafka's tools print them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple


class Column(NamedTuple):
    """A column.

    Attributes:
        name: what is above it.
        width: at least so many characters; 0 is the last column, which is not filled up.
        grows: whether it is as wide as what is in it; else that just sticks out.
    """

    name: str
    width: int
    grows: bool = False


def table(columns: Sequence[Column], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Lay out a table: a line for the names and one a row, without their ends."""
    texts = [[column.name for column in columns], *([str(cell) for cell in row] for row in rows)]
    widths = [
        max(column.width, *(len(row[index]) for row in texts)) if column.grows else column.width
        for index, column in enumerate(columns)
    ]
    for row in texts:
        yield " ".join(text.ljust(width) for text, width in zip(row, widths, strict=True))


def tabbed_table(names: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Lay out a table whose columns are as wide as what is in them, a tab behind each."""
    texts = [list(names), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[index]) for row in texts) for index in range(len(names))]
    for row in texts:
        yield "".join(f"{text:<{width}}\t" for text, width in zip(row, widths, strict=True))
