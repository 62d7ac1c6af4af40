"""The data sink `kafka_segments_compaction`: a row is a group of segments with its survivors.

Each task writes new segments beside the old ones; the commit swaps all of them. Spark may run a
task twice, because the commit only swaps the segments of the attempts that Spark accepted.
"""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pyspark.sql.datasource import DataSource, DataSourceWriter, WriterCommitMessage
from pyspark.sql.types import Row, StructType

from broker_lite.pipeline.audit.task import PRODUCER_EXPIRATION_MS
from broker_lite.pipeline.compact.group import rewrite, whole_group
from broker_lite.pipeline.compact.plan import CompactionGroup
from broker_lite.pipeline.compact.round import offline_round
from broker_lite.pipeline.compact.survivors import OffsetSet
from broker_lite.pipeline.compact.swap import Swap, swap_all
from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.files.layout import EVERY_OFFSET, find_partitions
from broker_lite.pipeline.files.log_root import sweep
from broker_lite.pipeline.read.corruption import raise_corruption
from broker_lite.pipeline.read.transactions import find_aborted
from broker_lite.pipeline.write.producer_snapshots import Producers, newest_producers

FORMAT: Final = "kafka_segments_compaction"
SURVIVORS: Final = "survivors"
EMPTIED_MARKERS: Final = "emptied markers"


@dataclass(frozen=True)
class Rewritten(WriterCommitMessage):
    """The segments that an attempt of a task wrote."""

    swaps: tuple[Swap, ...]


class CompactionSink(DataSource):
    """Takes groups: topic, partition, baseOffset, endOffset, roundEnd, offsets.

    `offsets` is a list of (kind, bucket, bits) for OffsetSet; a kind is SURVIVORS or
    EMPTIED_MARKERS.
    """

    @classmethod
    def name(cls) -> str:  # type: ignore[explicit-override]
        """Give the name of the format."""
        return FORMAT

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # type: ignore[explicit-override]
        """Make a writer; the job holds the lock of the log directory."""
        return CompactionWriter(
            self.options["path"],
            now_ms=int(self.options["nowMs"]),
            delete_retention_ms=int(self.options["deleteRetentionMs"]),
        )


class CompactionWriter(DataSourceWriter):
    """Rewrites groups and swaps them in."""

    def __init__(self, root: str, *, now_ms: int, delete_retention_ms: int) -> None:
        self.root = root
        self.now_ms = now_ms
        self.delete_retention_ms = delete_retention_ms
        self.job = f"{uuid.uuid4().hex}-"

    def write(self, iterator: Iterator[Row]) -> Rewritten:  # type: ignore[explicit-override]
        """Rewrite the groups of one attempt of a task."""
        tag = f"{self.job}{uuid.uuid4().hex}"
        return Rewritten(tuple(self._rewrite(row, tag) for row in iterator))

    def _rewrite(self, row: Row, tag: str) -> Swap:
        io = LocalFileIO()
        group = _group_of(io, self.root, row)
        given = offline_round(
            survivors=_offsets_of(row, SURVIVORS),
            emptied_markers=_offsets_of(row, EMPTIED_MARKERS),
            aborted=find_aborted(io, whole_group(self.root, group), raise_corruption),
            producers=_known(io, group.segments[0].directory, self.now_ms),
            end_offset=group.round_end,
            now_ms=self.now_ms,
            delete_retention_ms=self.delete_retention_ms,
        )
        return group, rewrite(io, self.root, group, given, tag)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:  # type: ignore[explicit-override]
        """Swap in all groups, in the order of the logs, and remove the files of other attempts."""
        swaps = [
            swap for message in messages if isinstance(message, Rewritten) for swap in message.swaps
        ]
        swap_all(self.root, sorted(swaps))
        sweep(LocalFileIO(), self.root, self.job)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:  # type: ignore[explicit-override]
        """Remove the files of all attempts."""
        sweep(LocalFileIO(), self.root, self.job)


def _group_of(io: LocalFileIO, root: str, row: Row) -> CompactionGroup:
    """Find the segments of a row's group."""
    key = row.topic, row.partition
    log = find_partitions(io, root, lambda *found: found == key)[key]
    segments = (one for one in log.segments if row.baseOffset <= one.base_offset < row.endOffset)
    return CompactionGroup(*key, tuple(segments), row.endOffset, row.roundEnd)


def _offsets_of(row: Row, kind: str) -> OffsetSet:
    return OffsetSet({one.bucket: bytes(one.bits) for one in row.offsets if one.kind == kind})


def _known(io: LocalFileIO, directory: str, now_ms: int) -> Producers:
    """Read the producers that a broker would still remember.

    See: V-65 (ProducerStateManager.isProducerExpired).
    """
    return {
        producer_id: entry
        for producer_id, entry in newest_producers(io, directory, EVERY_OFFSET).items()
        if now_ms - entry.last_timestamp_ms < PRODUCER_EXPIRATION_MS
    }
