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
from broker_lite.pipeline.measure.record_sums import FORMS, added, by_bucket, record_sums
from broker_lite.pipeline.measure.sums import Tables, add_up
from broker_lite.pipeline.measure.time_axis import BUCKETS
from broker_lite.pipeline.read.offset_limits import TopicPartition
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.split import Split, gathered
from broker_lite.pipeline.report.data import KeyCounts, LogReport, PartitionFacts
from broker_lite.pipeline.spark.jobs.group_lags import group_lags
from broker_lite.pipeline.spark.tasks import on_workers
from broker_lite.pipeline.stream.planned import plan_query

SAMPLE_BYTES: Final = 32_000_000
TASK_BYTES_MIN: Final = 8 << 20
"""Tasks are not made smaller than that; starting one costs 60 ms of CPU."""
HEADER_TASK_BYTES: Final = 512 << 20
RECORD_TASK_BYTES: Final = 128 << 20
TASKS_A_CORE: Final = 2
"""At least so many, so that no core waits for long for the others."""

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
    tasks = _tasks(spark, splits, HEADER_TASK_BYTES)
    sums = on_workers(spark, partial(batch_sums, parsed, _steps(splits)), tasks)
    return add_batches(sums.collect())


def _records(spark: SparkSession, path: str, options: Mapping[str, str]) -> dict[str, Any]:
    # Splits of the batch view are cut between batches, so that no batch counts twice.
    parsed = _parsed(path, {"oncorrupt": "skip", **options, "view": "batches"})
    tasks = _tasks(spark, plan_query(parsed), RECORD_TASK_BYTES)
    sums = on_workers(spark, partial(record_sums, parsed), tasks)
    cores = spark.sparkContext.defaultParallelism
    divided = sums.flatMap(partial(by_bucket, cores))
    whole = divided.combineByKey(lambda one: [one], added, _joined, min(cores, len(tasks)) or 1)
    facts = whole.values().map(_bucket_facts).collect()
    others = [one for one in facts if isinstance(one, dict)]
    keys = [one for some in facts if isinstance(some, list) for one in some]
    return {"keys": tuple(merged_keys(keys)), **record_facts(add_up(FORMS, others))}


def _joined(sums: list[Tables], others: list[Tables]) -> list[Tables]:
    for one in others:
        added(sums, one)
    return sums


def _bucket_facts(sums: list[Tables]) -> list[KeyCounts] | Tables:
    """Return the facts of a bucket of keys; the sums of the bucket with all others."""
    whole = add_up(FORMS, sums)
    return key_facts(whole["keys"]) if "keys" in whole else whole


def _parsed(path: str, options: Mapping[str, str]) -> ReadOptions:
    return ReadOptions.parse({**{name.lower(): options[name] for name in options}, "path": path})


def _tasks(spark: SparkSession, splits: Sequence[Split], size_bytes_max: int) -> list[list[Split]]:
    """Put splits together into tasks, for each core some of them."""
    size_bytes = sum(split.size_bytes for split in splits)
    each = size_bytes // (spark.sparkContext.defaultParallelism * TASKS_A_CORE) + 1
    return gathered(splits, min(max(each, TASK_BYTES_MIN), size_bytes_max))


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
