"""Finds out how far groups are behind the ends of a log, by the offsets that they committed.

The log has to be a broker's: what groups commit is in the topic __consumer_offsets.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from broker_lite.coordinator.offset_records import (
    OFFSET_COMMIT,
    decode_offset_key,
    decode_offset_value,
)
from broker_lite.pipeline.files.layout import find_partitions
from broker_lite.pipeline.files.open_file_io import open_file_io
from broker_lite.pipeline.report.data import GroupFacts, PartitionFacts
from broker_lite.wire.primitives import DecodeError

_TOPIC: Final = "__consumer_offsets"
_OPTIONS: Final = {
    "subscribe": _TOPIC,
    "columns": "key,value,offset,partition",
    "isolationLevel": "read_committed",
    "onCorrupt": "skip",
}
_Committed = tuple[str, str, int, int, int]
"""Group, topic, partition, offset, and the time of the commit in ms."""


def group_lags(
    spark: SparkSession, path: str, partitions: Sequence[PartitionFacts]
) -> tuple[GroupFacts, ...]:
    """Return the lags of all groups that committed offsets of some partitions, largest first.

    An offset that a transaction commits counts when it has ended. Groups of a log without
    __consumer_offsets are not known.

    Args:
        spark: a session.
        path: of the data source.
        partitions: of the report.

    See: G-66 (OffsetMetadataManager.replay).
    """
    io, root = open_file_io(path)
    if all(
        topic != _TOPIC for topic, _ in find_partitions(io, root, lambda *key: key[0] == _TOPIC)
    ):
        return ()
    ends = {(one.topic, one.partition): one.last_offset + 1 for one in partitions}
    lags: dict[str, dict[str, int]] = defaultdict(dict)
    latest_ms: dict[str, int] = defaultdict(int)
    for group, topic, partition, offset, commit_ms in _committed(spark, path):
        end = ends.get((topic, partition))
        if end is not None:
            lags[group][f"{topic}-{partition}"] = max(end - offset, 0)
            latest_ms[group] = max(latest_ms[group], commit_ms)
    facts = [_facts(group, of_group, latest_ms[group]) for group, of_group in lags.items()]
    return tuple(sorted(facts, key=lambda one: (-one.lag, one.group)))


def _facts(group: str, lags: dict[str, int], commit_ms: int) -> GroupFacts:
    largest = max(lags, key=lambda name: lags[name])
    return GroupFacts(group, len(lags), sum(lags.values()), largest, lags[largest], commit_ms)


def _committed(spark: SparkSession, path: str) -> Iterator[_Committed]:
    """Yield what is committed now: the last record of each key that is not removed."""
    records = spark.read.format("kafka_segments").options(**_OPTIONS).load(path)
    last = records.groupBy("partition", "key").agg(F.max_by("value", "offset").alias("value"))
    for row in last.where("key IS NOT NULL AND value IS NOT NULL").toLocalIterator():
        key, value = bytes(row.key), bytes(row.value)
        if int.from_bytes(key[:2]) > OFFSET_COMMIT:
            continue  # about the group itself
        try:
            group, topic, partition = decode_offset_key(key)
            committed = decode_offset_value(value)
        except DecodeError:
            continue  # no coordinator takes it, either
        yield group, topic, partition, committed.offset, committed.commit_ms
