"""Import: what was exported comes back as logs, at the same offsets or at new ones."""

import argparse
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.testing import assertDataFrameEqual

from broker_lite.commands.spark import import_records as spark_import
from broker_lite.pipeline.spark.jobs.export import export, records_of
from broker_lite.pipeline.spark.jobs.import_ import import_records, import_table
from tests.pipeline.support import NewRecord, Partition, numbered


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
