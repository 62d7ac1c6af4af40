"""What is read by which task: the splits of a read.

First a partition is cut by size, where an index entry or the start of a segment is nearest to an
even share; of the files only the batches at the cuts are read. Then, where maxRecordsPerPartition
or minPartitions ask for more splits, those are cut by even shares of their offsets, as Spark's
Kafka connector does it; such a cut goes through a batch if need be, but only for the record view.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from broker_lite.pipeline.files.file_io import FileIO, LocalFileIO
from broker_lite.pipeline.files.indexes import offset_entries_near
from broker_lite.pipeline.files.layout import PartitionLog
from broker_lite.pipeline.files.positions import batch_starts, boundary
from broker_lite.pipeline.read.offset_limits import TopicPartition
from broker_lite.pipeline.read.options import ReadOptions, View
from broker_lite.pipeline.read.ranges import (
    OffsetRange,
    cleaned_end,
    find_logs,
    in_parallel,
    resolve,
)
from broker_lite.pipeline.read.split import SegmentRange, Split

__all__ = ["SegmentRange", "Split", "plan", "plan_ranges"]

# A cut that is this near to the start of a segment goes there: no file has to be read for it.
_SNAP_SHARE: Final = 8


class _Cut(NamedTuple):
    """Where a split becomes two: in a range (by its number), between batches or through one.

    Attributes:
        lowest_offset: that a batch from right_start on can have; None at the start of a segment.
    """

    number: int
    right_start: int
    left_end: int
    offset: int
    lowest_offset: int | None = None


def plan(io: FileIO, root: str, options: ReadOptions) -> list[Split]:
    """Cut what the options of a batch query select into splits, by partition and offset.

    Args:
        io: what open_file_io gave for options.path.
        root: the path that came with it.
        options: of a batch query.

    Raises:
        PlanError: something that was asked for is not there; see resolve.
        OSError: the log directory cannot be read.
    """
    logs = find_logs(io, root, options)
    return plan_ranges(io, root, logs, resolve(io, logs, options), options)


def plan_ranges(
    io: FileIO,
    root: str,
    logs: Mapping[TopicPartition, PartitionLog],
    ranges: Mapping[TopicPartition, OffsetRange],
    options: ReadOptions,
) -> list[Split]:
    """Cut ranges of offsets into splits, by partition and offset; an empty range has none.

    Args:
        io: of the logs.
        root: the path of the log directory inside io.
        logs: of all partitions that have a range.
        ranges: what is read, inside of what the logs hold.
        options: say how large a split may be.

    Raises:
        FileNotFoundError: a segment vanished since it was listed.
    """
    uri = root if isinstance(io, LocalFileIO) else options.path
    wholes = in_parallel(
        io, lambda key: _whole(io, uri, logs[key], ranges[key], options), sorted(ranges.keys())
    )
    is_inside = options.view is not View.INDEX
    splits = [
        split
        for whole in wholes
        if whole.ranges
        for split in _by_size(io, whole, options.max_split_bytes, is_inside)
    ]
    return _by_count(io, splits, options) if is_inside else splits


def _by_count(io: FileIO, splits: list[Split], options: ReadOptions) -> list[Split]:
    """Cut splits where the options ask for more of them."""
    # A row of the batch view is a batch, which belongs to one split there.
    is_aligned = options.view is View.BATCHES
    if options.max_records_per_partition is not None:
        most = options.max_records_per_partition
        counts = [-(-split.offset_count // most) for split in splits]
        splits = _by_offsets(io, splits, counts, is_aligned)
    if options.min_partitions is not None and options.min_partitions > len(splits):
        total = sum(split.offset_count for split in splits)
        least = options.min_partitions
        counts = [-(-split.offset_count * least // total) for split in splits]
        splits = _by_offsets(io, splits, counts, is_aligned)
    return splits


def _whole(
    io: FileIO, uri: str, log: PartitionLog, wanted: OffsetRange, options: ReadOptions
) -> Split:
    """One split with all that is wanted of a partition.

    A range without bytes counts, too: its reader asks where the offsets are.
    """
    bases = [segment.base_offset for segment in log.segments]
    first, end = wanted
    low = max(bisect_right(bases, first) - 1, 0)
    high = bisect_right(bases, end - 1)
    ranges = []
    for number in range(low, high if first < end else low):
        segment = log.segments[number]
        start_position, lowest = 0, segment.base_offset
        if number == low:
            place = boundary(io, segment, first)
            start_position, lowest = place.start_position, place.lowest_offset
        end_position = segment.size_bytes
        if number == len(bases) - 1 or end < bases[number + 1]:
            end_position = boundary(io, segment, end).left_end_position
        if start_position <= end_position:
            ranges.append(SegmentRange(segment, start_position, end_position, lowest))
    cleaned = cleaned_end(log, options)
    return Split(uri, log.topic, log.partition, tuple(ranges), first, end, cleaned)


def _by_size(io: FileIO, split: Split, max_split_bytes: int, is_inside: bool) -> list[Split]:
    """Cut a split near even shares of its bytes; inside of segments only where that is wanted."""
    count = -(-split.size_bytes // max_split_bytes)
    if count < 2:
        return [split]
    share_bytes = split.size_bytes // count
    near_bytes = share_bytes // _SNAP_SHARE if is_inside else split.size_bytes
    cuts: list[_Cut] = []
    inside: defaultdict[int, list[int]] = defaultdict(list)
    for number, into_bytes in _shares(split, count):
        behind_bytes = split.ranges[number].size_bytes - into_bytes
        if min(into_bytes, behind_bytes) > near_bytes:
            inside[number].append(split.ranges[number].start_position + into_bytes)
        else:
            cuts.append(_segment_cut(split, number + (behind_bytes < into_bytes)))
    found = in_parallel(io, lambda item: _batch_cuts(io, split, *item), inside.items())
    return _cut(split, sorted(cuts + [cut for some in found for cut in some]))


def _shares(split: Split, count: int) -> Iterator[tuple[int, int]]:
    """Where even shares of a split's bytes end: the number of a range, the bytes into it."""
    number, passed_bytes, size_bytes = 0, 0, split.size_bytes
    for index in range(1, count):
        target = size_bytes * index // count
        while target >= passed_bytes + split.ranges[number].size_bytes:
            passed_bytes += split.ranges[number].size_bytes
            number += 1
        yield number, target - passed_bytes


