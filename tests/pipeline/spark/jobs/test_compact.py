"""A compacted log has the survivors that a broker's cleaner would leave.

Also tests: broker_lite.pipeline.spark.jobs.compaction_task.
"""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from broker_lite.log.directory.data_directory import DirectoryLock
from broker_lite.pipeline.files.log_root import WriteRefused
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


def test_the_compaction_that_was_observed_s92(spark: SparkSession, tmp_path: Path) -> None:
    """Kafka's own cleaner left these offsets, sizes and flags, in a first and a second pass."""
    retention_ms = 3000
    with Partition(tmp_path) as log:
        log.append([record(b"k", b"1")], producer_id=4000)
        log.append([record(b"a", b"1"), record(b"b", b"1")])
        log.roll()
        log.append([record(b"k", b"2")])
        log.append([record(b"a", None)])
        log.roll()
        log.append([record(b"b", b"2")])
        log.append([record(b"z", b"1")])
        log.roll()
        log.append([record(b"z", b"2")])
        log.append([record(b"y", b"1")])
    before = batch_rows(spark, tmp_path)

    compact(spark, str(tmp_path), ["topic"], now_ms=T0, delete_retention_ms=retention_ms)
    first = batch_rows(spark, tmp_path)
    assert [offset for offset, *_ in first] == [0, 3, 4, 5, 6, 7, 8]
    assert first[0] == (0, 61, 0, T0)
    assert first[1] == before[2] == (3, 70, 1, T0)
    assert first[2][2:] == (1, T0 + retention_ms)  # the delete horizon is the base timestamp

    with Partition(tmp_path) as log:
        log.roll()
        for value in (b"1", b"2"):
            log.append([record(b"x", value)])
        log.roll()
        log.append([record(b"x", b"3")])
    now_ms = T0 + retention_ms
    compact(spark, str(tmp_path), ["topic"], now_ms=now_ms, delete_retention_ms=retention_ms)
    second = [offset for offset, *_ in batch_rows(spark, tmp_path)]
    assert second == [0, 3, 5, 7, 8, 10, 11]


def batch_rows(spark: SparkSession, root: Path) -> list[tuple[int, int, int, int]]:
    """Base offset, size, records and base timestamp (that of the record, when it is empty)."""
    view = spark.read.format("kafka_segments").option("view", "batches").load(str(root))
    first_ms = F.unix_millis(F.coalesce("baseTimestamp", "maxTimestamp"))
    rows = view.select("baseOffset", "sizeInBytes", "recordCount", first_ms).collect()
    return sorted((row[0], row[1], row[2], row[3]) for row in rows)
