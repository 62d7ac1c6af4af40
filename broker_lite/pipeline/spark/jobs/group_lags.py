"""Finds out how far groups are behind the ends of a log, by the offsets that they committed.

The log has to be a broker's: what groups commit is in the topic __consumer_offsets.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from broker_lite.coordinator.offset_records import (
    OFFSET_COMMIT,
    decode_offset_key,
    decode_offset_value,
)
from broker_lite.pipeline.files.layout import find_partitions
from broker_lite.pipeline.files.open_file_io import open_file_io
from broker_lite.pipeline.measure.sums import Sums
from broker_lite.pipeline.read.options import SPLIT_BYTES, ReadOptions
from broker_lite.pipeline.read.split import Split, gathered
from broker_lite.pipeline.report.data import GroupFacts, PartitionFacts
from broker_lite.pipeline.spark.tasks import on_workers
from broker_lite.pipeline.stream.planned import plan_query, read_planned
from broker_lite.pipeline.views.table import view_schema
from broker_lite.wire.primitives import DecodeError

_TOPIC: Final = "__consumer_offsets"
_OPTIONS: Final = {
    "subscribe": _TOPIC,
    "columns": "partition,offset,key,value",
    "isolationLevel": "read_committed",
    "onCorrupt": "skip",
}
_LAST: Final = Sums(("partition", "key"), {"offset": "max"})
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
    options = ReadOptions.parse({**_OPTIONS, "path": path})
    tasks = gathered(plan_query(options), SPLIT_BYTES)
    last: dict[tuple[int, bytes], bytes | None] = {}
    for records in on_workers(spark, partial(last_records, options), tasks).collect():
        for partition, _, key, value in zip(
            *(map(pa.ChunkedArray.to_pylist, records)), strict=True
        ):
            last[partition, key] = value
    for (_, key), value in last.items():
        if value is None or int.from_bytes(key[:2]) > OFFSET_COMMIT:
            continue  # removed, or about the group itself
        try:
            group, topic, partition = decode_offset_key(key)
            committed = decode_offset_value(value)
        except DecodeError:
            continue  # no coordinator takes it, either
        yield group, topic, partition, committed.offset, committed.commit_ms


def last_records(options: ReadOptions, splits: Iterable[Split]) -> pa.Table:
    """Read the last record of each key, in order of partitions and offsets, perhaps more.

    Args:
        options: of a read of partition, offset, key and value.
        splits: in order of partitions and offsets.
    """
    tables = [view_schema(options).empty_table()]
    for split in splits:
        io, _ = open_file_io(split.uri)
        rows = pa.Table.from_batches(read_planned(io, split, options), tables[0].schema)
        rows = rows.filter(pc.is_valid(rows["key"]))
        last = _LAST.of(rows)
        tables.append(rows.filter(pc.is_in(rows["offset"], last["offset"])))
    return pa.concat_tables(tables)
