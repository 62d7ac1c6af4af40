"""Generates logs of any size in parallel, from a seeded specification.

Each task makes whole segments at their final offsets, so the commit only renames files. The same
specification, appended to logs with the same ends, gives the same bytes with any number of tasks
and on any machine.
"""

import json
import uuid
from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import Row, StructType

from broker_lite.log.files.names import partition_directory
from broker_lite.pipeline.files.file_io import FileIO, join
from broker_lite.pipeline.files.log_root import (
    locked,
    refuse_unknown_partition,
    refuse_unusable,
    sweep,
)
from broker_lite.pipeline.files.open_file_io import open_file_io
from broker_lite.pipeline.generate.plan import TASK_BYTES, tasks_of
from broker_lite.pipeline.generate.segments import PartitionGenerator
from broker_lite.pipeline.generate.spec import GenerateSpec
from broker_lite.pipeline.spark.worker import settle_worker
from broker_lite.pipeline.write.commit import CommittedPartition, commit, log_ends
from broker_lite.pipeline.write.log_writer import Placement, StagedSegment

FORMAT: Final = "kafka_segments_generate"
SCHEMA: Final = (
    "topic string, partition int, tag string, base_offset long, end_offset long, size_bytes long,"
    " record_count long, suffixes array<string>, producers binary"
)


def generate(
    spark: SparkSession, spec: Mapping[str, object], path: str, *, sync: bool = False
) -> list[CommittedPartition]:
    """Generate segments and append them to the logs of a directory.

    Args:
        spark: a session.
        spec: a specification, for instance from read_spec(); see GenerateSpec.
        path: the log directory, or its URI.
        sync: fsync before the commit. A broker's data directory needs it to survive a power cut;
            data that can be generated again does not.

    Returns:
        What was added, sorted by topic and partition.

    Raises:
        SpecError: the specification cannot be used.
        WriteRefused: the directory is in use or must not be written to.
        OSError: a file cannot be written; nothing was added.
    """
    parsed = GenerateSpec.parse(spec)
    io, root = open_file_io(path)
    ends = _check(io, root, parsed)
    job = f"{uuid.uuid4().hex}-"
    spark.dataSource.register(GenerateSource)
    made = spark.read.format(FORMAT).options(spec=json.dumps(spec), ends=json.dumps(ends), job=job)
    try:
        rows = made.load(path).collect()
        rows.sort(key=attrgetter("topic", "partition", "base_offset"))
        return commit(io, root, [segment_of(root, row) for row in rows], sync=sync)
    finally:
        sweep(io, root, job)


def _check(io: FileIO, root: str, spec: GenerateSpec) -> dict[str, int]:
    """Refuse early what the commit would refuse; return the ends of the logs by directory."""
    keys = [(topic.name, number) for topic in spec.topics for number in range(topic.partitions)]
    with locked(io, root):
        refuse_unusable(io, root)
        for key in keys:
            refuse_unknown_partition(io, root, join(root, partition_directory(*key)))
        ends = log_ends(io, root, keys)
    return {partition_directory(*key): end for key, end in ends.items()}


def segment_of(root: str, row: Row) -> StagedSegment:
    """Make a staged segment of a row."""
    topic, partition, tag, base_offset, end_offset, size_bytes, record_count, *rest = row
    placement = Placement(root, topic, partition, tag)
    numbers = base_offset, end_offset, size_bytes, record_count
    suffixes, producers = rest
    return StagedSegment(placement, *numbers, tuple(suffixes), bytes(producers))


class GenerateSource(DataSource):
    """Generates segments when it is read; a row is a staged segment."""

    @classmethod
    def name(cls) -> str:  # type: ignore[explicit-override]
        """Give the name of the format."""
        return FORMAT

    def schema(self) -> str:  # type: ignore[explicit-override]
        """Give the columns of a staged segment."""
        return SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:  # type: ignore[explicit-override]
        """Make the reader that generates the segments."""
        options = {name.lower(): value for name, value in self.options.items()}
        return GenerateReader(options["path"], options["spec"], options["ends"], options["job"])


class GenerateReader(DataSourceReader):
    """Plans the tasks on the driver and runs them on the workers."""

    def __init__(
        self, path: str, spec: str, ends: str, job: str, *, task_bytes: int = TASK_BYTES
    ) -> None:
        self.path = path
        self.spec = GenerateSpec.parse(json.loads(spec))
        self.ends: dict[str, int] = json.loads(ends)
        self.job = job
        self.task_bytes = task_bytes

    def partitions(self) -> list[InputPartition]:  # type: ignore[explicit-override]
        """Cut the work into tasks."""
        return [InputPartition(task) for task in tasks_of(self.spec, task_bytes=self.task_bytes)]

    def read(self, partition: InputPartition) -> Iterator[tuple[object, ...]]:  # type: ignore[explicit-override]
        """Generate the segments of a task.

        Raises:
            OSError: a file cannot be written.
        """
        settle_worker()
        io, root = open_file_io(self.path)
        tag = f"{self.job}{uuid.uuid4().hex}"
        for piece in partition.value or ():
            topic = self.spec.topics[piece.topic]
            end = self.ends[partition_directory(topic.name, piece.partition)]
            generator = PartitionGenerator(self.spec.seed, topic, piece.partition, end)
            for number in range(piece.first_segment, piece.end_segment):
                for segment in generator.write(io, root, tag, number):
                    yield _row(segment)


def _row(segment: StagedSegment) -> tuple[object, ...]:
    """Make a row of a staged segment; Spark wants lists for arrays."""
    placement, *numbers, suffixes, producers, _, _ = segment
    place = placement.topic, placement.partition, placement.tag
    return (*place, *numbers, list(suffixes), producers)
