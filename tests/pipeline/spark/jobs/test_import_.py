"""Import: what was exported comes back as logs, at the same offsets or at new ones."""

import argparse
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.testing import assertDataFrameEqual

from broker_lite.commands.spark import import_records as spark_import
from broker_lite.commands.spark.broker_topics import make_topics
from broker_lite.pipeline.spark.jobs.export import export, records_of
from broker_lite.pipeline.spark.jobs.exported import read_kept
from broker_lite.pipeline.spark.jobs.import_ import import_records, import_table
from broker_lite.pipeline.spark.jobs.verify import verify
from broker_lite.record.builder import BatchBuilder
from tests.pipeline.mixed_log import ABORTED, OPEN, write_mixed_log
from tests.pipeline.support import (
    T0,
    NewRecord,
    Partition,
    legacy_message,
    numbered,
    write_segment,
)


def fill(root: Path) -> None:
    """Two partitions, one of which begins in the midst and has gaps."""
    for number in range(2):
        with Partition(root, partition=number) as partition:
            for first in range(0, 60, 6):
                partition.append(numbered(6, first=first), codec=number)
                partition.append([NewRecord(None, b"", ((b"h", None), (b"i", b"v")))])


def test_a_round_trip_over_a_table(spark: SparkSession, tmp_path: Path) -> None:
    fill(tmp_path / "logs")
    export(spark, str(tmp_path / "logs"), str(tmp_path / "table"))
    import_table(spark, str(tmp_path / "table"), str(tmp_path / "new"), {"compression": "lz4"})
    assertDataFrameEqual(
        records_of(spark, str(tmp_path / "new")), records_of(spark, str(tmp_path / "logs"))
    )


def test_gaps_stay_unless_offsets_are_new(spark: SparkSession, tmp_path: Path) -> None:
    fill(tmp_path / "logs")
    found = records_of(spark, str(tmp_path / "logs")).where("offset >= 10 and offset % 3 != 0")
    import_records(found, str(tmp_path / "kept"))
    assertDataFrameEqual(records_of(spark, str(tmp_path / "kept")), found)
    import_records(found, str(tmp_path / "new"), {"keepOffsets": "false"})
    moved = records_of(spark, str(tmp_path / "new"))
    assertDataFrameEqual(moved.drop("offset"), found.drop("offset"))
    ends = moved.groupBy("partition").agg((f.max("offset") + 1 - f.count("*")).alias("gaps"))
    assert [row.gaps for row in ends.collect()] == [0, 0]


def test_a_thread_of_the_program_can_import(spark: SparkSession, tmp_path: Path) -> None:
    """It has no active session, without which Spark does not find our format for a write."""
    fill(tmp_path / "logs")
    found = records_of(spark, str(tmp_path / "logs"))
    with ThreadPoolExecutor(1) as pool:
        pool.submit(import_records, found, str(tmp_path / "new")).result()
    assertDataFrameEqual(records_of(spark, str(tmp_path / "new")), found)


