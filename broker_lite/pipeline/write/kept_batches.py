"""Writes rows of one partition as the batches that they once were.

A row that stands for a batch has its header in the column `batch`, and its offset is the base
offset of the batch. Behind it come the records of the batch, by their offsets; the row of a control
batch is its record, too. Records that belong to no such row get batches of their own.
"""

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from broker_lite.pipeline.write.encode import (
    LEADER_EPOCH,
    BatchEncoder,
    KeptHeader,
    Producer,
)
from broker_lite.pipeline.write.log_writer import LogWriter
from broker_lite.pipeline.write.record_input import RecordInput
from broker_lite.record.batch import NO_TIMESTAMP
from broker_lite.record.codecs.compression import Codec

HEADER_COLUMN: Final = "batch"

_CODECS: Final[Mapping[str, Codec]] = {codec.name.lower(): codec for codec in Codec}
_LIMITS: Final[Mapping[str, tuple[int, int]]] = {
    "recordCount": (0, 2**31 - 1),
    "producerId": (-1, 2**63 - 1),
    "producerEpoch": (-1, 2**15 - 1),
    "baseSequence": (-1, 2**31 - 1),
    "leaderEpoch": (-1, 2**31 - 1),
}
_DELTA_MAX: Final = 2**31 - 1


class KeptBatches:
    """Writes the batches of one partition, in the order of their offsets.

    Args:
        encoder: of the partition; its codec is for records without a header.
        writer: of the partition.
        codec: of all batches; None lets each keep its own.
    """

    def __init__(self, encoder: BatchEncoder, writer: LogWriter, codec: Codec | None) -> None:
        self._encoder = encoder
        self._writer = writer
        self._codec = codec
        self._plain_codec = encoder.codec
        self._open: KeptHeader | None = None

    def append(self, records: RecordInput, headers: pa.StructArray, row: int, end_row: int) -> None:
        """Write rows.

        Args:
            records: all rows of an Arrow batch.
            headers: its column `batch`.
            row: the first row to write.
            end_row: the first row not to write.

        Raises:
            ValueError: a row cannot be written; the text says why.
            OSError: a file cannot be written.
        """
        places = pc.indices_nonzero(pc.is_valid(headers.slice(row, end_row - row)))
        for place in [row + each for each in places.to_pylist()]:
            self._take_records(records, row, place)
            self._begin(records, place, headers[place].as_py())
            row = place + 1
        self._take_records(records, row, end_row)

    def finish(self) -> None:
        """Write the open batch.

        Raises:
            OSError: it cannot be written.
        """
        encoder = self._encoder
        if self._open is not None:
            self._writer.append(encoder.keep(self._open))
            encoder.shrink()  # a task has an encoder for each of its partitions
            self._open = None
            encoder.codec = self._plain_codec
        elif encoder.record_count:
            self._writer.append(encoder.finish())

    def _begin(self, records: RecordInput, row: int, told: Mapping[str, Any]) -> None:
        self.finish()
        encoder, base_offset = self._encoder, records.offsets[row]
        try:
            header = kept_header(base_offset, told)
            # A cleaner gives no base timestamp to a batch that it has emptied.
            has_records = header.record_count > 0
            encoder.begin(header, records.timestamps[row] if has_records else NO_TIMESTAMP)
        except ValueError as error:
            placement = self._writer.placement
            name = f"{placement.topic}-{placement.partition}"
            raise ValueError(f"the batch at offset {base_offset} of {name}: {error}") from error
        encoder.codec = header.codec if self._codec is None else self._codec
        # The epochs of a log do not fall.
        encoder.leader_epoch = max(encoder.leader_epoch, header.leader_epoch)
        self._open = header
        if header.is_control and header.record_count:
            encoder.fill(records, row, row + 1)

    def _take_records(self, records: RecordInput, row: int, end_row: int) -> None:
        encoder, header = self._encoder, self._open
        if header is not None and row < end_row:
            own_end = bisect_right(records.offsets, header.last_offset, row, end_row)
            encoder.fill(records, row, own_end)
            row = own_end
            if row < end_row or encoder.record_count >= header.record_count:
                self.finish()
        for batch in encoder.append(records, row, end_row):
            self._writer.append(batch)


def kept_header(base_offset: int, told: Mapping[str, Any]) -> KeptHeader:
    """Make a header of the fields of the column `batch`.

    Raises:
        ValueError: a field is missing, or no batch can have its value.
    """
    for name, (low, high) in _LIMITS.items():
        value = told[name]
        if value is None or not low <= value <= high:
            raise ValueError(f"{name} is {value}, not {low} to {high}")
    last_offset, codec = told["lastOffset"], _CODECS.get(told["codec"])
    if last_offset is None or not base_offset <= last_offset <= base_offset + _DELTA_MAX:
        raise ValueError(f"lastOffset is {last_offset}")
    if codec is None:
        raise ValueError(f"codec is {told['codec']}, not one of {', '.join(_CODECS)}")
    return KeptHeader(
        base_offset,
        last_offset,
        told["recordCount"],
        codec,
        told["timestampType"] == 1,
        bool(told["isControl"]),
        bool(told["hasDeleteHorizon"]),
        Producer(
            told["producerId"],
            told["producerEpoch"],
            told["baseSequence"],
            bool(told["isTransactional"]),
        ),
        max(told["leaderEpoch"], LEADER_EPOCH),
        told["baseTimestamp"],
        told["maxTimestamp"],
    )
