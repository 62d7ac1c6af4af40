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
from broker_lite.record.emptied import emptied

HEADERS_BYTES_MAX: Final = 16 << 20
"""A segment of headers is not larger: a start after a kill reads each header, 10 us for one."""


def header_only(records: ValidatedRecords, bytes_max: int) -> ValidatedRecords:
    """Return the header of a batch in place of its bytes.

    The view of the whole batch stays: the log asks it for what the header has, too.

    Args:
        records: from the validator.
        bytes_max: of the whole batch.

    Raises:
        RecordListTooLarge: the batch is larger.
    """
    buffer, batch, record_count, max_timestamp, append_time_ms = records
    if len(buffer) > bytes_max:
        raise larger_than_segment(len(buffer), bytes_max)
    data = memoryview(bytearray(emptied(batch)))
    return ValidatedRecords(data, batch, record_count, max_timestamp, append_time_ms)
