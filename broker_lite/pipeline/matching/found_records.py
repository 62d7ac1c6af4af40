"""Finds the records of a split that hold conditions.

A batch is passed over by its header if its times cannot be wanted; decompressed only if they can;
and decoded only if its plain bytes have what is sought. Control batches are left out, and so are
the records of aborted transactions with isolationLevel=read_committed.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from broker_lite.errors import BrokerError
from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.matching.conditions import Conditions
from broker_lite.pipeline.matching.current_batch import current_batches
from broker_lite.pipeline.read.batches import LogBatch, read_batches
from broker_lite.pipeline.read.corruption import Corruption, OnCorruption
from broker_lite.pipeline.read.measured import PLAIN_BYTES_MAX, Unsound
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.split import Split
from broker_lite.pipeline.read.transactions import HiddenBatches
from broker_lite.record.batch import RecordBatch
from broker_lite.record.codecs.decompressed import Bounds, Decompressed
from broker_lite.record.legacy.messages import LegacyMessage
from broker_lite.record.loops.locate import locate_keys_and_values
from broker_lite.record.loops.scan_status import ScanStatus
from broker_lite.record.records import Record, iterate_records, read_content

_BOUNDS: Final = Bounds(PLAIN_BYTES_MAX)


class FoundRecords(NamedTuple):
    """The wanted records of a batch, at least one; an old message is a batch of its own."""

    batch: RecordBatch
    records: list[Record]


class RecordFinder:
    """Finds records of one split.

    Attributes:
        passed_offset: all records below it were yielded, or are not wanted.
        end_offset: of the split.
    """

    def __init__(
        self,
        io: FileIO,
        split: Split,
        options: ReadOptions,
        conditions: Conditions,
        on_corrupt: OnCorruption,
    ) -> None:
        """Prepare to read.

        Args:
            io: opens split.uri.
            split: from a plan.
            options: uses isolation_level, check_crc and fail_on_data_loss.
            conditions: for the records.
            on_corrupt: called for damage; a batch with a damaged record is left out as a whole.
        """
        self.passed_offset = split.first_offset
        self.end_offset = split.end_offset
        self._io = io
        self._split = split
        self._options = options
        self._conditions = conditions
        self._on_corrupt = on_corrupt
        self._hidden = HiddenBatches(io, split, options.isolation_level, on_corrupt)

    def find(self) -> Iterator[FoundRecords]:
        """Yield the wanted records, in order.

        Raises:
            FileNotFoundError: a segment vanished, with failOnDataLoss=true.
            OSError: a file cannot be read.
        """
        for found in read_batches(
            self._io,
            self._split,
            check_crc=self._options.check_crc,
            on_corrupt=self._on_corrupt,
            skip_missing=not self._options.fail_on_data_loss,
        ):
            try:
                for batch in self._visible(found.batch):
                    records = self._records(batch)
                    if records:
                        yield FoundRecords(batch, records)
            except (Unsound, BrokerError) as error:
                self._on_corrupt(_corruption(found, error))
            self.passed_offset = min(found.batch.next_offset, self._split.end_offset)
        self.passed_offset = self._split.end_offset

    def _visible(self, batch: RecordBatch | LegacyMessage) -> Iterable[RecordBatch]:
        """Yield what a consumer would see of a batch, if its times are wanted."""
        if isinstance(batch, LegacyMessage):
            return current_batches(batch)
        if (
            batch.is_control
            or not self._conditions.allow_times_of(batch)
            or self._hidden.has(batch)
        ):
            return ()
        return (batch,)

    def _records(self, batch: RecordBatch) -> list[Record]:
        """Decode the wanted records of a batch."""
        conditions, split = self._conditions, self._split
        content = read_content(batch, bounds=_BOUNDS)
        if content.limit_exceeded:
            raise Unsound("R-84", f"the records take more than {PLAIN_BYTES_MAX} bytes")
        only = None
        if conditions.is_of_content and not content.failed:
            data = bytes(content.data)
            content = Decompressed(data, content.failed, content.limit_exceeded)
            if not conditions.allow_bytes(data):
                return []
            only = self._held(batch, data)
            if only is not None and not only:
                return []
        return [
            record
            for record in iterate_records(batch, content=content, only=only)
            if split.first_offset <= record.offset < split.end_offset and conditions.hold(record)
        ]

    def _held(self, batch: RecordBatch, data: bytes) -> set[int] | None:
        """Return which records hold the conditions about key and value; None for perhaps all."""
        hold = self._conditions.hold_key_and_value
        if not self._conditions.is_of_key_or_value:
            return None
        status, found = locate_keys_and_values(memoryview(data), 0, len(data), batch.record_count)
        if status != ScanStatus.OK:
            return None  # reading the records tells what is wrong
        return {
            index
            for index, (key_start, key_end, value_start, value_end) in enumerate(found)
            if hold(
                data[key_start:key_end] if key_start >= 0 else None,
                data[value_start:value_end] if value_start >= 0 else None,
            )
        }


def _corruption(found: LogBatch, error: Unsound | BrokerError) -> Corruption:
    rule, text = (error.rule, error.text) if isinstance(error, Unsound) else ("R-37", str(error))
    return Corruption(found.segment.log_path, found.position, rule, text)
