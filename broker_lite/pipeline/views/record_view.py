"""The record view: one row per record, with the columns of Spark's Kafka connector.

Control batches are left out, and so are the records of aborted transactions with
isolationLevel=read_committed; open transactions lie behind the end of the plan. A batch with a
damaged record is left out as a whole. onCorrupt=report logs each damage and, at the end of a split,
how many there were; the batch view shows them as rows.

Memory holds one Arrow batch (16,384 rows or 4 MB of plain records) and the batches it is made of.
"""

import logging
from collections.abc import Iterable, Iterator

import pyarrow as pa

from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.read.batches import LogBatch, read_batches
from broker_lite.pipeline.read.corruption import ON_CORRUPTION, Corruption, OnCorruption
from broker_lite.pipeline.read.measured import Measured, Unsound, measure_batch, measure_legacy
from broker_lite.pipeline.read.options import OnCorrupt, ReadOptions
from broker_lite.pipeline.read.split import Split
from broker_lite.pipeline.read.transactions import HiddenBatches
from broker_lite.pipeline.views.record_columns import ColumnGatherer
from broker_lite.pipeline.views.record_schema import record_schema
from broker_lite.record.legacy.messages import LegacyMessage

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

    yield from _RecordReader(io, split, options, schema, on_corrupt).arrow_batches()
    if count and options.on_corrupt is OnCorrupt.REPORT:
        logger.warning(
            "split with corrupt places topic=%s partition=%d offsets=%d-%d places=%d",
            split.topic,
            split.partition,
            split.first_offset,
            split.end_offset,
            count,
        )


class _RecordReader:
    """Reads one split into Arrow batches."""

    def __init__(
        self,
        io: FileIO,
        split: Split,
        options: ReadOptions,
        schema: pa.Schema,
        on_corrupt: OnCorruption,
    ) -> None:
        self._io = io
        self._split = split
        self._options = options
        self._on_corrupt = on_corrupt
        self._gatherer = ColumnGatherer(
            schema, split.topic, split.partition, split.first_offset, split.end_offset
        )
        self._hidden = HiddenBatches(io, split, options.isolation_level, on_corrupt)

    def arrow_batches(self) -> Iterator[pa.RecordBatch]:
        """Read the split."""
        gatherer = self._gatherer
        for found in read_batches(
            self._io,
            self._split,
            check_crc=self._options.check_crc,
            on_corrupt=self._on_corrupt,
            skip_missing=not self._options.fail_on_data_loss,
        ):
            for measured in self._measured(found):
                if measured.totals[0] and gatherer.add(measured):
                    yield gatherer.take()
        if gatherer.records:
            yield gatherer.take()

    def _measured(self, found: LogBatch) -> Iterable[Measured]:
        """Measure the records of a batch; nothing if they are hidden or damaged."""
        batch, split = found.batch, self._split
        try:
            if isinstance(batch, LegacyMessage):
                check_crc = self._options.check_crc
                return measure_legacy(
                    batch, split.first_offset, split.end_offset, check_crc=check_crc
                )
            if batch.is_control or self._hidden.has(batch):
                return ()
            return (measure_batch(batch, split.first_offset, split.end_offset),)
        except Unsound as unsound:
            path = found.segment.log_path
            self._on_corrupt(Corruption(path, found.position, unsound.rule, unsound.text))
            return ()
