"""A log that has of everything that an export and an import can lose."""

from pathlib import Path

from broker_lite.record.batch import HEADER, RECORD_BATCH_OVERHEAD, RecordBatch
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.codecs.compression import Codec
from tests.pipeline.support import T0, NewRecord, Partition, numbered, write_segment

HEADERS = ((b"h", b"1"), (b"h", None), (b"", b""), (b"h", b"1"))
ABORTED, OPEN, BEHIND = 3, 2, 4
"""How many records: of the aborted transaction, of the open one, and behind it."""


def write_mixed_log(root: Path) -> Path:
    """Write three topics and give the root."""
    with Partition(root, "orders", 2) as partition:
        partition.append([NewRecord(b"k", b"v", HEADERS), NewRecord(), NewRecord(b"", b"")])
        partition.append(numbered(40, value_bytes=500), codec=Codec.ZSTD)
        partition.append(numbered(5), codec=Codec.LZ4, producer_id=6)
        partition.append(numbered(2), producer_id=7, is_transactional=True)
        partition.append(numbered(ABORTED), producer_id=8, is_transactional=True)
        partition.append(numbered(2), codec=Codec.GZIP, producer_id=7, is_transactional=True)
        partition.end_transaction(8, commit=False)
        partition.end_transaction(7, commit=True)
        partition.roll()
        partition.log.become_leader(3)
        partition.append(numbered(5), producer_id=6)
        partition.append(numbered(OPEN), producer_id=9, is_transactional=True)
        partition.append(numbered(BEHIND))
    with Partition(root, "appended") as partition:
        partition.append(numbered(3), log_append_time_ms=T0 + 99)
        partition.append(numbered(3), codec=Codec.SNAPPY, log_append_time_ms=T0 + 100)
    write_segment(root, b"".join(cleaned_batches()), topic="cleaned", base_offset=10)
    return root


def cleaned_batches() -> list[bytes]:
    """What a cleaner leaves: gaps, a delete horizon, and a batch without records."""
    gaps = BatchBuilder(base_offset=10, leader_epoch=1, producer_id=5, producer_epoch=2)
    gaps.base_sequence = 20
    gaps.append(T0, b"a", b"1", offset=12)
    gaps.append(T0 + 5, b"b", b"2", offset=15)
    horizon = BatchBuilder(base_offset=30, leader_epoch=1, delete_horizon_ms=T0 + 500)
    horizon.append(T0 + 7, b"c", None)
    return [gaps.build(), horizon.build(), emptied_batch(40, 44)]


def emptied_batch(base_offset: int, last_offset: int) -> bytes:
    """The batch without records that keeps the last sequence of a producer."""
    data = bytearray(RECORD_BATCH_OVERHEAD)
    size_bytes, delta = RECORD_BATCH_OVERHEAD - 12, last_offset - base_offset
    HEADER.pack_into(data, 0, base_offset, size_bytes, 2, 2, 0, 0, delta, -1, T0 + 9, 5, 2, 26, 0)
    batch = RecordBatch(memoryview(data), 0, len(data))
    data[17:21] = batch.computed_crc().to_bytes(4, "big")
    return bytes(data)
