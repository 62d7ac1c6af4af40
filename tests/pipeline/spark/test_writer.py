"""`df.write.format("kafka_segments")`: what was written is read back; attempts do not double it."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import BinaryType, StructField, StructType
from pyspark.testing import assertDataFrameEqual

from broker_lite.log.directory.data_directory import DirectoryLock
from broker_lite.pipeline.files.log_root import WriteRefused
from broker_lite.pipeline.spark.writer import SegmentsWriter, Written

SCHEMA = StructType([StructField("key", BinaryType()), StructField("value", BinaryType())])
COLUMNS = ["key", "value", "topic", "partition", "timestamp", "headers"]


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    """Every kind of cell, in two topics of three partitions."""
    number = f.col("id")
    return spark.range(1000, numPartitions=3).select(
        f.when(number % 3 != 0, number.cast("string").cast("binary")).alias("key"),
        f.when(number % 5 != 0, f.repeat(number.cast("string"), 20).cast("binary")).alias("value"),
        f.concat(f.lit("topic-"), (number % 2).cast("string")).alias("topic"),
        (number % 3).cast("int").alias("partition"),
        f.timestamp_millis(number + 1_700_000_000_000).alias("timestamp"),
        f.when(
            number % 7 == 0,
            f.array(f.struct(f.lit("h").alias("key"), f.lit(None).cast("binary").alias("value"))),
        ).alias("headers"),
    )


def write(rows: DataFrame, path: Path, **options: str) -> None:
    rows.write.format("kafka_segments").mode("append").options(**options).save(str(path))


def read(spark: SparkSession, path: Path) -> DataFrame:
    return spark.read.format("kafka_segments").option("includeHeaders", "true").load(str(path))


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_what_is_written_is_read(
    spark: SparkSession, rows: DataFrame, tmp_path: Path, codec: str
) -> None:
    write(rows, tmp_path, compression=codec, segmentBytes="4k", batchBytes="1k")
    assertDataFrameEqual(read(spark, tmp_path).select(COLUMNS), rows)
    codecs = spark.read.format("kafka_segments").option("view", "batches").load(str(tmp_path))
    assert [row.codec for row in codecs.select("codec").distinct().collect()] == [codec]


def test_a_second_write_goes_behind_the_first(
    spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    for _ in range(2):
        write(rows, tmp_path)
    found = (
        read(spark, tmp_path)
        .groupBy("topic", "partition")
        .agg(f.count("*").alias("records"), (f.max("offset") + 1).alias("end"))
    )
    assert all(row.records == row.end for row in found.collect())
    assert found.agg(f.sum("records")).collect() == [(2000,)]


def test_a_copy_of_the_record_view_keeps_offsets(
    spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    write(rows, tmp_path / "a")
    source = read(spark, tmp_path / "a").where("offset % 10 != 3")
    write(
        source.repartition("topic", "partition").sortWithinPartitions("offset"),
        tmp_path / "b",
        keepOffsets="true",
    )
    assertDataFrameEqual(read(spark, tmp_path / "b"), source)


def test_a_job_that_fails_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    topics = f.when(f.col("id") != 90, f.lit("t")).alias("topic")
    # One task: Spark does not wait for other tasks before it aborts. What those stage afterwards is
    # for the next broker to remove.
    rows = spark.range(100, numPartitions=1).select(topics, f.lit("v").alias("value"))
    with pytest.raises(PythonException, match="a row has no topic"):
        write(rows, tmp_path)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [".lock"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"topic": "a/b"}, "option topic='a/b'"),
        ({"compression": "br"}, "one of none, gzip, snappy, lz4, zstd"),
        ({}, "no column topic, and there is no option topic"),
        ({"topic": "t", "keepOffsets": "true"}, "no column offset"),
    ],
)
def test_wrong_options_and_columns(
    spark: SparkSession, tmp_path: Path, options: dict[str, str], text: str
) -> None:
    with pytest.raises(AnalysisException, match=text):
        write(spark.range(1).select(f.lit("v").alias("value")), tmp_path, **options)


def test_s_78_a_directory_in_use_and_an_overwrite_are_refused(
    spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    lock = DirectoryLock(tmp_path)
    with pytest.raises(AnalysisException, match="is in use by another process"):
        write(rows, tmp_path)
    lock.release()
    with pytest.raises(AnalysisException, match="logs are appended to, not overwritten"):
        rows.write.format("kafka_segments").mode("overwrite").save(str(tmp_path))


def one_batch() -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_pydict({"key": [b"k"] * 3, "value": [b"1", b"2", b"3"]})


def segments_writer(path: Path) -> SegmentsWriter:
    return SegmentsWriter({"path": str(path), "topic": "t"}, SCHEMA, overwrite=False)


def files(path: Path) -> list[str]:
    return sorted(found.name for found in path.rglob("*") if found.is_file())


def test_only_the_attempts_that_spark_took_count(tmp_path: Path) -> None:
    """A task that was tried again, one that ran twice, and one without any row."""
    writer = segments_writer(tmp_path)
    taken, other, empty = (writer.write(rows) for rows in (one_batch(), one_batch(), iter(())))
    assert {one.placement.tag for one in taken.segments} != {
        one.placement.tag for one in other.segments
    }
    writer.commit([taken, None, empty])
    logs = [name for name in files(tmp_path) if name.endswith(".log")]
    assert logs == [f"{0:020d}.log"]
    assert not [name for name in files(tmp_path) if name.endswith(".deleted")]


def test_an_abort_removes_all_attempts(tmp_path: Path) -> None:
    writer = segments_writer(tmp_path)
    written = [writer.write(one_batch()) for _ in range(3)]
    assert all(isinstance(one, Written) and one.segments for one in written)
    writer.abort([*written[:2], None])
    assert files(tmp_path) == [".lock"]


def test_s_78_a_broker_that_started_meanwhile(tmp_path: Path) -> None:
    writer = segments_writer(tmp_path)
    written = writer.write(one_batch())
    lock = DirectoryLock(tmp_path)
    with pytest.raises(WriteRefused, match="in use"):
        writer.commit([written])
    lock.release()
    writer.abort([written])
    assert files(tmp_path) == [".lock"]
