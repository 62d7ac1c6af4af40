"""Named conditions on a case, so that a listed difference holds for nothing else."""

from collections.abc import Callable, Mapping
from typing import Final

from broker_lite.record.batch import RECORD_BATCH_OVERHEAD, RecordBatch
from broker_lite.record.codecs.compression import decompress
from broker_lite.record.loops.scan import RecordCursor
from tests.differential.case import Case

HUGE_BYTES: Final = 64 * 1024 * 1024
CODEC_MAX: Final = 4


def declares_a_huge_record(case: Case) -> bool:
    """A compressed batch has a record that its length says is 64 MiB or more (V-45)."""
    return any(_declares_a_huge_record(records or b"") for _, _, records in case.partitions)


def has_null_records(case: Case) -> bool:
    """A partition's records are null (V-02)."""
    return any(records is None for _, _, records in case.partitions)


def _declares_a_huge_record(records: bytes) -> bool:
    if len(records) <= RECORD_BATCH_OVERHEAD:
        return False
    batch = RecordBatch(memoryview(records), 0, len(records))
    if not 0 < batch.codec <= CODEC_MAX:
        return False
    content = decompress(batch.codec, batch.records_data, output_bytes_max=HUGE_BYTES).data
    data = memoryview(content)
    cursor = RecordCursor(data, 0, len(data), True)
    while cursor.read_record() == 0:
        if cursor.position == cursor.end:
            return False
    return cursor.length >= HUGE_BYTES


CONDITIONS: Final[Mapping[str, Callable[[Case], bool]]] = {
    "a compressed record declares 64 MiB or more": declares_a_huge_record,
    "records are null": has_null_records,
}
