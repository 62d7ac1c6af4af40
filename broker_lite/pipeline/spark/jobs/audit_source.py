"""The data source `kafka_segments_audit`: a row a task, with what the task found.

The batches are judged in the workers, where their bytes are; what comes back is small. It takes the
options of `kafka_segments` that select partitions, and two of its own: `deep` (look at the records,
too) and `compacted` (offsets may be missing anywhere, also where no cleaner's checkpoint says so).
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
    """Read the audits of a log directory.

    Args:
        spark: a session.
        path: as of the data source.
        options: of the data source; those that select partitions count, and maxSplitBytes.
        is_deep: look at the records, too.
        is_compacted: offsets may be missing anywhere.
    """
    spark.dataSource.register(AuditSource)
    reader = spark.read.format(FORMAT).options(**options)
    return reader.option("deep", is_deep).option("compacted", is_compacted).load(path)


def row_of(found: Audit) -> tuple[Any, ...]:
    """Make a row; what is an array in it has to be a list."""
    *values, findings, producers = found
    return (*values, list(findings), list(producers))


def audit_of(row: Row) -> Audit:
    """Read a row."""
    *values, findings, producers = row
    spans = (
        ProducerSpan(producer_id, SequencedBatch(*first), SequencedBatch(*last))
        for producer_id, first, last in producers
    )
    return Audit._make((*values, tuple(Finding(*one) for one in findings), tuple(spans)))


def cleaned_of(
    io: FileIO, root: str, logs: Mapping[TopicPartition, PartitionLog], is_compacted: bool
) -> dict[TopicPartition, int]:
    """Give up to where offsets may be missing, by partition.

    A checkpoint that cannot be read says nothing; that it cannot is told by small_files().
    """
    if is_compacted:
        return dict.fromkeys(logs, sys.maxsize)
    try:
        return cleaned_ends(io, log_directory(root, logs))
    except ValueError:
        return {}


class AuditSource(DataSource):
    """Audits of a log directory."""

    @classmethod
    def name(cls) -> str:  # type: ignore[explicit-override]
        """Give the name of the format."""
        return FORMAT

    def schema(self) -> str:  # type: ignore[explicit-override]
        """Give the columns of an audit."""
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
            PlanError: a topic or partition that is named is not there.
            OSError: the log directory cannot be read.
        """
        io, root = open_file_io(self.options.path)
        logs = find_logs(io, root, self.options)
        tasks = audit_tasks(
            io,
            root if isinstance(io, LocalFileIO) else self.options.path,
            logs,
            cleaned_of(io, root, logs, self.is_compacted),
            max_split_bytes=self.options.max_split_bytes,
            is_deep=self.is_deep,
        )
        return [InputPartition(task) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:  # type: ignore[explicit-override]
        """Look at the batches of a task."""
        settle_worker()
        task: AuditTask | None = partition.value
        if task is not None:  # without any partition Spark makes one of None
            io, _ = open_file_io(task.split.uri)
            yield row_of(audit(io, task))
