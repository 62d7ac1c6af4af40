"""The columns of the record view: names, order and types of Spark's Kafka connector."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

HEADERS: Final = "headers"
HEADER_TYPE: Final = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
HEADERS_TYPE: Final = pa.list_(pa.field("element", HEADER_TYPE))

COLUMNS: Final[tuple[pa.Field, ...]] = (
    pa.field("key", pa.binary()),
    pa.field("value", pa.binary()),
    pa.field("topic", pa.string()),
    pa.field("partition", pa.int32()),
    pa.field("offset", pa.int64()),
    pa.field("timestamp", pa.timestamp("us", tz="UTC")),
    pa.field("timestampType", pa.int32()),
)
"""All columns but headers, which follow if they are wanted."""


def select(fields: Sequence[pa.Field], columns: Sequence[str] | None) -> pa.Schema:
    """Select fields in the given order.

    Args:
        fields: all fields of the view.
        columns: case-insensitive names; None for all.

    Raises:
        ValueError: there is no such column; the text lists the columns.
    """
    if columns is None:
        return pa.schema(fields)
    known = {field.name.lower(): field for field in fields}
    for name in columns:
        if name.lower() not in known:
            names = ", ".join(field.name for field in fields)
            raise ValueError(f"columns: there is no {name}, only {names}")
    return pa.schema([known[name.lower()] for name in columns])


def record_schema(
    *, include_headers: bool = False, columns: Sequence[str] | None = None
) -> pa.Schema:
    """Return the schema of the record view.

    Args:
        include_headers: whether to append the column `headers`.
        columns: only these; `headers` needs no include_headers here.

    Raises:
        ValueError: there is no such column.
    """
    fields = COLUMNS
    if include_headers or (columns is not None and HEADERS in map(str.lower, columns)):
        fields = (*COLUMNS, pa.field(HEADERS, HEADERS_TYPE))
    return select(fields, columns)
