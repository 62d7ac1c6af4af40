"""Rows of the record view, as tests write them down."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.split import Split
from broker_lite.pipeline.views.record_view import record_batches
from tests.pipeline.support import Row

IO = LocalFileIO()
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def options(**given: str) -> ReadOptions:
    return ReadOptions.parse({"path": "/", "includeHeaders": "true"} | given)


def arrow(split: Split, **given: str) -> list[pa.RecordBatch]:
    found = list(record_batches(IO, split, options(**given)))
    for arrow_batch in found:
        arrow_batch.validate(full=True)
    return found


def read(split: Split, **given: str) -> list[Row]:
    return rows(arrow(split, **given))


def rows(found: Iterable[pa.RecordBatch]) -> list[Row]:
    return [
        Row(
            row["key"],
            row["value"],
            row["topic"],
            row["partition"],
            row["offset"],
            (row["timestamp"] - EPOCH) // timedelta(milliseconds=1),
            row["timestampType"],
            None
            if row["headers"] is None
            else tuple((one["key"], one["value"]) for one in row["headers"]),
        )
        for arrow_batch in found
        for row in arrow_batch.to_pylist()
    ]
