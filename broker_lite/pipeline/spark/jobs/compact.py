"""Compact a log offline, by the rules of a broker's cleaner.

Spark finds the newest offset of each key, over all partitions at once, with any number of keys. The
tasks that rewrite the segments get these offsets as bitmaps.

Not done: topics with messages of magic 0 or 1 are refused; min.compaction.lag.ms counts as 0; the
whole log is read, however little of it is new; the indexes of the new segments do not keep the
entries of aborted transactions, whose records are gone.
"""

import json
import uuid
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from broker_lite.pipeline.compact.plan import CompactionGroup, plan_compaction
from broker_lite.pipeline.compact.survivors import BUCKET_OFFSETS, BUCKET_SHIFT
from broker_lite.pipeline.compact.swap import swap_all
from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.files.log_root import locked, refuse_unusable, sweep
from broker_lite.pipeline.files.open_file_io import open_file_io
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.ranges import find_logs
from broker_lite.pipeline.spark.jobs.compaction_task import (
    EMPTIED_MARKERS,
    SURVIVORS,
    CompactionTask,
)

DELETE_RETENTION_MS: Final = 86_400_000

_PARTITION: Final = ("topic", "partition")
_GROUP: Final = (*_PARTITION, "baseOffset", "endOffset", "roundEnd")
_GROUP_SCHEMA: Final = "topic string, partition int, baseOffset long, endOffset long, roundEnd long"


class CompactionRefused(ValueError):
    """A log cannot be compacted; the text is one line for the user."""


def compact(
    spark: SparkSession,
    path: str,
    topics: Iterable[str],
    *,
    now_ms: int,
    delete_retention_ms: int = DELETE_RETENTION_MS,
) -> list[CompactionGroup]:
    """Compact the logs of topics in a directory that no broker uses.

    Args:
        spark: a session whose workers see the directory under the same path.
        path: a log directory, local or mounted.
        topics: topics with cleanup.policy=compact; records without a key are removed.
        now_ms: the time, for tombstones.
        delete_retention_ms: how long a tombstone stays after a compaction first saw it.

    Returns:
        The groups of segments that were rewritten.

    Raises:
        CompactionRefused: the directory is not local.
        WriteRefused: a broker uses it, or was not stopped cleanly.
        PlanError: a topic does not exist.
        CorruptLog: a log is damaged; nothing was changed.

    See: S-80, S-83, S-84, S-86, S-87, S-89 (LogCleaner).
    """
    io, root = open_file_io(path)
    if not isinstance(io, LocalFileIO):
        raise CompactionRefused(f"path {path!r}: only a local directory can be compacted")
    if not io.exists(root):
        raise FileNotFoundError(f"no such directory: {root}")
    with locked(io, root):
        refuse_unusable(io, root)
        options = ReadOptions.parse({"path": root, "subscribe": ",".join(topics)})
        groups = plan_compaction(io, find_logs(io, root, options))
        if groups:
            rows = _survivors_by_group(spark, root, groups)
            task = CompactionTask(root, f"{uuid.uuid4().hex}-", now_ms, delete_retention_ms)
            try:
                swap_all(root, sorted(rows.rdd.map(task.rewrite).collect()))
            finally:
                sweep(io, root, task.job)  # the files of attempts that Spark did not take
    return groups


def newest_offsets(records: DataFrame) -> DataFrame:
    """Select the offset of the newest record of each key: topic, partition, offset.

    See: S-82, S-84 (Cleaner.buildOffsetMap).
    """
    newest = records.where(F.col("key").isNotNull()).groupBy(*_PARTITION, "key")
    return newest.agg(F.max("offset").alias("offset")).drop("key")


def emptied_markers(batches: DataFrame) -> DataFrame:
    """Select the offsets of the markers whose transaction has no batch: topic, partition, offset.

    See: S-86 (CleanedTransactionMetadata.onControlBatchRead).
    """
    of_producer = Window.partitionBy(*_PARTITION, "producerId").orderBy("baseOffset")
    before = F.lag("isControl").over(of_producer)
    is_emptied = F.col("isControl") & F.coalesce(before, F.lit(True))
    judged = batches.where("isTransactional").withColumn("isEmptied", is_emptied)
    return judged.where("isEmptied").select(*_PARTITION, F.col("baseOffset").alias("offset"))


def _survivors_by_group(spark: SparkSession, root: str, groups: list[CompactionGroup]) -> DataFrame:
    """Select the groups with what is left of them, for CompactionTask."""
    ends: dict[str, dict[int, int]] = defaultdict(dict)
    for group in groups:
        ends[group.topic][group.partition] = group.round_end
    partitions = json.dumps({topic: list(each) for topic, each in ends.items()})
    reader = spark.read.format("kafka_segments").option("assign", partitions)
    reader = reader.option("endingOffsets", json.dumps(ends))
    batches = reader.option("view", "batches").load(root)
    reader = reader.option("view", "records").option("columns", "topic,partition,key,offset")
    records = reader.option("isolationLevel", "read_committed").load(root)
    survivors = newest_offsets(records).withColumn("kind", F.lit(SURVIVORS))
    markers = emptied_markers(batches).withColumn("kind", F.lit(EMPTIED_MARKERS))
    return _by_group(spark, groups, _as_bits(survivors.unionByName(markers)))


def _as_bits(offsets: DataFrame) -> DataFrame:
    """Pack offsets into bitmaps for OffsetSet: topic, partition, kind, bucket, bits."""
    bucket = F.shiftright("offset", BUCKET_SHIFT).alias("bucket")
    bit = F.col("offset").bitwiseAND(BUCKET_OFFSETS - 1)
    packed = offsets.groupBy(*_PARTITION, "kind", bucket)
    return packed.agg(F.bitmap_construct_agg(bit).alias("bits"))


def _by_group(spark: SparkSession, groups: list[CompactionGroup], bits: DataFrame) -> DataFrame:
    """Give each group the buckets of its offsets; a bucket of two groups goes to both."""
    rows = [(*group[:2], group.base_offset, group.end_offset, group.round_end) for group in groups]
    frame = spark.createDataFrame(rows, _GROUP_SCHEMA)
    first = F.shiftright("baseOffset", BUCKET_SHIFT)
    last = F.shiftright(F.col("endOffset") - 1, BUCKET_SHIFT)
    buckets = frame.withColumn("bucket", F.explode(F.sequence(first, last)))
    joined = buckets.join(bits, [*_PARTITION, "bucket"], "left")
    # collect_list drops nulls, so a group without offsets gets an empty list.
    found = F.when(F.col("bits").isNotNull(), F.struct("kind", "bucket", "bits"))
    grouped = joined.groupBy(*_GROUP).agg(F.collect_list(found).alias("offsets"))
    return grouped.repartition(len(groups), *_GROUP)
