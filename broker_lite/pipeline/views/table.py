"""Dispatches to the views by name: their columns, and how to read a split."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

import pyarrow as pa

from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.read.options import ReadOptions, View
from broker_lite.pipeline.read.split import Split
from broker_lite.pipeline.views.batch_view import batch_rows, batch_schema
from broker_lite.pipeline.views.count_view import count_batches, count_schema
from broker_lite.pipeline.views.decoded_columns import decoded_batches, decoded_schema
from broker_lite.pipeline.views.index_view import index_rows, index_schema
from broker_lite.pipeline.views.record_schema import record_schema
from broker_lite.pipeline.views.record_view import record_batches


class _Form(NamedTuple):
    schema: Callable[[ReadOptions], pa.Schema]
    read: Callable[[FileIO, Split, ReadOptions], Iterator[pa.RecordBatch]]


_FORMS: Final[Mapping[View, _Form]] = {
    View.RECORDS: _Form(
        lambda options: record_schema(
            include_headers=options.include_headers, columns=options.columns
        ),
        record_batches,
    ),
    View.BATCHES: _Form(lambda options: batch_schema(options.columns), batch_rows),
    View.INDEX: _Form(lambda options: index_schema(options.columns), index_rows),
}


_DECODED: Final = _Form(decoded_schema, decoded_batches)
_COUNTED: Final = _Form(count_schema, count_batches)


def _form(options: ReadOptions) -> _Form:
    if options.counting is not None:
        return _COUNTED
    return _DECODED if options.formats else _FORMS[options.view]


def view_schema(options: ReadOptions) -> pa.Schema:
    """Return the columns of options.view, or those that options.columns names.

    Args:
        options: of the read; with_schemas() has to have made them if a column is decoded.

    Raises:
        ValueError: there is no such column.
    """
    return _form(options).schema(options)


def read_view(io: FileIO, split: Split, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a split in order, as Arrow batches of view_schema(options).

    Args:
        io: opens split.uri.
        split: from a plan for the same view.
        options: of the read.

    Raises:
        CorruptLog: something is damaged, with onCorrupt=fail.
        OSError: a file cannot be read.
    """
    return _form(options).read(io, split, options)
