"""A Delta table that its own tools have worked on."""

import json
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from broker_lite.pipeline.spark.jobs.export_lake import export_lake
from broker_lite.pipeline.spark.jobs.exported import read_export
from broker_lite.pipeline.spark.lake.delta import DeltaLake
from broker_lite.pipeline.spark.lake.table import LakeError
from tests.pipeline.support import T0, Partition, numbered


def append_and_export(spark: SparkSession, folder: Path) -> int:
    with Partition(folder / "log", "orders") as partition:
        partition.append(numbered(10))
    log, target = str(folder / "log"), str(folder / "table")
    return export_lake(spark, log, target, table_format="delta").records


def test_after_a_compaction_and_a_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    target = str(tmp_path / "table")
    for _ in range(3):
        assert append_and_export(spark, tmp_path) == 10
    table = DeltaTable(target)
    assert table.optimize.compact()["numFilesRemoved"] == 3
    table.create_checkpoint()
    table.vacuum(0, dry_run=False, enforce_retention_duration=False)
    assert append_and_export(spark, tmp_path) == 10
    rows = read_export(spark, target, "delta").select("topic", "offset").collect()
    assert sorted(map(tuple, rows)) == [("orders", offset) for offset in range(40)]


def test_statistics_and_partitions(spark: SparkSession, tmp_path: Path) -> None:
    append_and_export(spark, tmp_path)
    commit = (tmp_path / "table" / "_delta_log" / f"{1:020}.json").read_text()
    (added,) = (json.loads(line)["add"] for line in commit.splitlines() if '"add"' in line)
    assert added["partitionValues"] == {"topic": "orders", "day": "2023-11-14"}
    told = json.loads(added["stats"])
    low, high = "2023-11-14T22:13:20.000Z", "2023-11-14T22:13:20.009Z"
    assert T0 == 1_700_000_000_000
    assert told["numRecords"] == 10
    limits = {"partition": 0, "timestampType": 0}
    assert told["minValues"] == {**limits, "offset": 0, "timestamp": low}
    assert told["maxValues"] == {**limits, "offset": 9, "timestamp": high}
    table = DeltaTable(str(tmp_path / "table"))
    assert table.to_pyarrow_dataset().count_rows() == 10


def test_a_table_that_hides_rows(tmp_path: Path) -> None:
    table = DeltaLake.open_or_create(str(tmp_path))
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["deletionVectors"],
        "writerFeatures": ["deletionVectors"],
    }
    next_commit = tmp_path / "_delta_log" / f"{1:020}.json"
    next_commit.write_text(json.dumps({"protocol": protocol}) + "\n")
    assert table.held() == []
    with pytest.raises(LakeError, match="uses deletionVectors"):
        DeltaLake.open(str(tmp_path)).held()
