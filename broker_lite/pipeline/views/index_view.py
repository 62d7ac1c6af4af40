"""The index view: one row per index entry, with whether it agrees with the batches.

Offsets in the options only choose segments, whose index files are read whole. The other views
report damaged batches; an entry that leads to one is not consistent.

| kind | key | position |
| --- | --- | --- |
| offset | last offset of an append | where it starts in the .log file |
| time | largest timestamp so far, ms | offset of the batch that has it |
| transaction | first offset of an aborted transaction | offset of its marker |
"""

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.files.layout import Segment
from broker_lite.pipeline.read.index_checks import JudgedEntry, judged_entries
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.split import Split
from broker_lite.pipeline.views.record_schema import select

ROWS_MAX: Final = 1 << 14

FIELDS: Final[tuple[pa.Field, ...]] = (
    pa.field("topic", pa.string()),
    pa.field("partition", pa.int32()),
    pa.field("segment", pa.int64()),
    pa.field("file", pa.string()),
    pa.field("kind", pa.string()),
    pa.field("key", pa.int64()),
    pa.field("position", pa.int64()),
    pa.field("consistent", pa.bool_()),
    pa.field("error", pa.string()),
)


def index_schema(columns: Sequence[str] | None = None) -> pa.Schema:
    """Return the schema of the index view.

    Args:
        columns: only these.

    Raises:
        ValueError: there is no such column.
    """
    return select(FIELDS, columns)


def index_rows(
    io: FileIO, split: Split, options: ReadOptions, *, rows_max: int = ROWS_MAX
) -> Iterator[pa.RecordBatch]:
    """Yield a row for each entry of the indexes of a split, as Arrow batches of index_schema().

    Args:
        io: opens split.uri.
        split: from a plan for this view.
        options: uses columns and fail_on_data_loss.
        rows_max: of one Arrow batch.

    Raises:
        FileNotFoundError: a segment vanished, with failOnDataLoss=true.
        OSError: a file cannot be read.
    """
    schema = index_schema(options.columns)
    for part in split.ranges:
        segment = part.segment
        entries: list[JudgedEntry] = []
        skip_missing = not options.fail_on_data_loss
        for entry in judged_entries(io, split, segment, skip_missing=skip_missing):
            entries.append(entry)
            if len(entries) == rows_max:
                yield _arrow_batch(schema, segment, entries)
                entries = []
        if entries:
            yield _arrow_batch(schema, segment, entries)


def _arrow_batch(schema: pa.Schema, segment: Segment, entries: list[JudgedEntry]) -> pa.RecordBatch:
    rows = len(entries)
    kinds, suffixes, keys, leads_to, errors = zip(*entries, strict=True)
    values: dict[str, Sequence[object]] = {
        "topic": [segment.topic] * rows,
        "partition": [segment.partition] * rows,
        "segment": [segment.base_offset] * rows,
        "file": [segment.stem + suffix for suffix in suffixes],
        "kind": kinds,
        "key": keys,
        "position": leads_to,
        "consistent": [error is None for error in errors],
        "error": errors,
    }
    arrays = [pa.array(values[column.name], column.type) for column in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
