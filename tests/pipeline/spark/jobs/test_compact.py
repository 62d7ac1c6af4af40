"""A compacted log has the survivors that a broker's cleaner would leave."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from broker_lite.log.data_directory import DirectoryLock
from broker_lite.pipeline.log_root import WriteRefused
from broker_lite.pipeline.spark.jobs.compact import CompactionRefused, compact
from broker_lite.pipeline.spark.jobs.export import records_of
from broker_lite.pipeline.spark.jobs.verify import verify
from tests.pipeline.support import T0, NewRecord, Partition

HOUR_MS = 3_600_000

Rows = list[tuple[str, int, int, bytes | None, bytes | None]]


def rows(spark: SparkSession, root: Path) -> Rows:
    records = records_of(spark, str(root), {"isolationLevel": "read_committed"})
    chosen = records.select("topic", "partition", "offset", "key", "value").collect()
    return sorted(
        (topic, partition, offset, key and bytes(key), None if value is None else bytes(value))
        for topic, partition, offset, key, value in chosen
    )


def record(key: bytes | None, value: bytes | None) -> NewRecord:
    return NewRecord(key, value, timestamp_ms=T0)


def write_log(root: Path) -> None:
    """Offsets in the order of the log; what is kept is said behind them."""
    with Partition(root, "compacted", 0) as log:
        log.append([record(b"a", b"0"), record(b"b", b"1"), record(None, b"2")], codec=4)
        log.append([record(b"c", b"3"), record(b"d", b"4")])  # 4 is kept
        log.roll()
        log.append([record(b"a", b"5")], producer_id=7, is_transactional=True)
        log.end_transaction(7, commit=False)  # 6: stays, its data was there
        log.append([record(b"b", b"7")], producer_id=8, is_transactional=True)  # kept
        log.end_transaction(8, commit=True)  # 8: stays
        log.append([record(b"a", None), record(b"c", b"10")])  # 9, the tombstone, and 10 are kept
        log.roll()
        log.append([record(b"e", b"11")])  # kept: the end of the round
        log.roll()
        log.append([record(b"a", b"12"), record(b"b", b"13")])  # not touched
    with Partition(root, "compacted", 1) as log:
        log.append([record(b"a", b"0")])  # goes: other partitions do not count
        log.append([record(b"a", b"1")])
        log.roll()
        log.append([record(b"z", b"2")])
    with Partition(root, "plain", 0) as log:
        log.append([record(b"a", b"0"), record(b"a", b"1")])
        log.roll()
        log.append([record(None, b"2")])


def test_survivors_s82_s84(spark: SparkSession, tmp_path: Path) -> None:
    write_log(tmp_path)
    before = rows(spark, tmp_path)
    groups = compact(spark, str(tmp_path), ["compacted"], now_ms=T0 + HOUR_MS)
    assert [(group.partition, group.round_end) for group in groups] == [(0, 12), (1, 2)]
    first = {4, 7, 9, 10, 11, 12, 13}
    kept = [
        row
        for row in before
        if row[0] == "plain" or (row[2] in first if row[1] == 0 else row[2] in (1, 2))
    ]
    assert rows(spark, tmp_path) == kept
    assert verify(spark, str(tmp_path), is_deep=True).findings == ()

    # The tombstone was given a day from the first time on. Then it is gone, as are the markers
    # whose transactions are; nothing else is, a second time.
    compact(spark, str(tmp_path), ["compacted"], now_ms=T0 + 30 * HOUR_MS)
    kept = [row for row in kept if row[:3] != ("compacted", 0, 9)]
    assert rows(spark, tmp_path) == kept
    assert verify(spark, str(tmp_path), is_deep=True).findings == ()


def test_a_log_without_anything_to_compact(spark: SparkSession, tmp_path: Path) -> None:
    with Partition(tmp_path) as log:
        log.append([record(b"a", b"0"), record(b"a", b"1")])
    assert compact(spark, str(tmp_path), ["topic"], now_ms=T0) == []
    assert len(rows(spark, tmp_path)) == 2


def test_a_directory_in_use_is_refused_s78(spark: SparkSession, tmp_path: Path) -> None:
    write_log(tmp_path)
    lock = DirectoryLock(tmp_path)
    with pytest.raises(WriteRefused, match="in use by another process"):
        compact(spark, str(tmp_path), ["compacted"], now_ms=T0)
    lock.release()


def test_only_local_directories(spark: SparkSession) -> None:
    with pytest.raises(CompactionRefused, match="only a local directory"):
        compact(spark, "memory://logs", ["compacted"], now_ms=T0)
