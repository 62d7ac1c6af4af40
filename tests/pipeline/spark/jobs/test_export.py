"""An exported log, read again, is the log."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.testing import assertDataFrameEqual, assertSchemaEqual

from broker_lite.pipeline.spark.jobs import export as export_job
from broker_lite.pipeline.spark.jobs.export import (
    Exported,
    ExportError,
    export,
    read_export,
    records_of,
)
from broker_lite.pipeline.spark.jobs.exported import read_batches_of, read_kept
from tests.pipeline.mixed_log import ABORTED, BEHIND, OPEN, write_mixed_log
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
    found = {str(path.parent.relative_to(target)) for path in target.glob("topic=*/*/*.parquet")}
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


def test_neither_table_may_be_there(spark: SparkSession, tmp_path: Path) -> None:
    log, target = write_log(tmp_path / "log"), tmp_path / "table"
    (tmp_path / "batches").mkdir()
    with pytest.raises(ExportError, match="batches already exists"):
        export(spark, log, str(target), batches_target=str(tmp_path / "batches"))
    assert not target.exists()


def states(spark: SparkSession, target: str) -> dict[str | None, int]:
    """How many records of the topic with transactions are in each state."""
    rows = read_kept(spark, target).where("topic = 'orders'").groupBy("transaction").count()
    return {row.transaction: row["count"] for row in rows.collect()}


def test_f_14_all_records_with_the_ends_of_their_transactions(
    spark: SparkSession, tmp_path: Path
) -> None:
    log, target = str(write_mixed_log(tmp_path / "log")), str(tmp_path / "table")
    exported = export(spark, log, target)
    assert exported.records == read_export(spark, target).count() == 75
    assert states(spark, target) == {None: 61, "aborted": ABORTED, "open": OPEN}
    assert exported.notes == (
        "3 records of aborted transactions are in the table, with transaction = 'aborted';"
        " --committed leaves them out",
        "2 records of open transactions are in the table, with transaction = 'open';"
        " --committed leaves them out",
    )
    batches = read_batches_of(spark, target)
    assert batches is not None
    view = spark.read.format("kafka_segments").option("view", "batches").load(log)
    columns = [name for name in batches.columns if name != "transaction"]
    assertDataFrameEqual(batches.select(columns), view.select(columns))


def test_f_14_committed_records_only(spark: SparkSession, tmp_path: Path) -> None:
    log, target = str(write_mixed_log(tmp_path / "log")), str(tmp_path / "table")
    committed = {"isolationLevel": "read_committed"}
    exported = export(spark, log, target, committed)
    assertDataFrameEqual(read_export(spark, target), records_of(spark, log, committed))
    assert exported.notes == (
        f"{ABORTED} records of aborted transactions are left out",
        f"{OPEN} records of open transactions are left out",
        f"{BEHIND} records behind an open transaction are left out",
    )
    batches = read_batches_of(spark, target)
    assert batches is not None
    assert batches.where("controlType = 'ABORT' OR producerId IN (8, 9)").count() == 0


def test_the_marker_may_lie_behind_the_wanted_end(spark: SparkSession, tmp_path: Path) -> None:
    log, target = str(write_mixed_log(tmp_path / "log")), str(tmp_path / "table")
    wanted = {"assign": '{"orders": [2]}', "endingOffsets": '{"orders": {"2": 54}}'}
    assert export(spark, log, target, wanted).records == 54
    assert states(spark, target) == {None: 51, "aborted": ABORTED}


def test_r_32_header_keys_that_are_no_utf_8_are_counted(
    spark: SparkSession, tmp_path: Path
) -> None:
    with Partition(tmp_path / "log") as partition:
        partition.append([NewRecord(headers=((b"\xff", None), (b"h", b"\xff"), (b"\xfe", b"")))])
    exported = export(spark, str(tmp_path / "log"), str(tmp_path / "table"))
    assert exported.notes == ("2 header keys are no UTF-8: replaced, as Java does",)


def test_a_log_without_records(spark: SparkSession, tmp_path: Path) -> None:
    with Partition(tmp_path / "log"):
        pass
    assert export(spark, str(tmp_path / "log"), str(tmp_path / "table")) == Exported(0, ())


def test_a_table_that_exists(spark: SparkSession, tmp_path: Path) -> None:
    log, target = write_log(tmp_path / "log"), str(tmp_path / "table")
    export(spark, log, target)
    with pytest.raises(ExportError, match="already exists"):
        export(spark, log, target)
    assert export(spark, log, target, mode="ignore").records is None
    assert export(spark, log, target, mode="overwrite").records == 75
    batches = read_batches_of(spark, target)
    assert batches is not None
    assert batches.count() == 9


def test_only_some_columns(spark: SparkSession, tmp_path: Path) -> None:
    target = str(tmp_path / "table")
    columns = {"Columns": "topic,partition,key"}
    exported = export(spark, write_log(tmp_path / "log"), target, columns)
    assert exported.notes == ("only some columns: without _batches, import makes new batches",)
    assert read_batches_of(spark, target) is None


def test_very_many_hidden_batches_are_joined_by_a_sort(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_job, "BROADCAST_MAX", 0)
    log, target = str(write_mixed_log(tmp_path / "log")), str(tmp_path / "table")
    export(spark, log, target)
    assert states(spark, target) == {None: 61, "aborted": ABORTED, "open": OPEN}
