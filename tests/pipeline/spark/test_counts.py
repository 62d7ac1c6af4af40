from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from broker_lite.pipeline.read.counting import MEASURES
from broker_lite.pipeline.read.option_values import OptionError
from broker_lite.pipeline.spark.counts import counts, options_of
from broker_lite.record.murmur2 import partition_of_key
from tests.pipeline.mixed_log import write_mixed_log
from tests.pipeline.support import T0, Partition, numbered

BUCKET_MS = 10


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Transactions, gaps, both timestamp types, and several splits of each codec."""
    root = write_mixed_log(tmp_path_factory.mktemp("logs"))
    for number in range(2):
        with Partition(root, "codecs", number, segment_bytes=9000) as partition:
            for codec in range(5):
                partition.append(numbered(100, first=codec), codec=codec)
                partition.append(numbered(30), codec=codec, log_append_time_ms=T0 + codec)
    return root


def rows_of(spark: SparkSession, root: Path, **options: str) -> DataFrame:
    rows = spark.read.format("kafka_segments").options(**options).load(str(root))
    ms = F.unix_millis("timestamp")
    hashed = F.udf(lambda key: None if key is None else partition_of_key(bytes(key), 3), "int")
    return rows.withColumns(
        {
            "timeBucket": F.timestamp_millis(ms - F.pmod(ms, F.lit(BUCKET_MS))),
            "keyHash": hashed("key"),
        }
    )


def spark_measures() -> list[Column]:
    """What Spark itself makes of the rows, in the order of MEASURES."""
    return [
        F.count("*").alias("records"),
        F.count("key").alias("keys"),
        F.coalesce(F.sum(F.octet_length("key")), F.lit(0)).alias("keyBytes"),
        F.count("value").alias("values"),
        F.coalesce(F.sum(F.octet_length("value")), F.lit(0)).alias("valueBytes"),
        F.min("offset").alias("minOffset"),
        F.max("offset").alias("maxOffset"),
        F.min("timestamp").alias("minTimestamp"),
        F.max("timestamp").alias("maxTimestamp"),
    ]


def told(frame: DataFrame) -> list[Any]:
    return sorted(map(tuple, frame.collect()), key=str)


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
@pytest.mark.parametrize(
    "by", [(), ("topic", "partition"), ("timeBucket",), ("keyHash", "topic", "timeBucket")], ids=str
)
def test_counts_are_those_of_spark(
    spark: SparkSession, root: Path, by: tuple[str, ...], isolation: str
) -> None:
    options = {"isolationLevel": isolation, "maxSplitBytes": "9000"}
    sizes = {
        **({"bucket_ms": BUCKET_MS} if "timeBucket" in by else {}),
        **({"key_hashes": 3} if "keyHash" in by else {}),
    }
    found = counts(spark, str(root), by, options=options, **sizes)
    assert found.columns == [*by, *MEASURES]
    assert told(found) == told(rows_of(spark, root, **options).groupBy(*by).agg(*spark_measures()))


def test_headers_give_the_same(spark: SparkSession, root: Path) -> None:
    found = counts(spark, str(root), ["topic"], ["records", "maxOffset"])
    rows = rows_of(spark, root).groupBy("topic").agg(F.count("*"), F.max("offset"))
    assert told(found) == told(rows)


def test_it_is_a_data_frame_as_any_other(spark: SparkSession, root: Path) -> None:
    found = counts(spark, str(root), options={"subscribe": "codecs"})
    rows = found.where("partition = 1").selectExpr("records", "valueBytes / records", "maxOffset")
    assert rows.collect() == [(650, 20.0, 649)]
    buckets = counts(spark, str(root), ["timeBucket"], ["records"], bucket_ms=86_400_000)
    assert isinstance(buckets.first()[0], datetime)  # type: ignore[index]


def test_nothing_to_count(spark: SparkSession, tmp_path: Path) -> None:
    assert counts(spark, str(tmp_path)).collect() == []
    (row,) = counts(spark, str(tmp_path), []).collect()
    assert tuple(row) == (0, 0, 0, 0, 0, None, None, None, None)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"by": ["topics"]}, "countBy='topics'"),
        ({"by": ["timeBucket"]}, "bucketMs: needed"),
        ({"key_hashes": 4}, "only for a group by keyHash"),
        ({"measures": ["rows"]}, "measures='rows'"),
        ({"options": {"view": "batches"}}, "view: records are counted"),
        ({"options": {"subcribe": "a"}}, "only subscribe"),
    ],
)
def test_what_is_refused_at_once(
    spark: SparkSession, root: Path, arguments: dict[str, Any], text: str
) -> None:
    with pytest.raises(OptionError, match=text):
        counts(spark, str(root), **arguments)


def test_options_of_both_kinds() -> None:
    options = options_of({"path": "/", "COUNTBY": "topic", "maxSplitBytes": "1m"})
    assert options.counting is not None
    assert (options.counting.by, options.max_split_bytes) == (("topic",), 1 << 20)
