import logging
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from broker_lite.pipeline.spark import pruned_columns
from broker_lite.pipeline.spark.pruned_columns import (
    PRUNING,
    is_wanted,
    jars_with_pruning,
    prune_columns,
    pruning_jar,
)
from broker_lite.pipeline.views.record_columns import ROWS_MAX
from tests.pipeline.registry.avro_messages import encoded, field, record, stored
from tests.pipeline.spark.unpruned import UNPRUNED, load, plan_of
from tests.pipeline.support import T0, NewRecord, Partition, damage, numbered

ODD = [
    NewRecord(None, None),
    NewRecord(b"", b""),
    NewRecord(b"k", None, ((b"name", b"value"), (b"name", None), (b"", b""))),
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every codec, both timestamp types, aborted and open transactions, odd records."""
    root = tmp_path_factory.mktemp("logs")
    for topic in ("orders", "users"):
        for number in range(2):
            with Partition(root, topic, number, segment_bytes=20_000) as partition:
                partition.append(ODD, log_append_time_ms=T0 + 5 if number else None)
                for codec in range(5):
                    partition.append(numbered(200, first=codec), codec=codec)
                partition.append(numbered(50), producer_id=1, is_transactional=True)
                partition.end_transaction(1, commit=number == 0)
                partition.append(numbered(300, first=7), codec=4, log_append_time_ms=T0 + 9)
                partition.append(numbered(5), producer_id=2, is_transactional=True)
    return root


pytestmark = pytest.mark.usefixtures("unpruned")

OPTIONS = [
    {},
    {"includeHeaders": "true"},
    {"includeHeaders": "true", "maxSplitBytes": "9k", "isolationLevel": "read_committed"},
    {"columns": "offset,batchOffset,KEY"},
    {"minPartitions": "13", "subscribe": "users"},
    {"view": "batches"},
    {"view": "index"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options) or "plain")
def test_the_rows_are_those_of_the_reader_of_all_columns(
    spark: SparkSession, root: Path, options: dict[str, str]
) -> None:
    ours, theirs = load(spark, root, **options), load(spark, root, UNPRUNED, **options)
    assert ours.schema == theirs.schema
    assert ours.exceptAll(theirs).count() == theirs.exceptAll(ours).count() == 0
    assert ours.count() == theirs.count() > 0


def aggregates(rows: DataFrame) -> list[list[object]]:
    """Queries that need one column, several, none; with filters, sorts and limits."""
    queries = [
        rows.agg(F.count("*")),
        rows.agg(F.sum("offset"), F.sum(F.octet_length("value")), F.count("key")),
        rows.groupBy("topic", "partition").agg(F.count("*"), F.max("timestamp"), F.min("offset")),
        rows.groupBy("timestampType", F.octet_length("key")).count(),
        rows.where("offset % 3 = 1 AND topic = 'users'").agg(F.count_distinct("key")),
        rows.where("key IS NULL").select("offset", "value"),
        rows.select(F.explode_outer("headers.key").alias("name")).groupBy("name").count(),
        rows.select("topic", "headers").where("headers[0].key = 'name'"),
        rows.orderBy(F.desc("offset"), "topic", "partition").select("offset").limit(7),
        rows.select("offset", "offset", F.col("partition") + 1),
        rows.alias("a").join(rows.alias("b"), ["topic", "partition", "offset"]).agg(F.count("*")),
    ]
    return [sorted(query.collect(), key=str) for query in queries]


@pytest.mark.parametrize("pushdown", ["false", "true"])
def test_queries_give_what_all_columns_give(spark: SparkSession, root: Path, pushdown: str) -> None:
    options = {"includeHeaders": "true", "pushdown": pushdown, "maxSplitBytes": "30k"}
    found = aggregates(load(spark, root, **options))
    assert found == aggregates(load(spark, root, UNPRUNED, **options))
    assert all(found)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (lambda rows: rows.agg(F.sum("offset")), "struct<offset:bigint>"),
        (lambda rows: rows.select("value", "topic").limit(3), "struct<value:binary,topic:string>"),
        (
            lambda rows: rows.where("partition = 1").select("key"),
            "struct<key:binary,partition:int>",
        ),
        (lambda rows: rows.agg(F.count("*")), "struct<partition:int>"),
        (
            lambda rows: rows.select("headers.key"),
            "struct<headers:array<struct<key:string,value:binary>>>",
        ),
    ],
    ids=["one", "two", "filtered", "none", "nested"],
)
def test_only_the_needed_columns_are_read(
    spark: SparkSession, root: Path, query: object, expected: str
) -> None:
    frame = load(spark, root, includeHeaders="true")
    assert callable(query)
    assert f"ReadSchema: {expected}\n" in plan_of(query(frame))


def test_filters_still_choose_splits(spark: SparkSession, root: Path) -> None:
    options = {"pushdown": "true", "maxSplitBytes": "9k"}
    rows = load(spark, root, **options).where("topic = 'users' AND partition = 1").select("key")
    assert rows.rdd.getNumPartitions() < load(spark, root, **options).rdd.getNumPartitions() / 2
    assert rows.count() == 3 + 1000 + 50 + 300 + 5


def test_a_schema_of_the_user_is_pruned_too(spark: SparkSession, root: Path) -> None:
    reader = spark.read.format("kafka_segments").schema("offset bigint, value binary, topic string")
    rows = reader.load(str(root)).groupBy("topic").agg(F.max("offset"))
    assert "ReadSchema: struct<offset:bigint,topic:string>\n" in plan_of(rows)
    assert sorted(rows.collect()) == [("orders", 1358), ("users", 1358)]


def test_nothing_to_read(spark: SparkSession, tmp_path: Path) -> None:
    assert load(spark, tmp_path).count() == 0
    assert load(spark, tmp_path).select("offset").collect() == []


def test_a_read_that_ends_early(spark: SparkSession, root: Path) -> None:
    for _ in range(5):
        assert len(load(spark, root).select("value").take(2)) == 2


def test_several_batches_of_one_task(spark: SparkSession, tmp_path: Path) -> None:
    schema = record(field("id", "long"), field("name", "string"))
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "7.avsc").write_text(stored(schema).text)
    count, headers = 2 * ROWS_MAX + 1000, ((b"name", b"value"), (b"", None))
    with Partition(tmp_path / "logs") as partition:
        for first in range(0, count, 1000):
            partition.append(
                NewRecord(b"k%d" % number, encoded(schema, {"id": number, "name": "n"}, 7), headers)
                for number in range(first, min(first + 1000, count))
            )
    decoded = {"value.format": "avro", "value.schema.id": "7", "includeHeaders": "true"}
    options = {"schema.registry": str(tmp_path / "schemas"), **decoded}
    rows = load(spark, tmp_path / "logs", **options)
    assert rows.rdd.getNumPartitions() == 1
    by_rows = load(spark, tmp_path / "logs", UNPRUNED, **options)
    queries = ["value.id", "value", "headers", "headers[0].value", "key", "topic"]
    for query in queries:
        found, expected = (one.selectExpr(f"hash({query}) AS hashed") for one in (rows, by_rows))
        total = F.sum("hashed")
        assert found.agg(total).collect() == expected.agg(total).collect()
    assert rows.agg(F.sum("value.id")).collect() == [(count * (count - 1) // 2,)]


def test_damage_fails_the_query(spark: SparkSession, tmp_path: Path) -> None:
    with Partition(tmp_path) as partition:
        partition.append(numbered(10))
        partition.append(numbered(10))
    damage(next(tmp_path.rglob("*.log")), 100)
    with pytest.raises(Exception, match="wrong checksum"):
        load(spark, tmp_path).agg(F.sum("offset")).collect()
    assert load(spark, tmp_path, onCorrupt="skip").agg(F.sum("offset")).collect() == [(145,)]


# The jar.


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache of the user; a session that looks as if it had no jar."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(pruned_columns, "_is_there", lambda _: False)
    return tmp_path / "cache"


def test_the_jar_is_made_once(spark: SparkSession, cache: Path) -> None:
    assert jars_with_pruning("") == ""
    assert prune_columns(spark)
    jar = pruning_jar()
    assert jar.is_relative_to(cache)
    made = jar.read_bytes()
    assert prune_columns(spark)
    assert jar.read_bytes() == made
    with zipfile.ZipFile(jar) as file:
        assert {"brokerlite/spark/KafkaSegments.class", pruned_columns._SERVICE} <= set(
            file.namelist()
        )
    assert jars_with_pruning("a.jar,b.jar") == f"a.jar,b.jar,{jar}"


def test_a_spark_that_it_does_not_fit(
    spark: SparkSession,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    source = cache.parent / "KafkaSegments.java"
    source.write_text("public class KafkaSegments extends not.in.this.Spark {}")
    monkeypatch.setattr(pruned_columns, "_SOURCES", (source,))
    with caplog.at_level(logging.WARNING, "broker_lite.pipeline"):
        assert not prune_columns(spark)
    assert "all columns of kafka_segments, by rows reason=" in caplog.text
    assert not pruning_jar().exists()


def test_a_cache_that_cannot_be_written(
    spark: SparkSession, cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache.write_text("a file")
    assert not prune_columns(spark)
    assert "all columns of kafka_segments, by rows reason=" in caplog.text


def test_the_setting() -> None:
    assert is_wanted({})
    assert not is_wanted({PRUNING: "False"})


@pytest.mark.slow
def test_a_session_with_and_without_it(root: Path, tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from broker_lite.pipeline.spark.session import session\n"
        "spark = session('one', 'local[1]', {'spark.broker_lite.pruning': sys.argv[1]},"
        " quick_start=True)\n"
        "rows = spark.read.format('kafka_segments').load(sys.argv[2])\n"
        "rows = rows.where('offset < 10').select('offset')\n"
        "plan = rows._jdf.queryExecution().toString()\n"
        "print('timestampType' not in plan.partition('Physical')[2], rows.count())\n"
        "spark.stop()\n"
    )
    found = []
    for wanted in ("true", "true", "false"):
        done = subprocess.run(
            [sys.executable, "-c", program, wanted, str(root)],
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=200,
        )
        found.append(done.stdout.split())
        assert done.returncode == 0, done.stderr
    # compiled by the first, found in the cache by the second
    assert found == [["True", "40"], ["True", "40"], ["False", "40"]]
