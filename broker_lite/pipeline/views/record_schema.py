"""The columns of the record view: names, order and types of Spark's Kafka connector."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

HEADERS: Final = "headers"
BATCH_OFFSET: Final = "batchOffset"
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
"""All columns but headers and batchOffset, which follow if they are wanted."""


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
        columns: only these; `headers` needs no include_headers here. Only here there is
            `batchOffset`, the base offset of the batch, because the connector does not have it.

    Raises:
        ValueError: there is no such column.
    """
    fields, named = COLUMNS, frozenset(map(str.lower, columns or ()))
    if include_headers or HEADERS in named:
        fields = (*fields, pa.field(HEADERS, HEADERS_TYPE))
    if BATCH_OFFSET.lower() in named:
        fields = (*fields, pa.field(BATCH_OFFSET, pa.int64()))
    return select(fields, columns)
