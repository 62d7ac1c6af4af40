"""Diff: which records of two logs differ?

A copy that keeps offsets is compared offset by offset. A mirror gives its own offsets, so there the
records of each partition are compared as a bag: how often each one is on either side.

Rows are compared by two hashes of 64 bits over all that is compared, null being told from empty.
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

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
_PLACE: Final = ("topic", "partition", "offset")


class By(StrEnum):
    """What makes two records one: their offset, or all that is in them."""

    OFFSET = "offset"
    CONTENT = "content"


class Status(StrEnum):
    """What is the matter with a record of the left log."""

    EQUAL = "equal"
    MISSING = "missing"
    EXTRA = "extra"
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How many records are equal, only in the left log, only in the right one, or not the same.

    Attributes:
        rows: those that are not equal: status, topic, partition, offset (in the log that has the
            record; in the left one if both have) and count.
    """

    equal: int
    missing: int
    extra: int
    different: int
    rows: DataFrame

    @property
    def is_none(self) -> bool:
        """Whether the logs hold the same."""
        return not (self.missing or self.extra or self.different)


def diff(
    spark: SparkSession,
    left: str,
    right: str,
    options: Mapping[str, str] = _NOTHING,
    *,
    by: By = By.OFFSET,
    columns: Sequence[str] = COMPARED,
    renamed: Mapping[str, str] = _NOTHING,
) -> Difference:
    """Compare two logs.

    Args:
        spark: a session.
        left: path of what it should be.
        right: path of what it is.
        options: of the data source, for both.
        by: offset or content.
        columns: what is compared; without timestamps where a broker gives its own.
        renamed: topics of the left log that have another name in the right one.
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
    """Keep the place of each record, and two hashes of what is compared."""
    values = [each for name in columns for each in _hashable(name)]
    digest = F.struct(*(F.xxhash64(F.lit(seed), *values) for seed in range(2)))
    return records.select(*_PLACE, digest.alias("digest"))


def _hashable(name: str) -> Sequence[Column]:
    """A hash passes over nulls, so whether it is one is hashed, too."""
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
    """Count each content on both sides; what one side has more of is missing or extra."""
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
