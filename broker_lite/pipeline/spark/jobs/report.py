"""Measures a log: sizes, rates, producers, codecs and keys.

The facts about batches come from the batch view, which only reads headers. Keys, sizes of values
and compression ratios need the records. By default, only the newest of each partition are read,
so that the work for them does not grow with the log.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from broker_lite.pipeline.report.data import (
    CodecFacts,
    DelayFacts,
    KeyCounts,
    LogReport,
    PartitionFacts,
    ProducerFacts,
    RatePoint,
    SizeCount,
    TimePoint,
    times_of,
)
from broker_lite.pipeline.spark.jobs.group_lags import group_lags
from broker_lite.pipeline.spark.jobs.plain_size_source import FORMAT as PLAIN_SIZES
from broker_lite.pipeline.spark.jobs.plain_size_source import PlainSizeSource

BUCKETS: Final = 120
PRODUCERS_MAX: Final = 20
LINES_MAX: Final = 8
TOP_KEYS: Final = 10
SAMPLE_BYTES: Final = 32_000_000

_SELECTIONS: Final = ("subscribe", "subscribepattern", "assign")
LOG_APPEND_TIME: Final = 1  # in the column timestampType

_WIDTHS_MS: Final = (
    *(1000, 5000, 15_000, 60_000, 300_000, 900_000, 3_600_000),
    *(6 * 3_600_000, 86_400_000, 7 * 86_400_000, 28 * 86_400_000),
)


def report(
    spark: SparkSession,
    path: str,
    options: Mapping[str, str] = MappingProxyType({}),
    *,
    with_records: bool = True,
    sample_bytes: int | None = SAMPLE_BYTES,
) -> LogReport:
    """Measure a log.

    Args:
        spark: a session.
        path: of the data source.
        options: of the data source. Damage is left out and counted.
        with_records: read records, too, for ratios, sizes and keys.
        sample_bytes: how large the batches of these records are, about; None means all records.
            Options that choose offsets or times choose the records, too: then all are read.
    """
    reader = spark.read.format("kafka_segments").options(**{"onCorrupt": "report", **options})
    rows = reader.option("view", "batches").option("checkCrc", "false").load(path)
    rows = _prepared(rows).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        batches = rows.where("error is null")
        partitions = tuple(PartitionFacts(*row) for row in partition_rows(batches).collect())
        bucket_ms = bucket_widths_ms(partitions)
        sizes = {"batch_sizes": F.col("sizeInBytes"), "batch_records": F.col("records")}
        (totals,) = total_rows(rows).collect()
        of_batches: dict[str, Any] = {
            **_sizes(batches, sizes),
            **totals.asDict(),
            "rates": tuple(RatePoint(*row) for row in rate_rows(batches, bucket_ms).collect()),
            "times": tuple(TimePoint(*row) for row in time_rows(batches, partitions).collect()),
            "producers": tuple(ProducerFacts(*row) for row in producer_rows(batches).collect()),
            "delays": tuple(DelayFacts(*row) for row in delay_rows(batches).collect()),
        }
    finally:
        rows.unpersist()
    groups = group_lags(spark, path, partitions)
    share = _share(partitions, options, sample_bytes)
    if share < 1:
        options = newest(options, partitions, share)
    of_records = _EMPTY if not with_records else _of_records(spark, path, options)
    return LogReport(
        path=path,
        partitions=partitions,
        bucket_ms=bucket_ms,
        sampled_share=share,
        groups=groups,
        **of_batches,
        **of_records,
    )


_EMPTY: Final[Mapping[str, Any]] = MappingProxyType(
    {"codecs": (), "key_sizes": (), "value_sizes": (), "keys": ()}
)


def _share(
    partitions: Sequence[PartitionFacts], options: Mapping[str, str], sample_bytes: int | None
) -> float:
    """Return the share of the offsets whose records are read."""
    is_chosen = any(name.lower().startswith(("starting", "ending")) for name in options)
    size_bytes = sum(one.size_bytes for one in partitions)
    if sample_bytes is None or is_chosen or size_bytes <= sample_bytes:
        return 1.0
    return sample_bytes / size_bytes


def newest(
    options: Mapping[str, str], partitions: Sequence[PartitionFacts], share: float
) -> dict[str, str]:
    """Return options that read the newest share of each partition that has batches."""
    starts: dict[str, dict[str, int]] = defaultdict(dict)
    for one in partitions:
        offsets = one.last_offset + 1 - one.first_offset
        starts[one.topic][str(one.partition)] = one.last_offset + 1 - max(1, round(offsets * share))
    # Starting offsets have to name all partitions that are read, so those without batches are not.
    others = {key: value for key, value in options.items() if key.lower() not in _SELECTIONS}
    assigned = {topic: sorted(map(int, found)) for topic, found in starts.items()}
    return {**others, "assign": json.dumps(assigned), "startingOffsets": json.dumps(starts)}


def _of_records(spark: SparkSession, path: str, options: Mapping[str, str]) -> Mapping[str, Any]:
    spark.dataSource.register(PlainSizeSource)
    given = {"onCorrupt": "skip", **options}
    sizes = spark.read.format(PLAIN_SIZES).options(**given).load(path)
    reader = spark.read.format("kafka_segments").options(**given)
    records = reader.option("columns", "topic,key,value").load(path)
    of_records = {"key_sizes": F.octet_length("key"), "value_sizes": F.octet_length("value")}
    return {
        "codecs": tuple(CodecFacts(*row) for row in codec_rows(sizes).collect()),
        **_sizes(records, of_records),
        "keys": key_counts(reader.option("columns", "topic,key").load(path)),
    }


def _prepared(batches: DataFrame) -> DataFrame:
    """Add first and last times in ms, and record counts, which leave out markers.

    A compacted batch can have a delete horizon, in the future, in place of its base timestamp. With
    LogAppendTime all records have the batch's max timestamp; its base timestamp is a producer's.
    """
    last = F.unix_millis("maxTimestamp")
    is_append_time = F.col("timestampType") == LOG_APPEND_TIME
    first = F.when(is_append_time, last).otherwise(F.least(F.unix_millis("baseTimestamp"), last))
    records = F.when(~F.col("isControl"), F.col("recordCount"))
    return batches.withColumns({"firstMs": first, "lastMs": last, "records": records})


def bucket_widths_ms(partitions: Sequence[PartitionFacts]) -> dict[str, int]:
    """Choose the width of time buckets for the largest topics that have times.

    Each topic has at most BUCKETS of them if less than 64 years lie between its times. No bucket is
    shorter than a second, so that a topic of one record does not look like 1000 a second.
    """
    by_topic: dict[str, list[PartitionFacts]] = defaultdict(list)
    for one in partitions:
        if one.last_ms is not None:
            by_topic[one.topic].append(one)
    sizes = {topic: sum(one.size_bytes for one in found) for topic, found in by_topic.items()}
    largest = sorted(sizes, key=lambda topic: (-sizes[topic], topic))[:LINES_MAX]
    return {topic: _width_ms(*times_of(by_topic[topic])) for topic in largest}


def _width_ms(first_ms: int | None, last_ms: int | None) -> int:
    span_ms = 0 if first_ms is None or last_ms is None else last_ms - first_ms
    return next((width for width in _WIDTHS_MS if width * BUCKETS >= span_ms), _WIDTHS_MS[-1])


def partition_rows(batches: DataFrame) -> DataFrame:
    """Sum up each partition, in the columns of PartitionFacts."""
    offsets = F.max("lastOffset") - F.min("baseOffset") + 1
    missing = offsets - F.sum("recordCount")
    return (
        batches.groupBy("topic", "partition")
        .agg(
            F.count("*"),
            F.coalesce(F.sum("records"), F.lit(0)),
            F.sum("sizeInBytes"),
            F.min(F.coalesce("baseOffset", "lastOffset")),
            F.max("lastOffset"),
            F.min("firstMs"),
            F.max("lastMs"),
            F.when(F.count("recordCount") == F.count("*"), missing),
        )
        .orderBy("topic", "partition")
    )


def rate_rows(batches: DataFrame, bucket_ms: Mapping[str, int]) -> DataFrame:
    """Sum up topics by time bucket, as RatePoint; a batch counts at its last timestamp."""
    width = _looked_up(F.col("topic"), bucket_ms)
    at_ms = (F.floor(F.col("lastMs") / width) * width).alias("at")
    dated = batches.where(F.col("lastMs").isNotNull() & width.isNotNull()).groupBy("topic", at_ms)
    return dated.agg(F.coalesce(F.sum("records"), F.lit(0)), F.sum("sizeInBytes")).orderBy(
        "topic", "at"
    )


def _looked_up(name: Column, values: Mapping[str, int]) -> Column:
    """Return the value for a name, null if there is none."""
    found = F.lit(None).cast("long")
    for one, value in values.items():
        found = F.when(name == one, F.lit(value)).otherwise(found)
    return found


def time_rows(batches: DataFrame, partitions: tuple[PartitionFacts, ...]) -> DataFrame:
    """Sample timestamps over the offsets of the largest partitions, as TimePoint."""
    largest = sorted(partitions, key=lambda one: one.size_bytes, reverse=True)[:LINES_MAX]
    name = F.concat_ws("-", "topic", "partition")
    steps = {one.name: (one.last_offset - one.first_offset) // BUCKETS + 1 for one in largest}
    bucket = F.floor(F.col("lastOffset") / _looked_up(name, steps))
    chosen = batches.where(name.isin([one.name for one in largest]) & F.col("lastMs").isNotNull())
    grouped = chosen.groupBy(name.alias("name"), bucket.alias("bucket"))
    points = grouped.agg(F.max("lastOffset").alias("offset"), F.max("lastMs").alias("at"))
    return points.select("name", "offset", "at").orderBy("name", "offset")


def producer_rows(batches: DataFrame) -> DataFrame:
    """Sum up the largest producers, in the columns of ProducerFacts."""
    return (
        _idempotent(batches)
        .groupBy("producerId")
        .agg(
            F.count_distinct("producerEpoch"),
            F.count_distinct("topic", "partition"),
            F.count("*"),
            F.count_if("isTransactional"),
            F.sum("records"),
            F.sum("sizeInBytes").alias("size"),
            F.min("firstMs"),
            F.max("lastMs"),
        )
        .orderBy(F.desc("size"), "producerId")
        .limit(PRODUCERS_MAX)
    )


def delay_rows(batches: DataFrame) -> DataFrame:
    """Measure the time from producers to appends, as DelayFacts.

    With LogAppendTime, a broker stores its own time as the largest timestamp, and keeps the base
    timestamp of the producer. A batch that it had to build anew has its time in both: it tells
    nothing. With CreateTime no time of an append is stored.
    """
    delay = F.unix_millis("maxTimestamp") - F.unix_millis("baseTimestamp")
    told = (F.col("timestampType") == LOG_APPEND_TIME) & (delay > 0) & ~F.col("isControl")
    of_topic = batches.where(told & F.col("deleteHorizon").isNull()).groupBy("topic")
    middle, late = (F.percentile_approx(delay, share, 10_000) for share in (0.5, 0.99))
    return of_topic.agg(F.count("*"), middle, late, F.max(delay)).orderBy("topic")


def _idempotent(batches: DataFrame) -> DataFrame:
    return batches.where("producerId >= 0 AND NOT isControl")


def total_rows(rows: DataFrame) -> DataFrame:
    """Count all idempotent producers, and the damaged places."""
    is_idempotent = F.col("error").isNull() & (F.col("producerId") >= 0) & ~F.col("isControl")
    return rows.agg(
        F.count_distinct(F.when(is_idempotent, F.col("producerId"))).alias("producer_count"),
        F.count_if(F.col("error").isNotNull()).alias("damaged_places"),
    )


def codec_rows(sizes: DataFrame) -> DataFrame:
    """Add up the sums of all tasks, in the columns of CodecFacts."""
    names = ("batches", "records", "storedBytes", "plainBytes")
    grouped = sizes.groupBy("topic", "codec").agg(*(F.sum(name).alias(name) for name in names))
    return grouped.orderBy("topic", "codec")


def key_counts(records: DataFrame) -> tuple[KeyCounts, ...]:
    """Count the records of each key."""
    counted = records.groupBy("topic", "key").agg(F.count("*").alias("records"))
    counted = counted.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        top: dict[str, list[tuple[bytes, int]]] = defaultdict(list)
        for row in top_keys(counted).collect():
            top[row.topic].append((bytes(row.key), row.records))
        without = F.sum(F.when(F.col("key").isNull(), F.col("records")).otherwise(0))
        totals = counted.groupBy("topic").agg(F.sum("records"), without, F.count("key"))
        rows = totals.orderBy("topic").collect()
    finally:
        counted.unpersist()
    return tuple(KeyCounts._make((topic, *numbers, tuple(top[topic]))) for topic, *numbers in rows)


def top_keys(counted: DataFrame) -> DataFrame:
    """Select the keys with the most records of each topic: topic, key, records, place."""
    of_topic = Window.partitionBy("topic").orderBy(F.desc("records"), "key")
    placed = counted.where(F.col("key").isNotNull()).withColumn(
        "place", F.row_number().over(of_topic)
    )
    return placed.where(F.col("place") <= TOP_KEYS).orderBy("topic", "place")


def _sizes(rows: DataFrame, sizes: Mapping[str, Column]) -> dict[str, tuple[SizeCount, ...]]:
    """Count sizes by name in one read, rounded up to powers of two; null does not count."""
    named = [
        F.struct(
            F.lit(name).alias("name"),
            F.when(size > 0, F.pow(2, F.ceil(F.log2(size))).cast("long"))
            .otherwise(size)
            .alias("size"),
        )
        for name, size in sizes.items()
    ]
    each = rows.select(F.explode(F.array(*named)).alias("one")).where("one.size IS NOT NULL")
    counted = each.groupBy("one.name", "one.size").agg(F.count("*").alias("number"))
    found: dict[str, list[SizeCount]] = {name: [] for name in sizes}
    for name, size, number in counted.orderBy("name", "size").collect():
        found[name].append(SizeCount(size, number))
    return {name: tuple(counts) for name, counts in found.items()}
