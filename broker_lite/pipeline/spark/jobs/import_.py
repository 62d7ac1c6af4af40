"""Imports rows as segments, each partition in the order of its offsets."""

from collections.abc import Mapping
from types import MappingProxyType

from pyspark.sql import DataFrame, SparkSession

from broker_lite.pipeline.spark.jobs.export import PARQUET, read_export


def import_table(
    spark: SparkSession,
    table: str,
    path: str,
    options: Mapping[str, str] = MappingProxyType({}),
    *,
    table_format: str = PARQUET,
) -> None:
    """Write the table of an export as logs.

    Args:
        spark: a session.
        table: directory or URI of the table.
        path: of the logs, as of the data source.
        options: of the data source's writer.
        table_format: parquet or delta.
    """
    import_records(read_export(spark, table, table_format), path, options)


def import_records(
    records: DataFrame, path: str, options: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Write records as logs, at their own offsets unless the options say keepOffsets=false.

    Args:
        records: with the columns of the record view.
        path: of the logs, as of the data source.
        options: of the data source's writer.
    """
    ordered = records.repartition("topic", "partition").sortWithinPartitions(
        "topic", "partition", "offset"
    )
    writer = ordered.write.format("kafka_segments").mode("append").option("keepOffsets", "true")
    writer.options(**options).save(path)
