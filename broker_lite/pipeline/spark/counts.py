"""Counts and sums of records that the workers make while they read, as a small DataFrame.

    counts(spark, "data", ["topic", "timeBucket"], bucket_ms=60_000).show()

is what `groupBy` and `agg` make of the rows of `kafka_segments`, but no record leaves the worker.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from broker_lite.pipeline.read import counting as names
from broker_lite.pipeline.read.counting import COUNTING_OPTIONS, Counting
from broker_lite.pipeline.read.option_values import OptionError
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.spark.source import SegmentsReader
from broker_lite.pipeline.views.table import view_schema

FORMAT: Final = "kafka_segments_counts"

_OURS: Final = frozenset(map(str.lower, COUNTING_OPTIONS))
_NOT_COUNTED: Final = (
    "view",
    "columns",
    "includeHeaders",
    "pushdown",
    "value.format",
    "key.format",
)


def _sum(name: str) -> Column:
    return F.coalesce(F.sum(name), F.lit(0))


_TOTALS: Final[Mapping[str, Callable[[str], Column]]] = {
    **dict.fromkeys(
        (names.RECORDS, names.KEYS, names.KEY_BYTES, names.VALUES, names.VALUE_BYTES), _sum
    ),
    **dict.fromkeys((names.MIN_OFFSET, names.MIN_TIMESTAMP), F.min),
    **dict.fromkeys((names.MAX_OFFSET, names.MAX_TIMESTAMP), F.max),
}


def counts(
    spark: SparkSession,
    path: str,
    by: Sequence[str] = (names.TOPIC, names.PARTITION),
    measures: Sequence[str] = names.MEASURES,
    *,
    bucket_ms: int | None = None,
    key_hashes: int | None = None,
    options: Mapping[str, str] = MappingProxyType({}),
) -> DataFrame:
    """Count the records of each group, and sum up what is asked of them.

    Args:
        spark: a session.
        path: of the data source `kafka_segments`.
        by: names of groups: topic, partition, timeBucket (where its bucket of time begins), keyHash
            (null without a key). Empty for one row with all records.
        measures: names of columns: records; keys and values, those that are not null; keyBytes and
            valueBytes, before compression; minOffset, maxOffset, minTimestamp, maxTimestamp. With
            records and offsets alone, batches are counted by their headers where that is exact.
        bucket_ms: width of a timeBucket, in ms; buckets begin at multiples of it since 1970.
        key_hashes: keyHash is below it; by the hash with which Kafka's producer chooses one of so
            many partitions.
        options: of the data source, for the record view: which topics, offsets, times and
            transactions, and what to do about damage.

    Returns:
        A row for each group that has records, without an order; the groups, then the measures.

    Raises:
        OptionError: a name or an option cannot be used, or one is missing.
    """
    given = {
        **options,
        "countBy": ",".join(by),
        "measures": ",".join(measures),
        **({} if bucket_ms is None else {"bucketMs": str(bucket_ms)}),
        **({} if key_hashes is None else {"keyHashes": str(key_hashes)}),
    }
    counting = options_of({**given, "path": path}).counting
    assert counting is not None, "options_of() parses it"
    spark.dataSource.register(CountsSource)
    parts = spark.read.format(FORMAT).options(**given).load(path)
    totals = [_TOTALS[name](name).alias(name) for name in counting.measures]
    return parts.groupBy(*counting.by).agg(*totals)


def options_of(options: Mapping[str, str | None]) -> ReadOptions:
    """Parse the options of the data source below.

    Raises:
        OptionError: an option cannot be used.
    """
    for name in options:
        if name.lower() in map(str.lower, _NOT_COUNTED):
            raise OptionError(f"option {name}: records are counted, not read")
    counting = {name: text for name, text in options.items() if name.lower() in _OURS}
    others = {name: text for name, text in options.items() if name.lower() not in _OURS}
    return replace(ReadOptions.parse(others), counting=Counting.parse(counting))


class CountsSource(DataSource):
    """The groups of each task; those of all tasks have to be added up."""

    @classmethod
    def name(cls) -> str:  # type: ignore[explicit-override]
        """Give the name of the format."""
        return FORMAT

    def schema(self) -> StructType:  # type: ignore[explicit-override]
        """Give the columns: groups and measures.

        Raises:
            OptionError: an option cannot be used.
        """
        return from_arrow_schema(view_schema(options_of(self.options)))

    def reader(self, schema: StructType) -> DataSourceReader:  # type: ignore[explicit-override]
        """Make the reader.

        Raises:
            OptionError: an option cannot be used.
        """
        return SegmentsReader(options_of(self.options))
