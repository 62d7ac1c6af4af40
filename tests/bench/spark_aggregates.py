"""What aggregations of records cost by Spark, in CPU time, in one run.

    python -m tests.bench.spark_aggregates [--mib 512] [--rounds 2] [--values 100,1000]
                                           [--codecs none,zstd] [--queries sum,groupBy]

Two queries over the same records of an Apache Kafka. `sum` adds up offsets and sizes of values;
`groupBy` counts by topic and partition, with sizes and the last timestamp. The ways to the rows
take turns, in every other round backwards; a warm-up, then the best round by CPU of Spark's Java
and its Python workers, without that of the broker.

| way | what it is |
| --- | --- |
| pruned | `kafka_segments` in a session of session(): columns that Spark prunes |
| all | the same without Java's part: every column |
| named | the same with the option `columns` |
| counts | `counts()`: summed up in the workers |
| headers | `counts()` of records and offsets alone, which headers tell |
| connector | Spark's Kafka connector, kafka.max.poll.records=10000 |
| parquet | a table of the same records, with the same codec |

`worker alone` is one process that makes the Arrow batches of the query's columns, without Spark:
what the workers take more than that is the way to Java.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pyspark
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from broker_lite.pipeline.files.open_file_io import open_file_io
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.plan import plan
from broker_lite.pipeline.spark.counts import counts
from broker_lite.pipeline.spark.source import KafkaSegmentsSource
from broker_lite.pipeline.views.record_view import record_batches
from broker_lite.record import implementations
from tests.bench.spark_readers import CONNECTOR_MANY, OURS, PARQUET, Bench, Cost, started
from tests.bench.spark_topics import Shape
from tests.pipeline.connector.jars import CONNECTOR_VERSION

MIB: Final = 1 << 20
BY_ROWS: Final = "kafka_segments_by_rows"
CONNECTOR_BOUND: Final = 2.0
PARQUET_BOUND: Final = 1.5


class ByRows(KafkaSegmentsSource):
    """The source by a name that only Python knows, so that Spark prunes nothing."""

    @classmethod
    def name(cls) -> str:
        return BY_ROWS


class Query(NamedTuple):
    """An aggregation: of rows, and as counts() has it."""

    columns: str
    of_rows: Callable[[DataFrame], DataFrame]
    by: tuple[str, ...]
    measures: tuple[str, ...]


QUERIES: Final[Mapping[str, Query]] = {
    "sum": Query(
        "value,offset",
        lambda rows: rows.agg(
            F.count("*"), F.sum(F.octet_length("value")), F.min("offset"), F.max("offset")
        ),
        (),
        ("records", "valueBytes", "minOffset", "maxOffset"),
    ),
    "groupBy": Query(
        "topic,partition,timestamp,value",
        lambda rows: rows.groupBy("topic", "partition").agg(
            F.count("*"), F.sum(F.octet_length("value")), F.max("timestamp")
        ),
        ("topic", "partition"),
        ("records", "valueBytes", "maxTimestamp"),
    ),
}


def ways(bench: Bench, shape: Shape, query: Query) -> dict[str, Callable[[], list[Row]]]:
    """The ways to the result of a query, by their names."""
    spark, path = bench.spark, str(bench.kafka.log_dir)
    frames = {reader.name: reader.frame for reader in bench.readers()}
    topic = {"subscribe": shape.topic}

    def of(frame: DataFrame) -> list[Row]:
        return sorted(query.of_rows(frame).collect())

    def by_rows(**options: str) -> DataFrame:
        return spark.read.format(BY_ROWS).options(**topic, **options).load(path)

    def counted(measures: tuple[str, ...]) -> list[Row]:
        return sorted(counts(spark, path, query.by, measures, options=topic).collect())

    return {
        "pruned": lambda: of(frames[OURS](shape)),
        "all": lambda: of(by_rows()),
        "named": lambda: of(by_rows(columns=query.columns)),
        "counts": lambda: counted(query.measures),
        "headers": lambda: counted(("records", "minOffset", "maxOffset")),
        "connector": lambda: of(frames[CONNECTOR_MANY](shape)),
        "parquet": lambda: of(frames[PARQUET](shape)),
    }


def wake_workers(bench: Bench, shape: Shape) -> None:
    """Read two records by each name, so that two workers of each have imported everything.

    Idle ones end in a minute. Sources that Python registered, and those that Spark found by itself,
    have workers of their own.
    """
    ends = json.dumps({shape.topic: {"0": 1, "1": 1}})
    for name in (BY_ROWS, "kafka_segments"):
        reader = bench.spark.read.format(name).options(subscribe=shape.topic, endingOffsets=ends)
        assert reader.load(str(bench.kafka.log_dir)).count() == 2


def worker_alone_s(bench: Bench, shape: Shape, columns: str) -> float:
    """CPU seconds of making the Arrow batches of some columns in this process."""
    given = {"path": str(bench.kafka.log_dir), "subscribe": shape.topic, "columns": columns}
    options = ReadOptions.parse(given)
    io, root = open_file_io(options.path)
    splits = plan(io, root, options)
    began = time.process_time()
    for split in splits:
        for _ in record_batches(io, split, options):
            pass
    return time.process_time() - began


def run_query(bench: Bench, shape: Shape, name: str, records: int, rounds: int) -> None:
    """Print a line for each way of a query, and the ratios."""
    query = QUERIES[name]
    each = ways(bench, shape, query)
    found = {way: run() for way, run in each.items()}
    expected = found["parquet"]
    for way, rows in found.items():
        assert way == "headers" or rows == expected, f"{way}: {rows} instead of {expected}"
    costs: dict[str, list[Cost]] = {way: [] for way in each}
    for number in range(rounds):
        for way in each if number % 2 == 0 else reversed(each):
            wake_workers(bench, shape)
            costs[way].append(bench.measure(each[way]))
    alone_s = worker_alone_s(bench, shape, query.columns)
    print(f"{shape.title}, {name}: {records:,} records, CPU us a record (Java + workers)")
    best = {way: min(some, key=lambda cost: cost.cpu_s) for way, some in costs.items()}
    for way, cost in best.items():
        java_us = (cost.cpu_s - cost.worker_cpu_s) / records * 1e6
        worker_us = cost.worker_cpu_s / records * 1e6
        seconds = min(one.seconds for one in costs[way])
        print(
            f"  {way:12} {cost.cpu_s / records * 1e6:6.3f} ({java_us:.3f} + {worker_us:.3f}),"
            f" {seconds:6.2f} s by the wall"
        )
    print(f"  worker alone {alone_s / records * 1e6:6.3f}")
    for way in ("pruned", "named", "all", "counts"):
        less, more = (best[other].cpu_s / best[way].cpu_s for other in ("connector", "parquet"))
        print(
            f"  {way}: {less:.2f} times less than the connector{_told(way, less, CONNECTOR_BOUND)},"
            f" {1 / more:.2f} times Parquet's{_told(way, PARQUET_BOUND, 1 / more)}",
            flush=True,
        )


def _told(way: str, larger: float, smaller: float) -> str:
    """Say whether an aim was reached; ways that are there to compare have none."""
    if way in ("all", "named"):
        return ""
    return " (reached)" if larger >= smaller else " (MISSED)"


def register(spark: SparkSession) -> None:
    """Make the way by rows known."""
    spark.dataSource.register(ByRows)


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--mib", type=int, default=512, help="size of a data set, uncompressed")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--values", default="100,1000", help="value sizes in bytes")
    parser.add_argument("--codecs", default="none,zstd")
    parser.add_argument("--queries", default=",".join(QUERIES))
    options = parser.parse_args()
    load = os.getloadavg()[0]
    print(
        f"{platform.machine()}, {os.cpu_count()} cores at load {load:.1f}, Python"
        f" {platform.python_version()}, PySpark {pyspark.__version__}, connector"
        f" {CONNECTOR_VERSION}, {implementations()}",
        flush=True,
    )
    with tempfile.TemporaryDirectory(prefix="spark-") as folder, started(Path(folder)) as bench:
        register(bench.spark)
        for value_bytes in map(int, options.values.split(",")):
            for codec in options.codecs.split(","):
                shape = Shape(value_bytes, codec)
                with bench.data_set(shape, options.mib * MIB) as records:
                    for name in options.queries.split(","):
                        run_query(bench, shape, name, records, options.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
