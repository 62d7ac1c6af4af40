"""Imports rows as segments, each partition in the order of its offsets.

What export made becomes the same batches again: records, producers, sequences, leader epochs,
timestamp types, codecs, and the markers of transactions. Where they cannot be kept, records are
written as a reader of committed records sees them, and each kind of loss is told with its count.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from broker_lite.pipeline.files.layout import find_partitions
from broker_lite.pipeline.files.log_root import is_data_directory
from broker_lite.pipeline.files.open_file_io import open_file_io
from broker_lite.pipeline.read.offset_limits import TopicPartition
from broker_lite.pipeline.spark.jobs.batch_states import (
    HIDDEN,
    STATE,
    State,
    is_hidden,
    is_state,
    with_states,
)
from broker_lite.pipeline.spark.jobs.exported import PARQUET, read_batches_of, read_kept
from broker_lite.pipeline.write.commit import leader_epochs
from broker_lite.pipeline.write.kept_batches import HEADER_COLUMN
from broker_lite.pipeline.write.options import WriteOptions
from broker_lite.record.control import ControlType, encode_control_key

_CONTROL_KEYS: Final = " ".join(
    f"WHEN '{one.name}' THEN X'{encode_control_key(one).hex()}'"
    for one in ControlType
    if one is not ControlType.UNKNOWN
)
_LOG_APPEND_TIME: Final = 1
_APPENDED: Final = "appended"
_KEPT: Final = "magic = 2 AND (NOT isControl OR recordCount = 0 OR controlKey IS NOT NULL)"


def import_table(
    spark: SparkSession,
    table: str,
    path: str,
    options: Mapping[str, str] = MappingProxyType({}),
    *,
    table_format: str = PARQUET,
) -> tuple[str, ...]:
    """Write the table of an export as logs.

    Args:
        spark: a session.
        table: directory or URI of the table.
        path: of the logs, as of the data source.
        options: of the data source's writer. The batches are kept, unless keepBatches=false or
            keepOffsets=false, or the logs are those of a broker, whose producer ids and leader
            epochs are its own.
        table_format: parquet, delta or iceberg.

    Returns:
        What could not be kept, or needs care: one line for each kind, with its count.
    """
    given = {"keepoffsets": "true", **{name.lower(): value for name, value in options.items()}}
    records, batches = read_kept(spark, table, table_format), read_batches_of(spark, table)
    if batches is None:
        seen = _import_visible(records, path, given)
        of_all = "producer ids, sequences, leader epochs and markers"
        return (*_not_kept(seen), f"the table has no batches: no {of_all} for its records")
    why = _why_not_kept(path, given)
    if why is not None:
        seen = _import_visible(records, path, given)
        return (*_not_kept(seen), *_not_kept_of(batches, why))
    batches = batches.withColumn("controlKey", F.expr(f"CASE controlType {_CONTROL_KEYS} END"))
    headers = _as_rows(batches.where(_KEPT))
    rows = records.unionByName(headers, allowMissingColumns=True)
    later = _latest_epochs(path)
    import_records(rows, path, {**given, "keepbatches": "true"})
    return (*_raised(batches, later), *_changed(batches))


def import_records(
    records: DataFrame, path: str, options: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Write records as logs, at their own offsets unless the options say keepOffsets=false.

    Args:
        records: with the columns of the record view.
        path: of the logs, as of the data source.
        options: of the data source's writer.
    """
    # Spark looks for formats in the active session of the thread, and a thread that the program has
    # started has none, so a write would not find ours. To make a DataFrame activates the session.
    records.sparkSession.createDataFrame([], "offset long")
    order: list[str | Column] = ["topic", "partition", "offset"]
    if HEADER_COLUMN in records.columns:
        order.append(F.col(HEADER_COLUMN).isNull())
    ordered = records.repartition("topic", "partition").sortWithinPartitions(*order)
    writer = ordered.write.format("kafka_segments").mode("append").option("keepOffsets", "true")
    writer.options(**options).save(path)


def _import_visible(records: DataFrame, path: str, options: Mapping[str, str]) -> Mapping[str, Any]:
    """Write what a reader of committed records sees, and count what is lost."""
    seen = Observation()
    counted = records.observe(
        seen,
        *(F.count_if(is_state(state)).alias(state) for state in HIDDEN),
        F.count_if(~is_hidden() & (F.col("timestampType") == _LOG_APPEND_TIME)).alias(_APPENDED),
    )
    import_records(counted.where(~is_hidden()), path, options)
    return defaultdict(int, seen.get)  # Spark does not count in a plan that cannot have rows


