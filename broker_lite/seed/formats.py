"""Reads the two formats of seed files: JSON lines and CSV.

JSON lines: one object per line, whose members are the fields; blank lines are skipped.
CSV: the first row names the columns, which are fields in any order. An empty cell is null, so only
JSON lines can have an empty text. Cells of key and value are texts; headers are JSON.
"""

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath
from types import MappingProxyType
from typing import Final, NoReturn, Protocol

from broker_lite.errors import SettingsError
from broker_lite.seed.fields import FIELDS, FieldError, SeedRecord, make_record
from broker_lite.seed.lines import LINE_BYTES_MAX, Lines

_INTEGER_DIGITS_MAX: Final = 20


class TextLines(Protocol):
    """Lines of text, and errors that name one of them."""

    @property
    def number(self) -> int:
        """The number of the last line that was read, counted from 1."""

    def __iter__(self) -> Iterator[str]:
        """Read the lines."""

    def error(self, reason: str, number: int | None = None) -> SettingsError:
        """Make an error about a line."""


def read_records(lines: Lines) -> Iterator[SeedRecord]:
    """Read a seed file; the suffix of its name decides the format.

    Raises:
        SettingsError: the suffix is unknown, or a line is wrong.
    """
    suffix = PurePath(lines.path).suffix.lower()
    if suffix not in _READERS:
        raise SettingsError(f"{lines.path}: a seed file is called {' or '.join(_READERS)}")
    return _READERS[suffix](lines)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse_constant)


def _decode(text: str) -> object:
    """Parse one JSON value.

    Raises:
        FieldError: it is not JSON.
    """
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise FieldError(f"no JSON: {error.msg}, at character {error.pos + 1}") from error
    except (ValueError, RecursionError) as error:
        raise FieldError(f"no JSON: {error}") from error


def read_json_lines(lines: TextLines, topic: str | None = None) -> Iterator[SeedRecord]:
    """Read JSON lines.

    Args:
        lines: of a seed file, or of a request.
        topic: of the records that name none.

    Raises:
        SettingsError: a line is wrong.
    """
    for text in lines:
        if text.isspace():
            continue
        yield read_json_line(lines, text, topic)


def read_json_line(lines: TextLines, text: str, topic: str | None = None) -> SeedRecord:
    """Read one line of JSON.

    Args:
        lines: whose last line it is.
        text: of the line, which is not blank.
        topic: of the record if it names none.

    Raises:
        SettingsError: the line is wrong.
    """
    try:
        fields = _decode(text)
        if not isinstance(fields, dict):
            raise FieldError('not an object such as {"topic": "t", "value": "v"}')
        if topic is not None:
            fields.setdefault("topic", topic)
        return make_record(fields, lines.number)
    except FieldError as error:
        raise lines.error(str(error)) from error


def _read_csv(lines: Lines) -> Iterator[SeedRecord]:
    names: list[str] | None = None
    for line, row in _rows(lines):
        if names is None:
            names = _column_names(lines, row)
            continue
        if len(row) != len(names):
            raise lines.error(f"{len(row)} cells, the first row has {len(names)}", line)
        try:
            record = make_record(dict(map(_field, names, row)), line)
        except FieldError as error:
            raise lines.error(str(error), line) from error
        yield record


def _rows(lines: Lines) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank, each with the number of its first line."""
    limit_before = csv.field_size_limit(LINE_BYTES_MAX)
    try:
        first = 1
        for row in csv.reader(lines, strict=True):
            if row:
                yield first, row
            first = lines.number + 1
    except csv.Error as error:
        raise lines.error(f"no CSV: {error}", first) from error
    finally:
        csv.field_size_limit(limit_before)


def _column_names(lines: Lines, row: list[str]) -> list[str]:
    names = [name.strip().lower() for name in row]
    for name in names:
        if name not in FIELDS:
            raise lines.error(f"column {name}: no such field; there are {', '.join(FIELDS)}")
    if len(set(names)) < len(names) or "topic" not in names:
        raise lines.error("each column once, one of them topic")
    return names


def _field(name: str, cell: str) -> tuple[str, object]:
    if not cell:
        return name, None
    if name == "headers":
        try:
            return name, _decode(cell)
        except FieldError as error:
            raise FieldError(f"headers: {error}") from error
    is_number = cell.isascii() and cell.isdigit() and len(cell) <= _INTEGER_DIGITS_MAX
    if is_number and name in ("partition", "timestamp"):
        return name, int(cell)
    return name, cell


_READERS: Final[Mapping[str, Callable[[Lines], Iterator[SeedRecord]]]] = MappingProxyType(
    {
        ".jsonl": read_json_lines,
        ".ndjson": read_json_lines,
        ".json": read_json_lines,
        ".csv": _read_csv,
    }
)
