import pickle
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import EqualTo, Filter, GreaterThanOrEqual, InputPartition, LessThan
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from broker_lite.pipeline.spark.source import (
    KafkaSegmentsSource,
    PushdownReader,
    SchemaError,
    SegmentsReader,
)
from pyspark_kafka_segments import DefaultSource
from tests.pipeline.support import (
    LOG_APPEND_TIME,
    T0,
    NewRecord,
    Partition,
    Row,
    damage,
    numbered,
)

EPOCH = datetime.fromtimestamp(0, UTC)
OF_THE_CONNECTOR = (
    StructType()
    .add("key", BinaryType())
    .add("value", BinaryType())
    .add("topic", StringType())
    .add("partition", IntegerType())
    .add("offset", LongType())
    .add("timestamp", TimestampType())
    .add("timestampType", IntegerType())
)
HEADERS = ArrayType(StructType().add("key", StringType()).add("value", BinaryType()))
ODD = [
    NewRecord(None, None),
    NewRecord(b"", b""),
    NewRecord(b"k", None, ((b"name", b"value"), (b"name", None), (b"", b""))),
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two partitions of each of two topics with offsets 0 to 999 in several segments."""
    root = tmp_path_factory.mktemp("logs")
    for topic in ("orders", "users"):
        for number in range(2):
            with Partition(root, topic, number, segment_bytes=20_000) as partition:
                for first in range(0, 1000, 50):
                    partition.append(numbered(50, first=first))
    return root


def load(spark: SparkSession, path: Path, schema: str = "", **options: str) -> DataFrame:
    reader = spark.read.format("kafka_segments").options(**options)
    return (reader.schema(schema) if schema else reader).load(str(path))


def told(frame: DataFrame) -> list[Row]:
    """The rows of a frame with headers, by place, as the test data has them."""
    found = [
        Row(
            row.key,
            row.value,
            row.topic,
            row.partition,
            row.offset,
            (row.timestamp.astimezone(UTC) - EPOCH) // timedelta(milliseconds=1),
            row.timestampType,
            None if row.headers is None else tuple(map(tuple, row.headers)),
        )
        for row in frame.collect()
    ]
    return by_place(found)


def by_place(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row.topic, row.partition, row.offset))


def reader(path: Path, **options: str) -> SegmentsReader:
    """A reader as a query has it, of the columns that it has by itself."""
    source = KafkaSegmentsSource({"path": str(path), **options})
    made = source.reader(source.schema())
    assert isinstance(made, SegmentsReader)
    return made


def rows_of(reader: SegmentsReader, partitions: list[InputPartition]) -> list[dict[str, Any]]:
    return [row for one in partitions for batch in reader.read(one) for row in batch.to_pylist()]


# Through Spark.


def test_the_schema_is_the_connectors(spark: SparkSession, root: Path) -> None:
    assert load(spark, root).schema == OF_THE_CONNECTOR
    with_headers = StructType([*OF_THE_CONNECTOR, *StructType().add("headers", HEADERS)])
    assert load(spark, root, includeHeaders="true").schema == with_headers


def test_every_record_is_a_row(spark: SparkSession, tmp_path: Path) -> None:
    rows = []
    for number in range(2):
        with Partition(tmp_path, partition=number, segment_bytes=20_000) as partition:
            partition.append(ODD, log_append_time_ms=T0 + 5 if number else None)
            for codec in range(5):
                partition.append(numbered(200, first=codec), codec=codec)
        rows += partition.rows
    frame = load(spark, tmp_path, includeHeaders="true", maxSplitBytes="10k")
    assert frame.rdd.getNumPartitions() > 3
    assert told(frame) == by_place(rows)
    assert {row.timestamp_type for row in rows} == {0, LOG_APPEND_TIME}


def test_columns_in_the_order_of_the_option(spark: SparkSession, root: Path) -> None:
    frame = load(spark, root, columns="offset, KEY", subscribe="users")
    assert frame.columns == ["offset", "key"]
    assert frame.where("offset = 7").distinct().collect() == [(7, b"key-000007")]


def test_columns_by_a_schema(spark: SparkSession, root: Path) -> None:
    frame = load(spark, root, "topic string, offset bigint, headers " + HEADERS.simpleString())
    assert frame.groupBy("topic").count().sort("topic").collect() == [
        ("orders", 2000),
        ("users", 2000),
    ]


def test_sql_knows_the_format(spark: SparkSession, root: Path) -> None:
    spark.sql(
        "CREATE OR REPLACE TEMPORARY VIEW records USING kafka_segments"
        f" OPTIONS (path '{root}', columns 'offset')"
    )
    assert spark.sql("SELECT count(*), max(offset) FROM records").collect() == [(4000, 999)]


def test_filters_are_pushed_down_and_hold(spark: SparkSession, root: Path) -> None:
    whole = load(spark, root, maxSplitBytes="10k")
    cut = load(spark, root, maxSplitBytes="10k", pushdown="true")
    condition = (
        "topic = 'users' AND partition IN (1) AND offset BETWEEN 500 AND 509"
        f" AND timestamp > timestamp_millis({T0 + 503}) AND key <> 'key-000506'"
    )
    expected = [504, 505, 507, 508, 509]
    for frame in (whole.where(condition), cut.where(condition)):
        assert [row.offset for row in frame.sort("offset").collect()] == expected
    assert whole.where(condition).rdd.getNumPartitions() > 8
    assert cut.where(condition).rdd.getNumPartitions() == 1


def test_a_log_without_records_has_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    with Partition(tmp_path):
        pass
    assert load(spark, tmp_path).collect() == []


@pytest.mark.parametrize(
    ("options", "schema", "text"),
    [
        ({"startingOffset": "earliest"}, "", "there is none of this name, only startingOffsets"),
        ({"subscribe": "payments"}, "", "there is no payments"),
        ({}, "offset int", "schema: there is offset bigint, not offset int"),
    ],
    ids=["option", "plan", "schema"],
)
def test_what_cannot_be_read_is_told_in_one_line(
    spark: SparkSession, root: Path, options: dict[str, str], schema: str, text: str
) -> None:
    with pytest.raises(PySparkException) as caught:
        load(spark, root, schema, **options).count()
    (line,) = (line for line in str(caught.value).splitlines() if text in line)
    assert "Traceback" not in str(caught.value)
    assert line.startswith("[PYTHON_DATA_SOURCE_ERROR]")


def test_damage_is_told_by_file_position_and_rule(spark: SparkSession, tmp_path: Path) -> None:
    with Partition(tmp_path) as partition:
        for first in (0, 10):
            partition.append(numbered(10, first=first))
    log = partition.directory / "00000000000000000000.log"
    size_bytes = log.stat().st_size // 2
    damage(log, size_bytes + 100)
    with pytest.raises(PySparkException, match=f"{log} at {size_bytes}: R-06: wrong checksum"):
        load(spark, tmp_path).count()
    kept = load(spark, tmp_path, onCorrupt="skip").sort("offset").collect()
    assert [row.offset for row in kept] == list(range(10))


# What Spark asks of it, without Spark.


def test_it_is_found_by_its_name() -> None:
    assert DefaultSource is KafkaSegmentsSource
    assert DefaultSource.name() == "kafka_segments"


def test_a_reader_reads_where_it_is_sent(root: Path) -> None:
    made = pickle.loads(pickle.dumps(reader(root, columns="offset", maxSplitBytes="10k")))
    partitions = pickle.loads(pickle.dumps(made.partitions()))
    offsets = sorted(row["offset"] for row in rows_of(made, partitions))
    assert offsets == sorted([*range(1000)] * 4)


def test_no_split_is_a_task_without_rows(root: Path) -> None:
    assert list(reader(root).read(InputPartition(None))) == []


@pytest.mark.parametrize(
    ("column", "text"),
    [
        (StructField("Offset", LongType()), "schema: there is offset bigint, not Offset bigint"),
        (StructField("body", BinaryType()), "schema: columns: there is no body, only key, value"),
        (StructField("key", StringType()), "schema: there is key binary, not key string"),
    ],
    ids=["case", "name", "type"],
)
def test_a_schema_that_the_view_does_not_have(root: Path, column: StructField, text: str) -> None:
    source = KafkaSegmentsSource({"path": str(root)})
    with pytest.raises(SchemaError, match=f"^{text}"):
        source.reader(StructType([StructField("partition", IntegerType()), column]))


def test_only_the_reader_that_was_asked_for_takes_filters(root: Path) -> None:
    assert type(reader(root)) is SegmentsReader
    assert type(reader(root, pushdown="true")) is PushdownReader


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        ([], 4),
        ([EqualTo(("topic",), "users")], 2),
        ([EqualTo(("topic",), "users"), EqualTo(("partition",), 0)], 1),
        ([GreaterThanOrEqual(("offset",), 1000)], 0),
        ([LessThan(("value",), b"x")], 4),
    ],
    ids=["none", "topic", "partition", "offset", "value"],
)
def test_filters_leave_splits_out(root: Path, filters: list[Filter], count: int) -> None:
    made = reader(root, pushdown="true")
    assert isinstance(made, PushdownReader)
    assert list(made.pushFilters(filters)) == filters
    assert len(made.partitions()) == count
