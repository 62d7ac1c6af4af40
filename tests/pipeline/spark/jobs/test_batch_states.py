"""F-14, S-17: how transactions ended, and where a reader of committed records stops."""

from pathlib import Path

from pyspark.sql import SparkSession

from broker_lite.pipeline.spark.jobs.batch_states import (
    is_abort,
    is_hidden,
    partition_ends,
    with_states,
)
from tests.pipeline.mixed_log import write_mixed_log


def test_f_14_each_batch_has_the_end_of_its_transaction(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = str(write_mixed_log(tmp_path / "log"))
    reader = spark.read.format("kafka_segments").option("subscribe", "orders")
    batches = with_states(reader.option("view", "batches").load(root))
    columns = ("producerId", "transaction", is_hidden().alias("hidden"), is_abort().alias("abort"))
    rows = batches.where("isTransactional").orderBy("baseOffset").select(*columns).collect()
    assert list(map(tuple, rows)) == [
        (7, "committed", False, False),
        (8, "aborted", True, False),
        (7, "committed", False, False),
        (8, None, False, True),
        (7, None, False, False),
        (9, "open", True, False),
    ]
    assert batches.where("NOT isTransactional AND transaction IS NOT NULL").count() == 0


def test_f_14_the_end_is_in_front_of_an_open_transaction(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = str(write_mixed_log(tmp_path / "log"))
    batches = with_states(spark.read.format("kafka_segments").option("view", "batches").load(root))
    ends = {}
    for is_committed_only in (False, True):
        rows = partition_ends(batches, is_committed_only=is_committed_only).collect()
        ends[is_committed_only] = {row.topic: row.end for row in rows}
    assert ends[False] == {"orders": 68, "appended": 6, "cleaned": 45}
    assert ends[True] == {**ends[False], "orders": 62}
