"""Queries over packed batches, several of them in a task, beside the same queries by rows."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.window import Window

from tests.pipeline.spark.unpruned import UNPRUNED, load, plan_of
from tests.pipeline.support import NewRecord, Partition

COUNT = 40_000
pytestmark = pytest.mark.usefixtures("unpruned")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One partition: the largest values come first, the smallest last."""
    root = tmp_path_factory.mktemp("logs")
    with Partition(root) as partition:
        for first in range(0, COUNT, 1000):
            partition.append(_record(COUNT - number) for number in range(first, first + 1000))
    return root


def _record(number: int) -> NewRecord:
    text = b"%06d" % number
    value = None if number % 7 == 0 else text * (number % 9)
    return NewRecord(text, value, ((b"name", text), (text, None if number % 5 else b"")))


@pytest.fixture
def both(spark: SparkSession, root: Path) -> list[DataFrame]:
    """All records, by columns and by rows."""
    forms = ("kafka_segments", UNPRUNED)
    rows = [load(spark, root, form, includeHeaders="true") for form in forms]
    assert [one.rdd.getNumPartitions() for one in rows] == [1, 1]
    return rows


def batches_of(frame: DataFrame) -> int:
    """How many columnar batches a query had; it has been executed."""
    plan = frame._jdf.queryExecution().executedPlan()
    while plan.nodeName() != "ColumnarToRow":
        plan = plan.children().apply(0)
    return int(plan.metrics().apply("numInputBatches").value())


def test_batches_come_by_columns(both: list[DataFrame]) -> None:
    by_columns, by_rows = (rows.select("key", "value", "headers") for rows in both)
    assert "ColumnarToRow" in plan_of(by_columns)
    assert "ColumnarToRow" not in plan_of(by_rows)
    assert by_columns.collect() == by_rows.collect()
    assert batches_of(by_columns) > 5


def test_values_outlive_their_batch(both: list[DataFrame]) -> None:
    """What is kept while further batches come: the largest, the first, lists, rows before."""
    name = F.col("headers")[0]["value"]
    order = Window.partitionBy("topic").orderBy("offset")
    found = []
    for rows in both:
        asked = [
            rows.agg(
                F.max("key"), F.min("key"), F.first("topic"), F.max(F.col("key").cast("string"))
            ),
            rows.agg(
                F.max_by("headers", "offset"), F.min_by("headers", "offset"), F.first("headers")
            ),
            rows.agg(F.max(name), F.min(name), F.sort_array(F.collect_set(F.length("value")))),
            rows.agg(F.hash(F.collect_list("headers")), F.hash(F.collect_list("key"))),
            rows.groupBy((F.col("offset") % 5).alias("part"))
            .agg(F.max("value"), F.min("key"))
            .sort("part"),
            rows.select(F.lag("headers", 20_000).over(order).alias("before")).agg(
                F.sum(F.hash("before"))
            ),
            rows.orderBy("key").select("headers", "value").limit(10),
            rows.orderBy(F.desc("value"), "offset").select("offset", "value").limit(10),
        ]
        found.append([one.collect() for one in asked] + [rows.tail(3)])
    assert found[0] == found[1]


def lengths(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pa.record_batch({"bytes": pc.binary_length(batch.column("value"))})


def test_functions_in_python_behind_it(both: list[DataFrame]) -> None:
    """They get rows from another thread, and may leave before the end."""
    slow = F.udf(lambda value: None if value is None else len(value), "int")
    quick = F.udf(slow.func, "int", useArrow=True)
    found = []
    for rows in both:
        cached = rows.select("value", "topic").cache()
        asked = [
            rows.select(slow("value").alias("bytes")),
            rows.select(quick("value").alias("bytes")),
            rows.select("value").mapInArrow(lengths, "bytes int"),
            rows.where(slow("key") > 1).select(quick("value").alias("bytes")),
            cached.select(quick("value").alias("bytes")),
        ]
        found.append([one.agg(F.sum("bytes"), F.count("*")).collect() for one in asked])
        assert [len(one.limit(3).collect()) for one in asked] == [3] * len(asked)
        cached.unpersist()
    assert found[0] == found[1]


def test_to_pandas(both: list[DataFrame]) -> None:
    by_columns, by_rows = (rows.select("key", "offset", "timestamp").toPandas() for rows in both)
    assert by_columns.to_dict("list") == by_rows.to_dict("list")
    assert len(by_columns) == COUNT
