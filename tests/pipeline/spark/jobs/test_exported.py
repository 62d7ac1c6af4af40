"""The tables of an export, also those that an older release wrote."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from broker_lite.pipeline.spark.jobs.exported import (
    KEPT_COLUMNS,
    is_there,
    read_batches_of,
    read_export,
    read_kept,
)


def test_an_export_of_an_older_release(spark: SparkSession, tmp_path: Path) -> None:
    target = str(tmp_path / "table")
    rows = spark.sql(
        "SELECT binary('k') key, binary('v') value, 't' topic, 0 partition, 5L offset,"
        " timestamp_millis(7) timestamp, 0 timestampType,"
        " CAST(NULL AS array<struct<key: string, value: binary>>) headers"
    )
    rows.write.partitionBy("topic", "partition").parquet(target)
    (row,) = read_kept(spark, target).collect()
    assert (row.offset, [row[name] for name in KEPT_COLUMNS]) == (5, [None, None])
    assert read_export(spark, target).columns == rows.columns
    assert read_batches_of(spark, target) is None


def test_a_table_that_there_is_not(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no table"):
        read_kept(spark, str(tmp_path / "missing"))
    with pytest.raises(FileNotFoundError, match="there is no file of a table"):
        read_kept(spark, str(tmp_path))
    assert is_there(spark, str(tmp_path))
