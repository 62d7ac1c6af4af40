"""Generates logs of any size in parallel, from a seeded specification.

Each task makes whole segments at their final offsets, so the commit only renames files. The same
specification, appended to logs with the same ends, gives the same bytes with any number of tasks
and on any machine.
"""

import uuid
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pyspark.sql import SparkSession

from broker_lite.log.files.names import partition_directory
from broker_lite.pipeline.files.file_io import FileIO, join
from broker_lite.pipeline.files.log_root import (
    locked,
    refuse_unknown_partition,
    refuse_unusable,
    sweep,
)
from broker_lite.pipeline.files.open_file_io import open_file_io
from broker_lite.pipeline.generate.plan import Piece, tasks_of
from broker_lite.pipeline.generate.segments import PartitionGenerator
from broker_lite.pipeline.generate.spec import GenerateSpec
from broker_lite.pipeline.spark.tasks import on_workers
from broker_lite.pipeline.write.commit import CommittedPartition, commit, log_ends
from broker_lite.pipeline.write.log_writer import StagedSegment


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
    task = GenerateTask(path, parsed, ends, f"{uuid.uuid4().hex}-")
    try:
        made = on_workers(spark, task.generate, [*tasks_of(parsed)]).collect()
        segments = sorted((one for some in made for one in some), key=_place)
        return commit(io, root, segments, sync=sync)
    finally:
        sweep(io, root, task.job)


def _place(segment: StagedSegment) -> tuple[str, int, int]:
    return segment.placement.topic, segment.placement.partition, segment.base_offset


def _check(io: FileIO, root: str, spec: GenerateSpec) -> dict[str, int]:
    """Refuse early what the commit would refuse; return the ends of the logs by directory."""
    keys = [(topic.name, number) for topic in spec.topics for number in range(topic.partitions)]
    with locked(io, root):
        refuse_unusable(io, root)
        for key in keys:
            refuse_unknown_partition(io, root, join(root, partition_directory(*key)))
        ends = log_ends(io, root, keys)
    return {partition_directory(*key): end for key, end in ends.items()}


class GenerateTask(NamedTuple):
    """How segments are generated.

    Attributes:
        path: the log directory, or its URI.
        spec: the specification.
        ends: of the logs, by directory; the segments begin there.
        job: begins the names of all files of the job, until the commit.
    """

    path: str
    spec: GenerateSpec
    ends: Mapping[str, int]
    job: str

    def generate(self, pieces: Iterable[Piece]) -> list[StagedSegment]:
        """Generate segments, in files that belong to this attempt.

        Raises:
            OSError: a file cannot be written.
        """
        io, root = open_file_io(self.path)
        tag = f"{self.job}{uuid.uuid4().hex}"
        return [
            segment
            for piece in pieces
            for number in range(piece.first_segment, piece.end_segment)
            for segment in self._generator(piece).write(io, root, tag, number)
        ]

    def _generator(self, piece: Piece) -> PartitionGenerator:
        topic = self.spec.topics[piece.topic]
        end = self.ends[partition_directory(topic.name, piece.partition)]
        return PartitionGenerator(self.spec.seed, topic, piece.partition, end)