def _segment_cut(split: Split, number: int) -> _Cut:
    """The cut in front of a range; the one behind the last range is none, and falls out."""
    if number == len(split.ranges):
        return _Cut(number - 1, split.ranges[-1].end_position, 0, split.end_offset)
    part = split.ranges[number]
    start, lowest = part.start_position, part.lowest_offset
    return _Cut(number, start, start, part.segment.base_offset, lowest)


def _batch_cuts(io: FileIO, split: Split, number: int, targets: Sequence[int]) -> list[_Cut]:
    """Cuts at the index entries nearest to positions in a range; without any, around the range."""
    part = split.ranges[number]
    entries = offset_entries_near(io, part.segment, targets)
    starts = batch_starts(io, part.segment, entries, part.end_position)
    cuts = [
        _Cut(number, position, position, offset, offset)
        for position, offset in starts
        if part.start_position < position
    ]
    return cuts or [_segment_cut(split, number), _segment_cut(split, number + 1)]


def _by_offsets(
    io: FileIO, splits: Iterable[Split], counts: Iterable[int], is_aligned: bool
) -> list[Split]:
    """Cut each split into a number of even shares of its offsets."""
    jobs = list(zip(splits, counts, strict=True))
    found = in_parallel(io, lambda job: _cut(job[0], _offset_cuts(io, *job, is_aligned)), jobs)
    return [split for some in found for split in some]


def _offset_cuts(io: FileIO, split: Split, count: int, is_aligned: bool) -> list[_Cut]:
    bases = [part.segment.base_offset for part in split.ranges]
    cuts = []
    count = min(count, split.offset_count)
    for index in range(1, count):
        offset = split.first_offset + split.offset_count * index // count
        number = max(bisect_right(bases, offset) - 1, 0)
        part = split.ranges[number]
        place = boundary(io, part.segment, offset, part.end_position)
        start, lowest = place.start_position, place.lowest_offset
        if part.start_position > start:
            start, lowest = part.start_position, part.lowest_offset or lowest
        if is_aligned and place.base_offset < offset:
            cuts.append(_Cut(number, start, start, place.base_offset, lowest))
        else:
            cuts.append(_Cut(number, start, place.left_end_position, offset, lowest))
    return cuts


def _cut(split: Split, cuts: Iterable[_Cut]) -> list[Split]:
    """Cut a split; a cut that leaves no offset on one of its sides falls out."""
    pieces: list[Split] = []
    first = split.ranges[0]
    begin = _Cut(0, first.start_position, 0, split.first_offset, first.lowest_offset)
    last = len(split.ranges) - 1
    end = _Cut(last, 0, split.ranges[last].end_position, split.end_offset)
    inner = (cut for cut in cuts if cut.offset < split.end_offset)
    for cut in (*inner, end):
        if cut.offset <= begin.offset:
            continue
        ranges = _between(split.ranges, begin, cut)
        if ranges:
            pieces.append(
                split._replace(ranges=ranges, first_offset=begin.offset, end_offset=cut.offset)
            )
            begin = cut  # else its offsets are the next one's
    if pieces and pieces[-1].end_offset < split.end_offset:
        pieces[-1] = pieces[-1]._replace(end_offset=split.end_offset)
    return pieces


def _between(ranges: Sequence[SegmentRange], begin: _Cut, end: _Cut) -> tuple[SegmentRange, ...]:
    found = []
    for number in range(begin.number, end.number + 1):
        part = ranges[number]
        start, lowest = part.start_position, part.lowest_offset
        if number == begin.number:
            start, lowest = begin.right_start, begin.lowest_offset
        stop = end.left_end if number == end.number else part.end_position
        limit = part.limit
        if number == end.number and stop == end.right_start:
            limit = end.offset
        is_at_end = start == stop == part.segment.size_bytes
        if start < stop or (is_at_end and part.segment.base_offset < end.offset):
            found.append(SegmentRange(part.segment, start, stop, lowest, limit))
    return tuple(found)
