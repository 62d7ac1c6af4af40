"""Measures a log: sizes, rates, producers, codecs and keys.

The facts about batches come from the batch view, which only reads headers. Keys, sizes of values
and compression ratios need the records. By default, only the newest of each partition are read,
so that the work for them does not grow with the log.

The workers add up what they read, in one pass over each, and the driver adds up their sums.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from pyspark.sql import SparkSession

from broker_lite.pipeline.measure.batch_sums import COLUMNS, add_batches, batch_sums
from broker_lite.pipeline.measure.facts import (
    LINES_MAX,
    batch_facts,
    key_facts,
    merged_keys,
    record_facts,
)
from broker_lite.pipeline.measure.record_sums import (
    FORMS,
    KEYS,
    keys_by_bucket,
    record_sums,
    without_keys,
)
from broker_lite.pipeline.measure.sums import Tables, add_up
from broker_lite.pipeline.measure.time_axis import BUCKETS
from broker_lite.pipeline.read.offset_limits import TopicPartition
from broker_lite.pipeline.read.options import SPLIT_BYTES, ReadOptions
from broker_lite.pipeline.read.split import Split, gathered
from broker_lite.pipeline.report.data import LogReport, PartitionFacts
from broker_lite.pipeline.spark.jobs.group_lags import group_lags
from broker_lite.pipeline.spark.tasks import on_workers
from broker_lite.pipeline.stream.planned import plan_query

SAMPLE_BYTES: Final = 32_000_000

_SELECTIONS: Final = ("subscribe", "subscribepattern", "assign")
_NO_RECORDS: Final = {"codecs": (), "key_sizes": (), "value_sizes": (), "keys": ()}


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
    of_batches = batch_facts(_batches(spark, path, options))
    partitions = of_batches["partitions"]
    share = _share(partitions, options, sample_bytes)
    sampled = newest(options, partitions, share) if share < 1 else options
    return LogReport(
        path=path,
        sampled_share=share,
        groups=group_lags(spark, path, partitions),
        **of_batches,
        **(_records(spark, path, sampled) if with_records else _NO_RECORDS),
    )


def _batches(spark: SparkSession, path: str, options: Mapping[str, str]) -> Tables:
    own = {"view": "batches", "columns": ",".join(COLUMNS), "checkcrc": "false"}
    parsed = _parsed(path, {"oncorrupt": "report", **options, **own})
    splits = plan_query(parsed)
    sums = on_workers(spark, partial(batch_sums, parsed, _steps(splits)), _tasks(splits))
    return sums.fold({}, lambda *found: add_batches(found))


def _records(spark: SparkSession, path: str, options: Mapping[str, str]) -> dict[str, Any]:
    # Splits of the batch view are cut between batches, so that no batch counts twice.
    parsed = _parsed(path, {"oncorrupt": "skip", **options, "view": "batches"})
    sums = on_workers(spark, partial(record_sums, parsed), _tasks(plan_query(parsed))).cache()
    buckets = spark.sparkContext.defaultParallelism
    by_bucket = sums.flatMap(partial(keys_by_bucket, buckets)).reduceByKey(KEYS.of, buckets)
    keys = by_bucket.values().flatMap(key_facts).collect()
    others = sums.map(without_keys).fold({}, lambda *found: add_up(FORMS, found))
    sums.unpersist()
    return {"keys": tuple(merged_keys(keys)), **record_facts(others)}


def _parsed(path: str, options: Mapping[str, str]) -> ReadOptions:
    return ReadOptions.parse({**{name.lower(): options[name] for name in options}, "path": path})


def _tasks(splits: Iterable[Split]) -> list[list[Split]]:
    return gathered(splits, SPLIT_BYTES)


def _steps(splits: Iterable[Split]) -> dict[TopicPartition, int]:
    """Choose how many offsets lie between the sampled timestamps of the largest partitions."""
    by_partition: dict[TopicPartition, list[Split]] = defaultdict(list)
    for split in splits:
        by_partition[split.topic, split.partition].append(split)
    sizes = {key: sum(split.size_bytes for split in found) for key, found in by_partition.items()}
    largest = sorted(sizes, key=lambda key: (-sizes[key], key))[:LINES_MAX]
    return {
        key: sum(one.offset_count for one in by_partition[key]) // BUCKETS + 1 for key in largest
    }


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
