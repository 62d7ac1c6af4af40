"""The data source `kafka_segments_audit`: one row per task, with its result.

Workers check the batches and return small results. It takes the options of `kafka_segments` that
select partitions, and two of its own: `deep` (check the records, too) and `compacted` (offsets may
be missing anywhere, not only below the cleaner's checkpoint).
"""

import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import Row, StructType

from broker_lite.pipeline.audit.task import (
    Audit,
    AuditTask,
    Finding,
    ProducerSpan,
    SequencedBatch,
    audit,
)
from broker_lite.pipeline.audit.whole import audit_tasks, cleaned_ends, log_directory
from broker_lite.pipeline.files.file_io import FileIO, LocalFileIO
from broker_lite.pipeline.files.layout import PartitionLog
from broker_lite.pipeline.files.open_file_io import open_file_io
from broker_lite.pipeline.read.offset_limits import TopicPartition
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.ranges import find_logs
from broker_lite.pipeline.spark.worker import settle_worker

FORMAT: Final = "kafka_segments_audit"
SCHEMA: Final = """
    topic string, partition int, file string, position long, sizeInBytes long, batches long,
    records long, firstOffset long, nextOffset long, damagedFrom long, damagedTo long,
    endFile string, endPosition long,
    findings array<struct<file: string, position: long, rule: string, text: string>>,
    producers array<struct<producerId: long, first: struct<{0}>, last: struct<{0}>>>
""".format(
    "file: string, position: long, lastOffset: long, epoch: int, firstSequence: int,"
    " lastSequence: int, timestamp: long"
)


def read_audits(
    spark: SparkSession,
    path: str,
    options: Mapping[str, str],
    *,
    is_deep: bool = False,
    is_compacted: bool = False,
) -> DataFrame:
    """Check a log directory; return one row per task.

    Args:
        spark: a session.
        path: of the data source.
        options: of the data source: those that select partitions, and maxSplitBytes.
        is_deep: check the records, too.
        is_compacted: offsets may be missing anywhere.
    """
    spark.dataSource.register(AuditSource)
    reader = spark.read.format(FORMAT).options(**options)
    return reader.option("deep", is_deep).option("compacted", is_compacted).load(path)


def row_of(found: Audit) -> tuple[Any, ...]:
    """Make a row of a result; Spark wants lists for arrays."""
    *values, findings, producers = found
    return (*values, list(findings), list(producers))


def audit_of(row: Row) -> Audit:
    """Make a result of a row."""
    *values, findings, producers = row
    spans = (
        ProducerSpan(producer_id, SequencedBatch(*first), SequencedBatch(*last))
        for producer_id, first, last in producers
    )
    return Audit._make((*values, tuple(Finding(*one) for one in findings), tuple(spans)))


def cleaned_of(
    io: FileIO, root: str, logs: Mapping[TopicPartition, PartitionLog], is_compacted: bool
) -> dict[TopicPartition, int]:
    """Return, by partition, the offset below which offsets may be missing.

    A damaged checkpoint counts as empty; small_files() reports it.
    """
    if is_compacted:
        return dict.fromkeys(logs, sys.maxsize)
    try:
        return cleaned_ends(io, log_directory(root, logs))
    except ValueError:
        return {}


class AuditSource(DataSource):
    """The results of the checks of a log directory."""

    @classmethod
    def name(cls) -> str:  # type: ignore[explicit-override]
        """Give the name of the format."""
        return FORMAT

    def schema(self) -> str:  # type: ignore[explicit-override]
        """Return the columns of a result."""
        return SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:  # type: ignore[explicit-override]
        """Make a reader.

        Raises:
            OptionError: an option cannot be used.
        """
        given = {name.lower(): value for name, value in self.options.items()}
        is_deep = given.pop("deep", "false") == "true"
        is_compacted = given.pop("compacted", "false") == "true"
        return AuditReader(ReadOptions.parse(given), is_deep=is_deep, is_compacted=is_compacted)


class AuditReader(DataSourceReader):
    """Plans and runs the tasks."""

    def __init__(self, options: ReadOptions, *, is_deep: bool, is_compacted: bool) -> None:
        self.options = options
        self.is_deep = is_deep
        self.is_compacted = is_compacted

    def partitions(self) -> list[InputPartition]:  # type: ignore[explicit-override]
        """Cut the files into tasks.

        Raises:
            PlanError: a named topic or partition does not exist.
            OSError: the log directory cannot be read.
        """
        io, root = open_file_io(self.options.path)
        logs = find_logs(io, root, self.options)
        size_bytes = sum(each.size_bytes for log in logs.values() for each in log.segments)
        tasks = audit_tasks(
            io,
            root if isinstance(io, LocalFileIO) else self.options.path,
            logs,
            cleaned_of(io, root, logs, self.is_compacted),
            max_split_bytes=self.options.split_bytes(size_bytes),
            is_deep=self.is_deep,
        )
        return [InputPartition(task) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:  # type: ignore[explicit-override]
        """Run a task."""
        settle_worker()
        task: AuditTask | None = partition.value
        if task is not None:  # without any partition, Spark still runs one task, with None
            io, _ = open_file_io(task.split.uri)
            yield row_of(audit(io, task))