def _why_not_kept(path: str, options: Mapping[str, str]) -> str | None:
    """Return why the batches cannot be those of the table; None if they can."""
    parsed = WriteOptions.parse({**options, "path": path})
    if not parsed.keep_offsets:
        return "the records get new offsets"
    if options.get("keepbatches", "true").lower() != "true":
        return "keepBatches=false"
    io, root = open_file_io(path)
    if is_data_directory(io, root):
        return "a broker's producer ids and leader epochs are its own"
    return None


def _not_kept(seen: Mapping[str, Any]) -> Iterator[str]:
    for state in HIDDEN:
        if seen[state]:
            yield f"{seen[state]} records of {state} transactions are left out"
    if seen[_APPENDED]:
        yield f"{seen[_APPENDED]} timestamps of type LogAppendTime become CreateTime"


def _not_kept_of(batches: DataFrame, why: str) -> Iterator[str]:
    kinds = {
        "producer ids and sequences of {} batches": "NOT isControl AND producerId >= 0",
        "{} control batches, as markers of transactions": "isControl",
        "leader epochs of {} batches": "partitionLeaderEpoch > 0",
        "delete horizons of {} batches": "deleteHorizon IS NOT NULL",
    }
    for text, count in _counts(batches, kinds):
        yield f"not kept: {text.format(count)}; {why}"


def _latest_epochs(path: str) -> dict[TopicPartition, int]:
    """Return the latest leader epoch of each log that is there already."""
    io, root = open_file_io(path)
    if not io.exists(root):
        return {}
    logs = find_partitions(io, root, lambda *_: True)
    return {key: leader_epochs(io, log.directory).latest_epoch for key, log in logs.items()}


def _raised(batches: DataFrame, later: Mapping[TopicPartition, int]) -> Iterator[str]:
    """Tell of batches with a lower epoch than their log had; all new ones of it get the latter.

    See: S-63 (LeaderEpochFileCache.assign).
    """
    if not any(epoch > 0 for epoch in later.values()):
        return
    found = batches.groupBy("topic", "partition").agg(
        F.min("partitionLeaderEpoch").alias("lowest"), F.count("*").alias("batches")
    )
    count = sum(
        row.batches
        for row in found.collect()
        if row.lowest < later.get((row.topic, row.partition), -1)
    )
    if count:
        yield f"not kept: leader epochs of {count} batches; their logs had later ones already"


def _changed(batches: DataFrame) -> Iterator[str]:
    kinds = {
        "{} batches of message format 0 or 1 are written in format 2": "magic < 2",
        "{} control batches of unknown type are left out": f"magic = 2 AND NOT ({_KEPT})",
    }
    for text, count in _counts(batches, kinds):
        yield text.format(count)
    transaction = ("topic", "partition", "producerId")
    # Of the table, not of the log that was exported: a marker behind a wanted end is not in it.
    ended = with_states(batches.drop(STATE))
    still_open = ended.where(is_state(State.OPEN)).select(*transaction).distinct().count()
    if still_open:
        yield f"{still_open} transactions are open: readers of committed records stop at the first"


def _counts(batches: DataFrame, kinds: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Yield the text of each kind that occurs, and its count."""
    counts = [F.count_if(F.expr(chosen)).alias(text) for text, chosen in kinds.items()]
    (row,) = batches.agg(*counts).collect()
    yield from ((text, count) for text, count in row.asDict().items() if count)


def _as_rows(batches: DataFrame) -> DataFrame:
    """Make the rows that stand for batches; that of a control batch has its record.

    See: R-41 (ControlRecordType).
    """
    header = F.struct(
        "lastOffset",
        "recordCount",
        "codec",
        "timestampType",
        "isTransactional",
        "isControl",
        "producerId",
        "producerEpoch",
        "baseSequence",
        F.col("partitionLeaderEpoch").alias("leaderEpoch"),
        F.unix_millis("baseTimestamp").alias("baseTimestamp"),
        F.unix_millis("maxTimestamp").alias("maxTimestamp"),
        F.col("deleteHorizon").isNotNull().alias("hasDeleteHorizon"),
    )
    return batches.select(
        F.col("controlKey").alias("key"),
        F.col("controlValue").alias("value"),
        "topic",
        "partition",
        F.col("baseOffset").alias("offset"),
        F.col("maxTimestamp").alias("timestamp"),
        header.alias(HEADER_COLUMN),
    )
