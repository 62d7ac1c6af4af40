"""Exports what a Delta or Iceberg table does not have yet; it is partitioned by topic and day.

Spark writes Parquet files into a new folder, then one commit of the table adds them together with
the offsets up to which they reach. A driver that is killed before the commit leaves files that no
reader sees, and the next export reads the same offsets again; after the commit, the next export
goes on behind them. So every record is in the table once.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Final, NamedTuple
from uuid import uuid4

from pyspark.sql import Observation, SparkSession
from pyspark.sql import functions as F

from broker_lite.pipeline.files.open_file_io import open_file_io
from broker_lite.pipeline.read.offset_limits import EARLIEST_OFFSET, TopicPartition
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.spark.jobs.exported import RECORD_COLUMNS
from broker_lite.pipeline.spark.lake.data_files import (
    DAY_FOLDER,
    TOPIC_FOLDER,
    find_data_files,
    remove_data_files,
)
from broker_lite.pipeline.spark.lake.formats import open_or_create_table
from broker_lite.pipeline.spark.lake.table import LakeError, LakeTable
from broker_lite.pipeline.stream.log_watch import LogWatch, reachable
from broker_lite.pipeline.stream.offsets import Offsets, to_shape

_NOT_TAKEN: Final = ("starting", "ending", "columns", "view", "includeheaders")
_SELECTIONS: Final = ("subscribe", "subscribepattern", "assign")
_RECORDS: Final = "records"
_TIMESTAMP_TYPE: Final = "spark.sql.parquet.outputTimestampType"
_TIME_ZONE: Final = "spark.sql.session.timeZone"


class Added(NamedTuple):
    """What an export added.

    Attributes:
        records: how many.
        notes: what needs care: one line for each kind.
    """

    records: int
    notes: tuple[str, ...] = ()


def export_lake(
    spark: SparkSession,
    path: str,
    target: str,
    options: Mapping[str, str] = MappingProxyType({}),
    *,
    table_format: str,
    catalog: str | None = None,
    compression: str = "zstd",
) -> Added:
    """Add the records that have come since the last export, with headers; make a missing table.

    The end of each log is that of the moment when the export begins. With
    isolationLevel=read_committed it is where the oldest open transaction begins.

    Args:
        spark: a session.
        path: of the data source.
        target: directory or URI of the table; with a catalog, its name.
        options: of the data source, without limits, columns and views.
        table_format: delta or iceberg.
        catalog: for iceberg, a name of pyiceberg's configuration.
        compression: of the Parquet files.

    Raises:
        DataLossError: records that the table does not have are gone, and failOnDataLoss is true.
        LakeError: an option does not fit, a package is missing, or another export was faster.
    """
    for name in options:
        if name.lower().startswith(_NOT_TAKEN):
            raise LakeError(f"option {name}: is not for {table_format}, which goes on by itself")
    parsed = ReadOptions.parse({**options, "path": path}, is_stream=None)
    table = open_or_create_table(target, table_format, catalog)
    start, end = _due(table, parsed)
    if not end:
        return Added(0)
    folder = str(uuid4())
    place = f"{table.data_place}/{folder}"
    written = _write(spark, path, options, place, table, start, end, compression)
    files = find_data_files(table.data_place, folder)
    found = sum(file.record_count for file in files)
    if found != written:
        raise LakeError(f"{place}: has {found} records of the {written} that Spark wrote")
    try:
        table.commit(files, start, end)
    except LakeError:
        remove_data_files(place)
        raise
    return Added(written)


def _due(
    table: LakeTable, options: ReadOptions
) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
    """Return where the table and the logs end, of the partitions that have something new."""
    io, root = open_file_io(options.path)
    horizons = LogWatch(io, root, options).horizons()
    start = table.offsets(horizons)
    end = reachable(start, horizons, options)
    changed = {key: offset for key, offset in end.items() if offset != start.get(key, 0)}
    return {key: offset for key, offset in start.items() if key in changed}, changed


def _write(
    spark: SparkSession,
    path: str,
    options: Mapping[str, str],
    place: str,
    table: LakeTable,
    start: Offsets,
    end: Offsets,
    compression: str,
) -> int:
    """Write the records between offsets as Parquet files; returns how many there are."""
    ours = {name: value for name, value in options.items() if name.lower() not in _SELECTIONS}
    firsts = {key: min(start.get(key, EARLIEST_OFFSET), offset) for key, offset in end.items()}
    reader = spark.read.format("kafka_segments").options(**ours)
    reader = reader.option("columns", ",".join(RECORD_COLUMNS))
    reader = reader.option("assign", json.dumps(_assignment(end)))
    reader = reader.option("startingOffsets", json.dumps(to_shape(firsts)))
    reader = reader.option("endingOffsets", json.dumps(to_shape(end)))
    seen = Observation()
    with _settings(spark, {_TIMESTAMP_TYPE: "TIMESTAMP_MICROS", _TIME_ZONE: "UTC"}):
        records = reader.load(path)
        for name, expression in table.extra_columns.items():
            records = records.withColumn(name, F.expr(expression))
        cut = records.observe(seen, F.count(F.lit(1)).alias(_RECORDS))
        cut = cut.withColumn(TOPIC_FOLDER, F.col("topic"))
        cut = cut.withColumn(DAY_FOLDER, F.to_date("timestamp"))
        writer = cut.write.partitionBy(TOPIC_FOLDER, DAY_FOLDER)
        writer.option("compression", compression).parquet(place)
    # Spark drops the counting from a plan that cannot have rows.
    return int(seen.get.get(_RECORDS, 0))


def _assignment(offsets: Offsets) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for topic, partition in sorted(offsets):
        found.setdefault(topic, []).append(partition)
    return found


@contextmanager
def _settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Change settings of a session for a while."""
    before = {name: spark.conf.get(name) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, old in before.items():
            spark.conf.set(name, str(old))
