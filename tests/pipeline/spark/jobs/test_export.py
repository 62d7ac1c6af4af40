"""An exported log, read again, is the log."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.testing import assertDataFrameEqual, assertSchemaEqual

from broker_lite.pipeline.spark.jobs.export import (
    ExportError,
    export,
    read_export,
    records_of,
)
from tests.pipeline.support import NewRecord, Partition, numbered


def write_log(root: Path) -> str:
    for topic, number in (("2024-01-01", 0), ("orders", 0), ("orders", 3)):
        with Partition(root, topic, number) as partition:
            partition.append([*numbered(20), NewRecord(), NewRecord(b"", b"")], codec=4)
            partition.append([NewRecord(b"k", b"v", ((b"h", None), (b"h", b"\xff")))])
            partition.append(numbered(2), log_append_time_ms=1_800_000_000_123)
    return str(root)


def test_the_round_trip(spark: SparkSession, tmp_path: Path) -> None:
    log = write_log(tmp_path / "log")
    target = tmp_path / "table"
    export(spark, log, str(target))
    exported, read = read_export(spark, str(target)), records_of(spark, log)
    assertSchemaEqual(exported.schema, read.schema)
    assert exported.count() == 75
    assert exported.exceptAll(read).count() == 0
    assert read.exceptAll(exported).count() == 0


def test_a_directory_for_each_partition(spark: SparkSession, tmp_path: Path) -> None:
    target = tmp_path / "table"
    export(spark, write_log(tmp_path / "log"), str(target))
    found = {str(path.parent.relative_to(target)) for path in target.rglob("*.parquet")}
    assert found == {
        "topic=2024-01-01/partition=0",
        "topic=orders/partition=0",
        "topic=orders/partition=3",
    }


def test_options_say_what_is_exported(spark: SparkSession, tmp_path: Path) -> None:
    target = str(tmp_path / "table")
    options = {"assign": '{"orders": [3]}', "endingOffsets": '{"orders": {"3": 7}}'}
    export(spark, write_log(tmp_path / "log"), target, options)
    rows = read_export(spark, target).select("topic", "partition", "offset").collect()
    assert sorted(map(tuple, rows)) == [("orders", 3, offset) for offset in range(7)]


def test_the_batches_are_a_table_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    log = write_log(tmp_path / "log")
    batches = str(tmp_path / "batches")
    export(spark, log, str(tmp_path / "table"), batches_target=batches)
    kept = spark.read.parquet(batches).select("baseOffset", "codec")
    view = spark.read.format("kafka_segments").option("view", "batches").load(log)
    assertDataFrameEqual(kept, view.select("baseOffset", "codec"))


def test_delta_has_to_be_installed(spark: SparkSession, tmp_path: Path) -> None:
    log = write_log(tmp_path / "log")
    with pytest.raises(ExportError, match="delta-spark is not installed"):
        export(spark, log, str(tmp_path / "table"), table_format="delta")
