"""Compares the records of two logs.

A copy with the same offsets is compared offset by offset. A mirror assigns its own offsets, so its
records are compared as a bag: how often each content occurs in a partition on either side.

Records are compared by two 64-bit hashes over the compared columns; null differs from empty.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from broker_lite.pipeline.spark.jobs.export import records_of

COMPARED: Final = ("key", "value", "headers", "timestamp", "timestampType")

_PLACE: Final = ("topic", "partition", "offset")


class By(StrEnum):
    """What identifies a record: its offset or its content."""

    OFFSET = "offset"
    CONTENT = "content"


class Status(StrEnum):
    """How a record compares."""

    EQUAL = "equal"
    MISSING = "missing"
    EXTRA = "extra"
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How many records are equal, only in the left log, only in the right log, or different.

    Attributes:
        rows: the records that are not equal: status, topic, partition, offset (in the left log if
            it has the record, else in the right one) and count.
    """

    equal: int
    missing: int
    extra: int
    different: int
    rows: DataFrame

    @property
    def is_none(self) -> bool:
        """Whether the logs are equal."""
        return not (self.missing or self.extra or self.different)


def diff(
    spark: SparkSession,
    left: str,
    right: str,
    options: Mapping[str, str] = MappingProxyType({}),
    *,
    by: By = By.OFFSET,
    columns: Sequence[str] = COMPARED,
    renamed: Mapping[str, str] = MappingProxyType({}),
) -> Difference:
    """Compare two logs.

    Args:
        spark: a session.
        left: path of the expected log.
        right: path of the actual log.
        options: of the data source, for both.
        by: offset or content.
        columns: the compared columns; leave out timestamps if a broker assigned them.
        renamed: new names of topics of the left log.
    """
    lefts = _digests(_renamed(records_of(spark, left, options), renamed), columns)
    rights = _digests(records_of(spark, right, options), columns)
    rows = _by_offset(lefts, rights) if by is By.OFFSET else _by_content(lefts, rights)
    counts = {row[0]: row[1] for row in rows.groupBy("status").agg(F.sum("count")).collect()}
    return Difference(
        **{status.value: counts.get(status.value, 0) for status in Status},
        rows=rows.where(F.col("status") != Status.EQUAL.value),
    )


def _renamed(records: DataFrame, names: Mapping[str, str]) -> DataFrame:
    topic = F.col("topic")
    for old, new in names.items():
        topic = F.when(F.col("topic") == old, new).otherwise(topic)
    return records.withColumn("topic", topic)


def _digests(records: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Select the place of each record and two hashes of the compared columns."""
    values = [each for name in columns for each in _hashable(name)]
    digest = F.struct(*(F.xxhash64(F.lit(seed), *values) for seed in range(2)))
    return records.select(*_PLACE, digest.alias("digest"))


def _hashable(name: str) -> Sequence[Column]:
    """Spark's hash skips nulls, so hash whether the column is null, too."""
    column = F.col(name)
    if name == "headers":
        pairs = F.transform(
            column, lambda pair: F.struct(pair["key"], pair["value"].isNull(), pair["value"])
        )
        return F.size(column), pairs
    return column.isNull(), column


def _by_offset(lefts: DataFrame, rights: DataFrame) -> DataFrame:
    left, right = F.col("left.digest"), F.col("right.digest")
    status = (
        F.when(right.isNull(), Status.MISSING.value)
        .when(left.isNull(), Status.EXTRA.value)
        .when(left == right, Status.EQUAL.value)
        .otherwise(Status.DIFFERENT.value)
    )
    joined = lefts.alias("left").join(rights.alias("right"), list(_PLACE), "full")
    return joined.select(status.alias("status"), *_PLACE, F.lit(1).alias("count"))


def _by_content(lefts: DataFrame, rights: DataFrame) -> DataFrame:
    """Count each content on both sides; a surplus on one side is missing or extra."""
    both = lefts.withColumn("side", F.lit(1)).union(rights.withColumn("side", F.lit(-1)))
    of_left, surplus = F.col("side") > 0, F.col("surplus")
    counted = both.groupBy("topic", "partition", "digest").agg(
        F.min(F.when(of_left, F.col("offset"))).alias("left"),
        F.min(F.when(~of_left, F.col("offset"))).alias("right"),
        F.sum("side").alias("surplus"),
        F.count("side").alias("number"),
    )
    status = F.when(surplus > 0, Status.MISSING.value).otherwise(Status.EXTRA.value)
    offset = F.when(surplus > 0, F.col("left")).otherwise(F.col("right"))
    parts = F.array(
        F.struct(status.alias("status"), offset.alias("offset"), F.abs(surplus).alias("count")),
        F.struct(
            F.lit(Status.EQUAL.value).alias("status"),
            F.col("left").alias("offset"),
            F.expr("(number - abs(surplus)) div 2").alias("count"),
        ),
    )
    rows = counted.select("topic", "partition", F.explode(parts).alias("part"))
    rows = rows.select("part.status", "topic", "partition", "part.offset", "part.count")
    return rows.where(F.col("count") > 0)
