"""Segments for the tests of what writes them."""

import pyarrow as pa

from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.write.encode import BatchEncoder
from broker_lite.pipeline.write.log_writer import LogWriter, Placement, StagedSegment
from broker_lite.pipeline.write.record_input import RecordInput, record_input
from tests.pipeline.support import T0, NewRecord

SCHEMA = pa.schema(
    [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("timestamp", pa.int64()),
        pa.field(
            "headers",
            pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])),
        ),
    ]
)


def arrow(records: list[NewRecord], first_offset: int = 0) -> pa.RecordBatch:
    """The records as a batch of Arrow's, with the timestamps that support.Partition gives them."""
    rows = [
        {
            "key": record.key,
            "value": record.value,
            "timestamp": T0 + first_offset + index
            if record.timestamp_ms is None
            else record.timestamp_ms,
            "headers": [{"key": key.decode(), "value": value} for key, value in record.headers],
        }
        for index, record in enumerate(records)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=SCHEMA)


def rows_of(records: list[NewRecord], first_offset: int = 0) -> RecordInput:
    """The records as input of an encoder."""
    return record_input(arrow(records, first_offset), default_timestamp_ms=T0)


def stage(
    placement: Placement,
    records: list[NewRecord],
    *,
    next_offset: int = 0,
    batch_records: int = 5,
) -> list[StagedSegment]:
    """Write batches of so many records each into staged files."""
    encoder, writer = BatchEncoder(next_offset), LogWriter(LocalFileIO(), placement)
    rows = rows_of(records, next_offset)
    for first in range(0, len(records), batch_records):
        for batch in encoder.append(rows, first, min(first + batch_records, len(records))):
            writer.append(batch)
        writer.append(encoder.finish())
    return writer.close()
