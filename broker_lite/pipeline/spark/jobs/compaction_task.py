"""Rewrites one group of segments on a worker."""

import uuid
from typing import Final, NamedTuple

from pyspark.sql.types import Row

from broker_lite.pipeline.audit.task import PRODUCER_EXPIRATION_MS
from broker_lite.pipeline.compact.group import rewrite, whole_group
from broker_lite.pipeline.compact.plan import CompactionGroup
from broker_lite.pipeline.compact.round import offline_round
from broker_lite.pipeline.compact.survivors import OffsetSet
from broker_lite.pipeline.compact.swap import Swap
from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.files.layout import EVERY_OFFSET, find_partitions
from broker_lite.pipeline.read.corruption import raise_corruption
from broker_lite.pipeline.read.transactions import find_aborted
from broker_lite.pipeline.write.producer_snapshots import Producers, newest_producers

SURVIVORS: Final = "survivors"
EMPTIED_MARKERS: Final = "emptied markers"


class CompactionTask(NamedTuple):
    """How groups are rewritten.

    Attributes:
        root: a local log directory, locked by the job.
        job: begins the names of all files of the job, until they are swapped in.
        now_ms: the time, for tombstones.
        delete_retention_ms: how long a tombstone stays.
    """

    root: str
    job: str
    now_ms: int
    delete_retention_ms: int

    def rewrite(self, row: Row) -> Swap:
        """Write the new segment of a group beside the old ones.

        Every call has files of its own: Spark may run a task twice, and takes one of the results.

        Args:
            row: topic, partition, baseOffset, endOffset, roundEnd, offsets. The last is a list of
                (kind, bucket, bits) for OffsetSet; a kind is SURVIVORS or EMPTIED_MARKERS.

        Raises:
            CorruptLog: a batch is damaged.
            OldMessages: a batch is of magic 0 or 1.
            OSError: a file cannot be read or written.
        """
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
        return group, rewrite(io, self.root, group, given, f"{self.job}{uuid.uuid4().hex}")


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
