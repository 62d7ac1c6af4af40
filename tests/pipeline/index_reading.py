"""Rows of the index view, and a partition whose indexes have many entries."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.split import Split
from broker_lite.pipeline.views.index_view import ROWS_MAX, index_rows, index_schema
from tests.pipeline.support import Partition, numbered, whole_split

IO = LocalFileIO()
BATCHES, RECORDS, BATCH_BYTES = 8, 10, 431


def arrow(split: Split, rows_max: int = ROWS_MAX, **given: str) -> list[pa.RecordBatch]:
    options = ReadOptions.parse({"path": "/", "view": "index"} | given)
    found = list(index_rows(IO, split, options, rows_max=rows_max))
    for arrow_batch in found:
        arrow_batch.validate(full=True)
        assert arrow_batch.schema == index_schema(options.columns)
    return found


def read(root: Path, kind: str | None = None, **given: str) -> list[dict[str, Any]]:
    rows = [row for found in arrow(whole_split(root), **given) for row in found.to_pylist()]
    return [row for row in rows if kind is None or row["kind"] == kind]


def told(rows: list[dict[str, Any]]) -> list[tuple[int, int, str | None]]:
    assert all(row["consistent"] is (row["error"] is None) for row in rows)
    return [(row["key"], row["position"], row["error"]) for row in rows]


def wrong(rows: list[dict[str, Any]]) -> list[str]:
    return [row["error"] for row in rows if not row["consistent"]]


def file_of(partition: Partition, suffix: str) -> Path:
    (path,) = partition.directory.glob(f"*{suffix}")
    return path


def indexed_partition(root: Path) -> Partition:
    """Batches of ten records, every one but the first in both indexes; one aborted transaction."""
    with Partition(root, index_interval_bytes=100) as written:
        for number in range(BATCHES):
            written.append(numbered(RECORDS, first=number * RECORDS))
        written.append(numbered(1), producer_id=7, is_transactional=True)
        written.end_transaction(7, commit=False)
    return written
