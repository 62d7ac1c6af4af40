"""Sizes with and without compression, by codec."""

from pathlib import Path

from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.measure.plain_sizes import plain_sizes
from broker_lite.pipeline.report.data import CodecFacts
from tests.pipeline.support import NewRecord, Partition, damage, whole_split

RECORDS = [NewRecord(b"k", b"v" * 1000, timestamp_ms=0)] * 4


def write_log(root: Path) -> Path:
    with Partition(root) as partition:
        partition.append(RECORDS)
        for _ in range(2):
            partition.append(RECORDS, codec=4)
        partition.append(RECORDS[:1], producer_id=1, is_transactional=True)
        partition.end_transaction(1, commit=True)
        return next(partition.directory.glob("*.log"))


def sizes(root: Path) -> dict[str, CodecFacts]:
    return {one.codec: one for one in plain_sizes(LocalFileIO(), whole_split(root))}


def test_sums_by_codec(tmp_path: Path) -> None:
    write_log(tmp_path)
    found = sizes(tmp_path)
    none, zstd = found["none"], found["zstd"]
    assert (none.topic, none.batches, none.records) == ("topic", 2, 5)  # without the marker
    assert none.stored_bytes == none.plain_bytes
    assert (zstd.batches, zstd.records) == (2, 8)
    assert zstd.plain_bytes > 20 * zstd.stored_bytes
    assert zstd.plain_bytes > 8000


def test_what_is_damaged_is_passed_over(tmp_path: Path) -> None:
    path = write_log(tmp_path)
    damage(path, 100)
    assert sizes(tmp_path)["none"].records == 1