def test_the_command(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(tmp_path / "logs")
    table, target = str(tmp_path / "table"), str(tmp_path / "new")
    export(spark, str(tmp_path / "logs"), table, {"startingOffsets": "earliest"})
    parser = argparse.ArgumentParser()
    spark_import.add_arguments(parser)
    words = [table, target, "--new-offsets", "--option", "compression=lz4"]
    assert spark_import.run(spark, parser.parse_args(words)) == 0
    assert capsys.readouterr().out == f"Imported {table} into {target}.\n"
    assertDataFrameEqual(records_of(spark, target), records_of(spark, str(tmp_path / "logs")))


def both_ways(left: DataFrame, right: DataFrame) -> tuple[int, int]:
    return left.exceptAll(right).count(), right.exceptAll(left).count()


def view_of(spark: SparkSession, path: object, view: str, *left_out: str) -> DataFrame:
    reader = spark.read.format("kafka_segments").options(view=view, includeHeaders="true")
    return reader.load(str(path)).drop(*left_out)


# A file of its own, and other bytes of records with LogAppendTime, whose own times nobody sees.
_PLACES = ("segment", "position", "sizeInBytes", "crc")


@pytest.mark.parametrize("options", [{}, {"segmentBytes": "3k"}], ids=["one segment", "some"])
def test_a_log_with_everything_is_the_same_again(
    spark: SparkSession, tmp_path: Path, options: dict[str, str]
) -> None:
    log, table, new = write_mixed_log(tmp_path / "log"), str(tmp_path / "table"), tmp_path / "new"
    export(spark, str(log), table)
    assert import_table(spark, table, str(new), options) == (
        "1 transactions are open: readers of committed records stop at the first",
    )
    assert both_ways(view_of(spark, log, "records"), view_of(spark, new, "records")) == (0, 0)
    batches = [view_of(spark, root, "batches", *_PLACES) for root in (log, new)]
    assert both_ways(*batches) == (0, 0)
    committed = {"isolationLevel": "read_committed"}
    records = [records_of(spark, str(root), committed) for root in (log, new)]
    assert both_ways(*records) == (0, 0)
    assert verify(spark, str(new), is_deep=True).findings == ()
    assert (new / "cleaner-offset-checkpoint").read_text() == "0\n1\ncleaned 0 45\n"
    checkpoint = new / "orders-2" / "leader-epoch-checkpoint"
    assert checkpoint.read_text() == (log / "orders-2" / "leader-epoch-checkpoint").read_text()


def test_a_table_of_committed_records(spark: SparkSession, tmp_path: Path) -> None:
    log, table, new = write_mixed_log(tmp_path / "log"), str(tmp_path / "table"), tmp_path / "new"
    committed = {"isolationLevel": "read_committed"}
    export(spark, str(log), table, committed)
    assert import_table(spark, table, str(new)) == ()
    expected = records_of(spark, str(log), committed)
    assert both_ways(records_of(spark, str(new)), expected) == (0, 0)
    assert verify(spark, str(new), is_deep=True).findings == ()


@pytest.mark.parametrize("name", ["keepOffsets", "keepBatches"])
def test_what_is_not_kept_is_told(spark: SparkSession, tmp_path: Path, name: str) -> None:
    log, table, new = write_mixed_log(tmp_path / "log"), str(tmp_path / "table"), tmp_path / "new"
    export(spark, str(log), table)
    why = {"keepOffsets": "the records get new offsets", "keepBatches": "keepBatches=false"}[name]
    assert import_table(spark, table, str(new), {name: "false"}) == (
        f"{ABORTED} records of aborted transactions are left out",
        f"{OPEN} records of open transactions are left out",
        "6 timestamps of type LogAppendTime become CreateTime",
        f"not kept: producer ids and sequences of 8 batches; {why}",
        f"not kept: 2 control batches, as markers of transactions; {why}",
        f"not kept: leader epochs of 6 batches; {why}",
        f"not kept: delete horizons of 1 batches; {why}",
    )
    assert records_of(spark, str(new)).count() == 75 - ABORTED - OPEN
    assert verify(spark, str(new), is_deep=True).findings == ()


def test_a_brokers_directory_has_ids_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    """S-76: ids of another cluster would be taken for those of the broker's own producers."""
    log, table, data = write_mixed_log(tmp_path / "log"), str(tmp_path / "table"), tmp_path / "data"
    export(spark, str(log), table, {"subscribe": "orders"})
    make_topics(data, {"orders": 3}, {})
    notes = import_table(spark, table, str(data))
    assert "a broker's producer ids and leader epochs are its own" in notes[2]
    assert view_of(spark, data, "batches").where("producerId >= 0").count() == 0
    assert verify(spark, str(data), {"subscribe": "orders"}).findings == ()
    rows = read_kept(spark, table).withColumn("batch", f.lit(None).cast("string"))
    with pytest.raises(PySparkException, match="so keepBatches=false"):
        import_records(rows, str(data), {"keepBatches": "true"})


def test_s_63_epochs_that_a_log_has_left_behind_are_told(
    spark: SparkSession, tmp_path: Path
) -> None:
    fill(tmp_path / "logs")
    table, new = str(tmp_path / "table"), tmp_path / "new"
    export(spark, str(tmp_path / "logs"), table)
    for partition, epoch in ((0, 5), (1, 0)):
        directory = new / f"topic-{partition}"
        directory.mkdir(parents=True)
        (directory / "leader-epoch-checkpoint").write_text(f"0\n1\n{epoch} 0\n")
    batches = view_of(spark, tmp_path / "logs", "batches").where("partition = 0").count()
    assert import_table(spark, table, str(new)) == (
        f"not kept: leader epochs of {batches} batches; their logs had later ones already",
    )
    found = view_of(spark, new, "batches").groupBy("partition").agg(f.min("partitionLeaderEpoch"))
    assert sorted(map(tuple, found.collect())) == [(0, 5), (1, 0)]
    assert verify(spark, str(new), is_deep=True).findings == ()


def test_a_table_without_batches(spark: SparkSession, tmp_path: Path) -> None:
    log, table, new = write_mixed_log(tmp_path / "log"), tmp_path / "table", tmp_path / "new"
    export(spark, str(log), str(table))
    shutil.rmtree(table / "_batches")
    notes = import_table(spark, str(table), str(new))
    assert notes[-1] == (
        "the table has no batches: no producer ids, sequences, leader epochs and markers for its"
        " records"
    )
    committed = records_of(spark, str(log)).count() - ABORTED - OPEN
    assert records_of(spark, str(new)).count() == committed


def test_r_60_old_messages_become_batches_of_format_2(spark: SparkSession, tmp_path: Path) -> None:
    data = legacy_message(0, b"k", b"v") + legacy_message(1, None, b"w", magic=0)
    log = write_segment(tmp_path / "log", data).parents[1]
    export(spark, str(log), str(tmp_path / "table"))
    assert import_table(spark, str(tmp_path / "table"), str(tmp_path / "new")) == (
        "2 batches of message format 0 or 1 are written in format 2",
    )
    records = [view_of(spark, root, "records", "timestampType") for root in (log, tmp_path / "new")]
    assert both_ways(*records) == (0, 0)


def test_r_42_control_batches_of_unknown_type_are_told(spark: SparkSession, tmp_path: Path) -> None:
    builder = BatchBuilder(is_control=True, leader_epoch=0)
    builder.append(T0, b"\0\0\0\x63", b"")
    log = write_segment(tmp_path / "log", builder.build()).parents[1]
    export(spark, str(log), str(tmp_path / "table"))
    assert import_table(spark, str(tmp_path / "table"), str(tmp_path / "new")) == (
        "1 control batches of unknown type are left out",
    )


def test_f14_transactions_whose_markers_were_not_exported_are_told(
    spark: SparkSession, tmp_path: Path
) -> None:
    log, target = str(write_mixed_log(tmp_path / "log")), str(tmp_path / "table")
    wanted = {"assign": '{"orders": [2]}', "endingOffsets": '{"orders": {"2": 54}}'}
    export(spark, log, target, wanted)
    (told,) = import_table(spark, target, str(tmp_path / "copy"))
    assert told.endswith(" transactions are open: readers of committed records stop at the first")
