"""What an offline compaction rewrites: which part of each log, in which groups of segments.

As on a broker the last segment is left alone, and everything from the oldest transaction on that is
not decided.

Rule: S-80, S-83 (LogCleanerManager.cleanableOffsets, Cleaner.groupSegmentsBySize).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from broker_lite.log.names import INDEX_SUFFIX, TIME_INDEX_SUFFIX
from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.files.layout import PartitionLog, Segment
from broker_lite.pipeline.files.positions import log_end
from broker_lite.pipeline.read.corruption import raise_corruption
from broker_lite.pipeline.read.offset_limits import TopicPartition
from broker_lite.pipeline.read.transactions import last_stable_offset

SEGMENT_BYTES: Final = 1 << 30
INDEX_BYTES: Final = 10 << 20

_RELATIVE_OFFSET_MAX: Final = (1 << 31) - 1


class CompactionGroup(NamedTuple):
    """Segments that become one.

    Attributes:
        end_offset: where the next group begins, or the round ends.
        round_end: first offset of the partition that is not touched.
    """

    topic: str
    partition: int
    segments: tuple[Segment, ...]
    end_offset: int
    round_end: int

    @property
    def base_offset(self) -> int:
        """Base offset of the first segment, which the new one has, too."""
        return self.segments[0].base_offset


def plan_compaction(
    io: FileIO,
    logs: Mapping[TopicPartition, PartitionLog],
    *,
    segment_bytes: int = SEGMENT_BYTES,
    index_bytes: int = INDEX_BYTES,
) -> list[CompactionGroup]:
    """Plan the compaction of logs; one without anything to compact has no group.

    Args:
        io: of the logs.
        logs: with all of their segments.
        segment_bytes: how large a new segment may grow, by the sizes of the old ones.
        index_bytes: how large each of its indexes may.

    Raises:
        CorruptLog: what is decided cannot be told.
        OSError: a file cannot be read.
    """
    groups = []
    for log in logs.values():
        segments = list(_cleanable(io, log))
        round_end = segments[-1].end_offset if segments else 0
        for group in _grouped(io, segments, segment_bytes, index_bytes):
            old = tuple(one.segment for one in group)
            end_offset = group[-1].end_offset
            groups.append(CompactionGroup(log.topic, log.partition, old, end_offset, round_end))
    return groups


class _Cleanable(NamedTuple):
    segment: Segment
    end_offset: int


def _cleanable(io: FileIO, log: PartitionLog) -> Iterator[_Cleanable]:
    """Rule: S-80 (LogCleanerManager.cleanableOffsets)."""
    if len(log.segments) < 2:
        return
    end_offset = log_end(io, log).offset
    stable = last_stable_offset(io, log, end_offset, on_corrupt=raise_corruption)
    following = (segment.base_offset for segment in log.segments[1:])
    for segment, end_offset in zip(log.segments, following, strict=False):
        if end_offset > stable:
            return
        yield _Cleanable(segment, end_offset)


def _grouped(
    io: FileIO, segments: Iterable[_Cleanable], segment_bytes: int, index_bytes: int
) -> Iterator[list[_Cleanable]]:
    """Rule: S-83 (Cleaner.groupSegmentsBySize)."""
    limits = segment_bytes, index_bytes, index_bytes
    group: list[_Cleanable] = []
    sums: tuple[int, ...] = ()
    for one in segments:
        sizes = _sizes(io, one.segment)
        added = tuple(map(sum, zip(sums, sizes, strict=True))) if group else sizes
        base_offset = group[0].segment.base_offset if group else one.segment.base_offset
        fits = all(size <= limit for size, limit in zip(added, limits, strict=True))
        if group and not (fits and one.end_offset - 1 - base_offset <= _RELATIVE_OFFSET_MAX):
            yield group
            group, added = [], sizes
        group.append(one)
        sums = added
    if group:
        yield group


def _sizes(io: FileIO, segment: Segment) -> tuple[int, ...]:
    indexes = (
        io.size(segment.stem + suffix) if suffix in segment.suffixes else 0
        for suffix in (INDEX_SUFFIX, TIME_INDEX_SUFFIX)
    )
    return segment.size_bytes, *indexes
