"""The records of a split that its reader sees, batch by batch.

Control batches are left out, and so are the records of aborted transactions with
isolationLevel=read_committed; open transactions lie behind the end of the plan. A batch with a
damaged record is left out as a whole.
"""

from collections.abc import Iterable, Iterator

from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.read.batches import LogBatch, read_batches
from broker_lite.pipeline.read.corruption import Corruption, OnCorruption
from broker_lite.pipeline.read.measured import Measured, Unsound, measure_batch, measure_legacy
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.split import Split
from broker_lite.pipeline.read.transactions import HiddenBatches
from broker_lite.record.batch import RecordBatch
from broker_lite.record.legacy.messages import LegacyMessage


class VisibleRecords:
    """Reads the batches of a split, and measures the records in them that are seen.

    Args:
        io: opens split.uri.
        split: from plan().
        options: uses isolation_level, check_crc and fail_on_data_loss.
        on_corrupt: called for damage that is left out; an error that it raises ends the read.
    """

    def __init__(
        self, io: FileIO, split: Split, options: ReadOptions, on_corrupt: OnCorruption
    ) -> None:
        self._io = io
        self._split = split
        self._options = options
        self._on_corrupt = on_corrupt
        self._hidden = HiddenBatches(io, split, options.isolation_level, on_corrupt)

    def batches(self) -> Iterator[LogBatch]:
        """Yield the batches that have offsets of the split, in order, also those without records.

        Raises:
            FileNotFoundError: a segment vanished, with failOnDataLoss=true.
            OSError: a file cannot be read.
        """
        return read_batches(
            self._io,
            self._split,
            check_crc=self._options.check_crc,
            on_corrupt=self._on_corrupt,
            skip_missing=not self._options.fail_on_data_loss,
        )

    def hides(self, batch: RecordBatch) -> bool:
        """Tell whether the records of a batch are not seen: markers, and aborted ones."""
        return batch.is_control or self._hidden.has(batch)

    def measured(self, found: LogBatch) -> Iterable[Measured]:
        """Measure the records of a batch; nothing if they are hidden or damaged."""
        batch, split = found.batch, self._split
        try:
            if isinstance(batch, LegacyMessage):
                check_crc = self._options.check_crc
                return measure_legacy(
                    batch, split.first_offset, split.end_offset, check_crc=check_crc
                )
            if self.hides(batch):
                return ()
            return (measure_batch(batch, split.first_offset, split.end_offset),)
        except Unsound as unsound:
            path = found.segment.log_path
            self._on_corrupt(Corruption(path, found.position, unsound.rule, unsound.text))
            return ()
