"""Exports records as a Parquet or Delta table, partitioned by topic and partition."""

from collections.abc import Mapping
from importlib.util import find_spec
from types import MappingProxyType
from typing import Final

from pyspark.sql import DataFrame, SparkSession

PARQUET: Final = "parquet"
DELTA: Final = "delta"

_DIRECTORIES: Final = ("topic", "partition")


class ExportError(ValueError):
    """An export is not possible; the text is one line for the user."""


def export(
    spark: SparkSession,
    path: str,
    target: str,
    options: Mapping[str, str] = MappingProxyType({}),
    *,
    table_format: str = PARQUET,
    compression: str = "zstd",
    mode: str = "errorifexists",
    batches_target: str | None = None,
) -> None:
    """Write the records of a log as a table, headers included.

    Args:
        spark: a session; for Delta with its jar and extension.
        path: of the data source.
        target: directory or URI of the table.
        options: of the data source.
        table_format: parquet or delta.
        compression: of the Parquet files.
        mode: of Spark's writer: errorifexists, overwrite, append or ignore.
        batches_target: target of a table of batch headers, None for no such table.

    Raises:
        ExportError: Delta is wanted and not installed.
    """
    if table_format == DELTA and find_spec("delta") is None:
        raise ExportError("format delta: the package delta-spark is not installed")
    tables = {target: records_of(spark, path, options)}
    if batches_target is not None:
        reader = spark.read.format("kafka_segments").options(**options)
        tables[batches_target] = reader.option("view", "batches").load(path)
    for place, table in tables.items():
        writer = table.write.format(table_format).mode(mode).partitionBy(*_DIRECTORIES)
        writer.option("compression", compression).save(place)


def records_of(
    spark: SparkSession, path: str, options: Mapping[str, str] = MappingProxyType({})
) -> DataFrame:
    """Read the records of a log with their headers."""
    reader = spark.read.format("kafka_segments").options(**options)
    return reader.option("includeHeaders", "true").load(path)


def read_export(spark: SparkSession, target: str, table_format: str = PARQUET) -> DataFrame:
    """Read the table of an export, with the columns of the record view.

    The schema is given, because Spark would guess a number or a date from some names of topics.
    """
    if table_format == DELTA:
        return spark.read.format(DELTA).load(target).select(*_COLUMNS)
    return spark.read.schema(_SCHEMA).parquet(target).select(*_COLUMNS)


_SCHEMA: Final = (
    "key binary, value binary, offset long, timestamp timestamp, timestampType int,"
    " headers array<struct<key: string, value: binary>>, topic string, partition int"
)
_COLUMNS: Final = (
    "key",
    "value",
    "topic",
    "partition",
    "offset",
    "timestamp",
    "timestampType",
    "headers",
)
