"""The record view: one row per record, with the columns of Spark's Kafka connector.

Which records are seen is told in visible_records.py. onCorrupt=report logs each damage and, at the
end of a split, how many there were; the batch view shows them as rows.

Memory holds one Arrow batch (16,384 rows or 4 MB of plain records) and the batches it is made of.
"""

import logging
from collections.abc import Iterator

import pyarrow as pa

from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.read.corruption import ON_CORRUPTION, Corruption, OnCorruption
from broker_lite.pipeline.read.options import OnCorrupt, ReadOptions
from broker_lite.pipeline.read.split import Split
from broker_lite.pipeline.views.record_columns import ColumnGatherer
from broker_lite.pipeline.views.record_schema import record_schema
from broker_lite.pipeline.views.visible_records import VisibleRecords

logger = logging.getLogger("broker_lite.pipeline")


def record_batches(io: FileIO, split: Split, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """Yield the records of a split in order, as Arrow batches of record_schema().

    Args:
        io: opens split.uri.
        split: from plan().
        options: uses include_headers, columns, isolation_level, check_crc, on_corrupt and
            fail_on_data_loss.

    Raises:
        CorruptLog: something is damaged, with onCorrupt=fail.
        TimestampOutOfRange: a timestamp does not fit into microseconds.
        FileNotFoundError: a segment vanished, with failOnDataLoss=true.
        OSError: a file cannot be read.
    """
    schema = record_schema(include_headers=options.include_headers, columns=options.columns)
    count = 0

    def on_corrupt(corruption: Corruption) -> None:
        nonlocal count
        count += 1
        ON_CORRUPTION[options.on_corrupt](corruption)

    yield from _arrow_batches(io, split, options, schema, on_corrupt)
    if count and options.on_corrupt is OnCorrupt.REPORT:
        logger.warning(
            "split with corrupt places topic=%s partition=%d offsets=%d-%d places=%d",
            split.topic,
            split.partition,
            split.first_offset,
            split.end_offset,
            count,
        )


def _arrow_batches(
    io: FileIO, split: Split, options: ReadOptions, schema: pa.Schema, on_corrupt: OnCorruption
) -> Iterator[pa.RecordBatch]:
    gatherer = ColumnGatherer(
        schema, split.topic, split.partition, split.first_offset, split.end_offset
    )
    visible = VisibleRecords(io, split, options, on_corrupt)
    for found in visible.batches():
        for measured in visible.measured(found):
            if measured.totals[0] and gatherer.add(measured):
                yield gatherer.take()
    if gatherer.records:
        yield gatherer.take()
