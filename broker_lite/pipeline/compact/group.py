"""Rewrites the segments of one group into a new one, staged beside them until the swap.

A batch whose records all survive is copied unchanged; only others are decompressed.
"""

import sys
from collections.abc import Iterator
from typing import Final

from broker_lite.errors import BrokerError
from broker_lite.log.cleaner.survivors import Round, compacted
from broker_lite.pipeline.compact.plan import CompactionGroup
from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.read.batches import read_batches
from broker_lite.pipeline.read.corruption import Corruption, CorruptLog, raise_corruption
from broker_lite.pipeline.read.split import SegmentRange, Split
from broker_lite.pipeline.write.encode import EncodedBatch
from broker_lite.pipeline.write.log_writer import LogWriter, Placement, StagedSegment
from broker_lite.record.batch import RecordBatch

_NEVER_ROLL: Final = sys.maxsize


class OldMessages(ValueError):
    """A log has messages of magic 0 or 1, which only a broker's cleaner rewrites."""


def whole_group(uri: str, group: CompactionGroup) -> Split:
    """Return a split with all bytes of a group's segments."""
    ranges = tuple(SegmentRange(one, 0, one.size_bytes) for one in group.segments)
    return Split(uri, group.topic, group.partition, ranges, 0, group.end_offset)


def rewrite(io: FileIO, root: str, group: CompactionGroup, given: Round, tag: str) -> StagedSegment:
    """Write the surviving records of a group into a staged segment.

    Args:
        io: opens the root.
        root: the log directory.
        group: from plan_compaction.
        given: the rules by which records survive.
        tag: names the job and the attempt; unique to the attempt.

    Raises:
        CorruptLog: a batch is damaged. Compaction stops, because it would lose what may be
            recovered.
        OldMessages: a batch is of magic 0 or 1.
        OSError: a file cannot be read or written.

    See: S-83, S-88 (Cleaner.cleanSegments).
    """
    placement = Placement(root, group.topic, group.partition, tag, segment_bytes=_NEVER_ROLL)
    writer = LogWriter(io, placement)
    writer.begin(group.base_offset)
    try:
        for data in _left_of(io, root, group, given):
            batch = RecordBatch(memoryview(data), 0, len(data))
            writer.append(
                EncodedBatch(
                    data,
                    batch.base_offset,
                    batch.last_offset,
                    batch.max_timestamp,
                    batch.record_count,
                )
            )
    finally:
        segments = writer.close()
    (segment,) = segments
    return segment


def _left_of(
    io: FileIO, root: str, group: CompactionGroup, given: Round
) -> Iterator[bytes | memoryview]:
    split = whole_group(root, group)
    for found in read_batches(io, split, check_crc=True, on_corrupt=raise_corruption):
        path, batch = found.segment.log_path, found.batch
        if not isinstance(batch, RecordBatch):
            raise OldMessages(
                f"{path} at {found.position}: a message of magic {batch.magic};"
                " compact takes batches of magic 2 only"
            )
        try:
            data = compacted(batch, given)
        except BrokerError as error:
            raise CorruptLog(Corruption(path, found.position, "R-37", str(error))) from error
        if data is not None:
            yield data
