"""Exports records as a Parquet table, partitioned by topic and partition.

The batches of the records, with their producers, sequences and leader epochs, and the markers of
transactions go into a table of their own beside it, so that import can make the same log again.
What cannot be kept, or is not what it seems, is told with its count.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from broker_lite.pipeline.read.options import IsolationLevel, ReadOptions
from broker_lite.pipeline.spark.jobs.batch_states import (
    HIDDEN,
    STATE,
    is_abort,
    is_hidden,
    is_state,
    partition_ends,
    with_states,
)
from broker_lite.pipeline.spark.jobs.exported import (
    BATCHES,
    KEPT_COLUMNS,
    PARQUET,
    RECORD_COLUMNS,
    batches_place,
    is_there,
    read_export,
)
from broker_lite.pipeline.views.record_schema import BATCH_OFFSET

__all__ = ["ExportError", "Exported", "export", "read_export", "records_of"]

BROADCAST_MAX: Final = 1_000_000
"""Batches that each task may hold, 64 MB; more are joined by a sort."""

_DIRECTORIES: Final = ("topic", "partition")
_ENDINGS: Final = ("endingoffsets", "endingtimestamp", "endingoffsetsbytimestamp")
_OWN_COLUMNS: Final = ("columns", "view")
_ISOLATION: Final = ("isolationlevel", "kafka.isolation.level")
_HEADER_KEYS: Final = "headerKeys"
_REPLACEMENT: Final = "\ufffd"


class ExportError(ValueError):
    """An export is not possible; the text is one line for the user."""


class Exported(NamedTuple):
    """What an export wrote.

    Attributes:
        records: how many; None if the table was there and stayed as it was.
        notes: what was left out, or needs care: one line for each kind, with its count.
    """

    records: int | None
    notes: tuple[str, ...]


def export(
    spark: SparkSession,
    path: str,
    target: str,
    options: Mapping[str, str] = MappingProxyType({}),
    *,
    compression: str = "zstd",
    mode: str = "errorifexists",
    batches_target: str | None = None,
) -> Exported:
    """Write the records of a log as a table, headers included.

    Without isolationLevel=read_committed the records of aborted and of open transactions are in the
    table, too, and its column `transaction` says so.

    Args:
        spark: a session.
        path: of the data source.
        target: directory or URI of the table.
        options: of the data source. With `columns` or `view` the table has only these columns, and
            import cannot make the batches again.
        compression: of the Parquet files.
        mode: of Spark's writer: errorifexists, overwrite, append or ignore.
        batches_target: target of another table of batch headers, None for no such table.

    Raises:
        ExportError: one of the tables exists; nothing was written.
    """
    if mode == "errorifexists":
        for place in (target, batches_target):
            if place is not None and is_there(spark, place):
                raise ExportError(f"{place} already exists: modes append and overwrite write to it")
    if mode == "ignore" and is_there(spark, target):
        return Exported(None, (f"{target} already exists: it stays as it is",))
    given = {name.lower(): value for name, value in options.items()}
    batches = _batches_of(spark, path, given).persist(StorageLevel.MEMORY_AND_DISK)
    tables = _Writer(compression, mode)
    try:
        if given.keys() & set(_OWN_COLUMNS):
            records = records_of(spark, path, options)
            seen = tables.write(records, target, _DIRECTORIES)
            notes: list[str] = [f"only some columns: without {BATCHES}, import makes new batches"]
        else:
            seen, notes = _export_all(spark, path, target, given, batches, tables)
        if batches_target is not None:
            tables.write(batches, batches_target, _DIRECTORIES)
    finally:
        batches.unpersist()
    return Exported(seen["records"], tuple(notes))


class _Writer(NamedTuple):
    """How tables are written."""

    compression: str
    mode: str

    def write(self, table: DataFrame, target: str, directories: tuple[str, ...]) -> dict[str, Any]:
        """Write a table and return the counts of what went through."""
        seen = Observation()
        counts = [F.count(F.lit(1)).alias("records")]
        if {STATE, "headers"} <= set(table.columns):
            counts += [F.count_if(is_state(state)).alias(state) for state in HIDDEN]
            keys = F.filter("headers", lambda pair: pair["key"].contains(_REPLACEMENT))
            replaced = F.when(F.col("headers").isNotNull(), F.size(keys))
            counts.append(F.sum(replaced).alias(_HEADER_KEYS))
        writer = table.observe(seen, *counts).write.format(PARQUET).mode(self.mode)
        writer.partitionBy(*directories).option("compression", self.compression).save(target)
        # Spark drops the counting from a plan that cannot have rows.
        return defaultdict(int, seen.get)


def _export_all(
    spark: SparkSession,
    path: str,
    target: str,
    options: Mapping[str, str],
    batches: DataFrame,
    tables: _Writer,
) -> tuple[dict[str, Any], list[str]]:
    parsed = ReadOptions.parse({**options, "path": path})
    is_committed_only = parsed.isolation_level is IsolationLevel.READ_COMMITTED
    ends = partition_ends(batches, is_committed_only=is_committed_only)
    # A broker may write meanwhile: what came after the batches were read has no state yet.
    columns = ",".join((*RECORD_COLUMNS, BATCH_OFFSET))
    records = spark.read.format("kafka_segments").options(**options).option("columns", columns)
    table = _before(records.load(path), ends, "offset")
    if not is_committed_only:
        table = _with_hidden_states(table, batches)
    else:
        table = table.withColumn(STATE, F.lit(None).cast("string"))
    seen = tables.write(table.select(*RECORD_COLUMNS, *KEPT_COLUMNS), target, _DIRECTORIES)
    kept = _before(batches, ends, "lastOffset")
    if is_committed_only:
        kept = kept.where(~is_hidden() & ~is_abort())
    tables.write(kept, batches_place(target), ())
    notes = _left_out(batches, ends) if is_committed_only else _marked(seen)
    return seen, [*notes, *_replaced(seen)]


def _with_hidden_states(records: DataFrame, batches: DataFrame) -> DataFrame:
    """Add the states of the transactions that a reader of committed records passes over."""
    hidden = batches.where(is_hidden())
    places = hidden.select(*_DIRECTORIES, F.col("baseOffset").alias(BATCH_OFFSET), STATE)
    if places.count() <= BROADCAST_MAX:
        places = F.broadcast(places)
    return records.join(places, [*_DIRECTORIES, BATCH_OFFSET], "left")


def _before(rows: DataFrame, ends: DataFrame, offset: str) -> DataFrame:
    """Leave out the rows at or behind the ends of their partitions."""
    joined = rows.join(F.broadcast(ends), list(_DIRECTORIES))
    return joined.where(F.col(offset) < F.col("end")).drop("end")


def _marked(seen: Mapping[str, Any]) -> Iterator[str]:
    for state in HIDDEN:
        if seen[state]:
            yield (
                f"{seen[state]} records of {state} transactions are in the table, with"
                f" {STATE} = '{state}'; --committed leaves them out"
            )


def _left_out(batches: DataFrame, ends: DataFrame) -> Iterator[str]:
    records = F.col("recordCount")
    is_behind = ~is_hidden() & ~F.col("isControl") & (F.col("baseOffset") >= F.col("end"))
    kinds = {f"of {state} transactions": is_state(state) for state in HIDDEN}
    kinds["behind an open transaction"] = is_behind
    sums = (F.sum(F.when(chosen, records)).alias(kind) for kind, chosen in kinds.items())
    (row,) = batches.join(F.broadcast(ends), list(_DIRECTORIES)).agg(*sums).collect()
    for kind in kinds:
        if row[kind]:
            yield f"{row[kind]} records {kind} are left out"


def _replaced(seen: Mapping[str, Any]) -> Iterator[str]:
    """Tell of header keys that the record view cannot give as they are.

    See: R-32 (RecordHeader.key).
    """
    if seen[_HEADER_KEYS]:
        yield f"{seen[_HEADER_KEYS]} header keys are no UTF-8: replaced, as Java does"


def _batches_of(spark: SparkSession, path: str, options: Mapping[str, str]) -> DataFrame:
    """Read the sound batches, with the states that the whole log gives them.

    A marker may lie behind the wanted end, so the states are those of the log to its end.
    """
    left_out = {*_ISOLATION, *_OWN_COLUMNS}
    ours = {name: value for name, value in options.items() if name not in left_out}
    to_end = {name: value for name, value in ours.items() if name not in _ENDINGS}
    reader = spark.read.format("kafka_segments")
    batches = reader.options(**to_end).option("view", "batches").load(path)
    batches = with_states(batches.where("error is null"))
    if to_end == ours:
        return batches
    reader = spark.read.format("kafka_segments").options(**ours).option("view", "batches")
    wanted = reader.option("columns", "topic,partition,lastOffset").load(path)
    ends = wanted.groupBy(*_DIRECTORIES).agg((F.max("lastOffset") + 1).alias("end"))
    return _before(batches, ends, "lastOffset")


def records_of(
    spark: SparkSession, path: str, options: Mapping[str, str] = MappingProxyType({})
) -> DataFrame:
    """Read the records of a log with their headers."""
    reader = spark.read.format("kafka_segments").options(**options)
    return reader.option("includeHeaders", "true").load(path)
