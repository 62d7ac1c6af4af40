"""The topics of a log directory as tables of SQL."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from broker_lite.pipeline.read.option_values import OptionError
from broker_lite.pipeline.spark.catalog import DATABASE, CatalogError, register_logs
from tests.pipeline.support import Partition, numbered

TOPICS = ("2024", "Payments", "a.b-C_d", "orders")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    for topic in TOPICS:
        append(tmp_path, topic, 20)
    append(tmp_path, "__consumer_offsets", 1)
    return tmp_path


def append(root: Path, topic: str, count: int, partition: int = 0) -> None:
    with Partition(root, topic, partition) as log:
        log.append(numbered(count))


def ask(spark: SparkSession, query: str) -> list[tuple[object, ...]]:
    """Ask a query, in which `logs` is the database of the views."""
    return list(
        map(tuple, spark.sql(query.replace("logs.", f"{spark.conf.get(DATABASE)}.")).collect())
    )


def test_each_topic_by_its_name(spark: SparkSession, log: Path) -> None:
    assert register_logs(spark, str(log)) == TOPICS
    for name, topic in (
        ("orders", "orders"),
        ("Payments", "Payments"),
        ("`a.b-C_d`", "a.b-C_d"),
        ("`2024`", "2024"),
    ):
        query = f"SELECT topic, count(*), max(offset) FROM logs.{name} WHERE offset > 9 GROUP BY 1"
        assert ask(spark, query) == [(topic, 10, 19)]


def test_columns_are_those_of_the_reader(spark: SparkSession, log: Path) -> None:
    register_logs(spark, str(log))
    view = spark.table(f"{spark.conf.get(DATABASE)}.orders")
    assert view.schema == spark.read.format("kafka_segments").load(str(log)).schema
    register_logs(spark, str(log), {"columns": "offset,topic,headers"})
    view = spark.table(f"{spark.conf.get(DATABASE)}.orders")
    assert view.columns == ["offset", "topic", "headers"]


def test_new_records_partitions_and_topics(spark: SparkSession, log: Path) -> None:
    register_logs(spark, str(log))
    append(log, "orders", 5)
    append(log, "orders", 7, partition=1)
    assert ask(spark, "SELECT count(*) FROM logs.orders") == [(32,)]
    append(log, "later", 3)
    assert "later" in register_logs(spark, str(log))
    assert ask(spark, "SELECT count(*) FROM logs.later") == [(3,)]


def test_a_query_opens_the_logs_of_its_topic_only(spark: SparkSession, log: Path) -> None:
    register_logs(spark, str(log))
    (log / "2024-0" / "00000000000000000000.log").write_bytes(b"damage" * 99 + b"\x02" * 99)
    assert ask(spark, "SELECT count(*) FROM logs.orders") == [(20,)]


def test_names_that_are_one_to_spark(spark: SparkSession, log: Path) -> None:
    append(log, "ORDERS", 1)
    with pytest.raises(CatalogError, match="topics ORDERS and orders are one name to Spark"):
        register_logs(spark, str(log))
    assert register_logs(spark, str(log), {"subscribe": "ORDERS"}) == ("ORDERS",)
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        register_logs(spark, str(log))
        assert ask(spark, "SELECT count(*) FROM logs.ORDERS") == [(1,)]
        assert ask(spark, "SELECT count(*) FROM logs.orders") == [(20,)]
    finally:
        for name in ("`ORDERS`", "`orders`"):
            spark.catalog.dropGlobalTempView(name)
        spark.conf.unset("spark.sql.caseSensitive")


@pytest.mark.parametrize(
    ("path", "options", "error"),
    [
        (lambda log: log / "nowhere", {}, FileNotFoundError),
        (lambda log: log, {"subscribe": "a", "assign": "{}"}, OptionError),
    ],
    ids=["no directory", "options that contradict each other"],
)
def test_what_is_wrong_is_said_at_once(
    spark: SparkSession,
    log: Path,
    path: Callable[[Path], Path],
    options: dict[str, str],
    error: type[Exception],
) -> None:
    with pytest.raises(error):
        register_logs(spark, str(path(log)), options)


@pytest.mark.slow
def test_one_line_of_conf(spark: SparkSession, log: Path) -> None:
    program = f"""
from broker_lite.pipeline.spark.running import running

with running(conf={{"spark.broker_lite.logs": {str(log)!r}}}, quick_start=True) as spark:
    print(spark.sql("SELECT count(*) FROM logs.orders WHERE offset > 9").first()[0])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "10\n", done.stderr
