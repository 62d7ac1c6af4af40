"""What is written of a batch whose topic discards its records: the header, of 61 bytes.

That is a batch without records, as compaction leaves it. So offsets, sequences, duplicates, epochs
and transactions are what they are in any other log, also after a kill. A reader gets no records and
still moves on.

A difference to Kafka: where `broker.lite.load.mode` is `discard`, records are checked and
acknowledged, but not kept. What was stored before is deleted as with `retention.bytes=0`.

Rule: S-56.
See: R-16.
"""

from typing import Final

from broker_lite.log.validate.refusals import larger_than_segment
from broker_lite.log.validate.validated import ValidatedRecords
from broker_lite.record.batch import RecordBatch
from broker_lite.record.emptied import emptied

HEADERS_BYTES_MAX: Final = 16 << 20
"""A segment of headers is not larger: a start after a kill reads each header, 10 us for one."""


def header_only(records: ValidatedRecords, bytes_max: int) -> ValidatedRecords:
    """Return a batch without its records.

    Args:
        records: from the validator.
        bytes_max: of the whole batch.

    Raises:
        RecordListTooLarge: the batch is larger.
    """
    size_bytes = len(records.buffer)
    if size_bytes > bytes_max:
        raise larger_than_segment(size_bytes, bytes_max)
    data = memoryview(bytearray(emptied(records.batch)))
    return records._replace(buffer=data, batch=RecordBatch(data, 0, len(data)))
