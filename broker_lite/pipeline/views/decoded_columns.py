"""The record view with keys or values that have a schema.

A decoded column has the type of its schema, and a column of error texts comes with it: keyError or
valueError, at the end. It is null where the message was read, and where there was none.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

import pyarrow as pa

from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.split import Split
from broker_lite.pipeline.registry.column_decoder import decoder_of
from broker_lite.pipeline.registry.settings import ColumnFormat
from broker_lite.pipeline.registry.wanted import with_schema
from broker_lite.pipeline.views.record_schema import record_schema, select
from broker_lite.pipeline.views.record_view import record_batches

ERRORS: Final[Mapping[str, str]] = {"key": "keyError", "value": "valueError"}


def with_schemas(options: ReadOptions) -> ReadOptions:
    """Return the options with the schemas of the decoded columns, asked for where it is needed.

    Raises:
        NoResultSchema: a schema cannot be had, or no column can be made by it.
        MissingExtra: a library is not installed.
    """
    formats = tuple((name, _with_schema(wanted)) for name, wanted in options.formats)
    return replace(options, formats=formats)


def _with_schema(wanted: ColumnFormat) -> ColumnFormat:
    is_asked = wanted.schema is not None and (wanted.schema_id or wanted.subject)
    return wanted if is_asked else with_schema(wanted)


def decoded_schema(options: ReadOptions) -> pa.Schema:
    """Return the columns of the record view, with the types of their schemas.

    Args:
        options: from with_schemas().

    Raises:
        ValueError: there is no such column.
    """
    types = {name: decoder_of(wanted).result.type for name, wanted in options.formats}
    errors = {ERRORS[name].lower(): pa.field(ERRORS[name], pa.string()) for name in types}
    columns = options.columns
    others = None if columns is None else [name for name in columns if name.lower() not in errors]
    plain = record_schema(include_headers=options.include_headers, columns=others)
    fields = [pa.field(each.name, types.get(each.name, each.type)) for each in plain]
    return select([*fields, *errors.values()], columns)


def decoded_batches(io: FileIO, split: Split, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """Yield the records of a split in order, as Arrow batches of decoded_schema().

    Raises as record_batches() does; never because of a message or its schema.
    """
    schema = decoded_schema(options)
    raw = replace(options, columns=_raw_columns(schema), formats=())
    decoders = {
        name: decoder_of(wanted)
        for name, wanted in options.formats
        if name in schema.names or ERRORS[name] in schema.names
    }
    for batch in record_batches(io, split, raw):
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        for name, decoder in decoders.items():
            columns[name], columns[ERRORS[name]] = decoder.decode(columns[name])
        yield pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)


def _raw_columns(schema: pa.Schema) -> tuple[str, ...]:
    """Return what has to be read for columns: for errors, the column that they are about."""
    about = {error: name for name, error in ERRORS.items()}
    return tuple(dict.fromkeys(about.get(name, name) for name in schema.names))
