"""The plan of an offline compaction: which groups of segments become one segment each.

As on a broker, the last segment stays, and so does everything from the first undecided transaction
on.

See: S-80 (LogCleanerManager.cleanableOffsets).
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from broker_lite.log.cleaner.grouping import Sizes, grouped
from broker_lite.log.files.names import INDEX_SUFFIX, TIME_INDEX_SUFFIX
from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.files.layout import PartitionLog, Segment
from broker_lite.pipeline.files.log_end import log_end
from broker_lite.pipeline.read.corruption import raise_corruption
from broker_lite.pipeline.read.offset_limits import TopicPartition
from broker_lite.pipeline.read.transactions import last_stable_offset

SEGMENT_BYTES: Final = 1 << 30
INDEX_BYTES: Final = 10 << 20


class CompactionGroup(NamedTuple):
    """Adjacent segments that become one.

    Attributes:
        end_offset: where the next group begins, or where the round ends.
        round_end: the partition's first offset that the round does not touch.
    """

    topic: str
    partition: int
    segments: tuple[Segment, ...]
    end_offset: int
    round_end: int

    @property
    def base_offset(self) -> int:
        """Base offset of the first segment, and of the new one."""
        return self.segments[0].base_offset


def plan_compaction(
    io: FileIO,
    logs: Mapping[TopicPartition, PartitionLog],
    *,
    segment_bytes: int = SEGMENT_BYTES,
    index_bytes: int = INDEX_BYTES,
) -> list[CompactionGroup]:
    """Plan the compaction of logs; a log with nothing to compact gets no group.

    Args:
        io: opens the logs.
        logs: with all of their segments.
        segment_bytes: the largest sum of old segments' sizes in a group.
        index_bytes: the same for each index.

    Raises:
        CorruptLog: damage hides which transactions are decided.
        OSError: a file cannot be read.
    """
    groups = []
    for log in logs.values():
        segments = list(_cleanable(io, log))
        round_end = segments[-1].end_offset if segments else 0
        for group in grouped(segments, Sizes(segment_bytes, index_bytes, index_bytes)):
            old = tuple(one.segment for one in group)
            end_offset = group[-1].end_offset
            groups.append(CompactionGroup(log.topic, log.partition, old, end_offset, round_end))
    return groups


class _Cleanable(NamedTuple):
    segment: Segment
    end_offset: int
    sizes: Sizes

    @property
    def base_offset(self) -> int:
        """Base offset of the segment."""
        return self.segment.base_offset


def _cleanable(io: FileIO, log: PartitionLog) -> Iterator[_Cleanable]:
    """See: S-80 (LogCleanerManager.cleanableOffsets)."""
    if len(log.segments) < 2:
        return
    end_offset = log_end(io, log).offset
    stable = last_stable_offset(io, log, end_offset, on_corrupt=raise_corruption)
    following = (segment.base_offset for segment in log.segments[1:])
    for segment, end_offset in zip(log.segments, following, strict=False):
        if end_offset > stable:
            return
        yield _Cleanable(segment, end_offset, _sizes(io, segment))


def _sizes(io: FileIO, segment: Segment) -> Sizes:
    index_bytes, time_index_bytes = (
        io.size(segment.stem + suffix) if suffix in segment.suffixes else 0
        for suffix in (INDEX_SUFFIX, TIME_INDEX_SUFFIX)
    )
    return Sizes(segment.size_bytes, index_bytes, time_index_bytes)
