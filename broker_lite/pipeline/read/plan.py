"""Cuts a read into splits, one per task.

First a partition is cut by size, at the index entry or segment start nearest to an even share; only
the batches at the cuts are read. If maxRecordsPerPartition or minPartitions ask for more splits,
these are then cut into even shares of their offsets, as Spark's Kafka connector does. Such a cut
may go through a batch, but only in the record view.
"""

import gc
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from broker_lite.pipeline.files.file_io import FileIO, LocalFileIO
from broker_lite.pipeline.files.indexes import offset_entries_near
from broker_lite.pipeline.files.layout import PartitionLog
from broker_lite.pipeline.files.parallel import in_parallel
from broker_lite.pipeline.files.positions import batch_starts, boundary
from broker_lite.pipeline.read.offset_limits import TopicPartition
from broker_lite.pipeline.read.options import ReadOptions, View
from broker_lite.pipeline.read.ranges import (
    OffsetRange,
    cleaned_end,
    find_logs,
    resolve,
)
from broker_lite.pipeline.read.split import SegmentRange, Split

# A cut within this share of a segment's start moves to the start, which needs no read.
_SNAP_SHARE: Final = 8


class _Cut(NamedTuple):
    """Where a split is cut: in a range (by its number), between batches or through a batch.

    Attributes:
        lowest_offset: the lowest possible offset of a batch from right_start on; None at the start
            of a segment.
    """

    number: int
    right_start: int
    left_end: int
    offset: int
    lowest_offset: int | None = None


def plan(io: FileIO, root: str, options: ReadOptions) -> list[Split]:
    """Plan the splits of a batch query, in order of partition and offset.

    Args:
        io: from open_file_io(options.path).
        root: the path from the same call.
        options: of a batch query.

    Raises:
        PlanError: something that the options ask for is missing; see resolve().
        OSError: the log directory cannot be read.
    """
    with _no_collections():
        logs = find_logs(io, root, options)
        return plan_ranges(io, root, logs, resolve(io, logs, options), options)


@contextmanager
def _no_collections() -> Iterator[None]:
    """Keep the garbage collector from looking at all segments and splits again and again.

    None of them is part of a cycle. It took half of the time of 1,000,000 segments.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def plan_ranges(
    io: FileIO,
    root: str,
    logs: Mapping[TopicPartition, PartitionLog],
    ranges: Mapping[TopicPartition, OffsetRange],
    options: ReadOptions,
) -> list[Split]:
    """Cut ranges of offsets into splits; an empty range has none.

    Args:
        io: opens the logs.
        root: the path of the log directory inside io.
        logs: of all partitions that have a range.
        ranges: the offsets to read, within those that the logs hold.
        options: have the limits for a split.

    Raises:
        FileNotFoundError: a segment vanished since it was listed.
    """
    uri = root if isinstance(io, LocalFileIO) else options.path
    wholes = in_parallel(
        io, lambda key: _whole(io, uri, logs[key], ranges[key], options), sorted(ranges.keys())
    )
    is_inside = options.view is not View.INDEX
    wholes = [whole for whole in wholes if whole.ranges]
    split_bytes = options.split_bytes(sum(whole.size_bytes for whole in wholes))
    splits = _by_size(io, wholes, split_bytes, is_inside)
    return _by_count(io, splits, options) if is_inside else splits


def _by_count(io: FileIO, splits: list[Split], options: ReadOptions) -> list[Split]:
    """Cut splits further if the options ask for more of them."""
    # In the batch view a row is a batch, so no cut may go through one.
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
    """Return one split with all wanted offsets of a partition.

    An empty range is kept, too, so that the reader reports the missing offsets.
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


def _by_size(io: FileIO, splits: Sequence[Split], split_bytes: int, is_inside: bool) -> list[Split]:
    """Cut splits near even shares of their bytes, within segments only if `is_inside`."""
    cuts = [_size_cuts(split, split_bytes, is_inside) for split in splits]
    jobs = [
        (index, number, targets)
        for index, (_, inside) in enumerate(cuts)
        for number, targets in inside.items()
    ]
    found = in_parallel(io, lambda job: _batch_cuts(io, splits[job[0]], *job[1:]), jobs)
    for (index, *_), some in zip(jobs, found, strict=True):
        cuts[index][0].extend(some)
    return [
        piece
        for split, (some, _) in zip(splits, cuts, strict=True)
        for piece in (_cut(split, sorted(some)) if some else (split,))
    ]


def _size_cuts(
    split: Split, split_bytes: int, is_inside: bool
) -> tuple[list[_Cut], dict[int, list[int]]]:
    """Return the cuts at starts of segments, and positions to cut at by the number of a range."""
    count = -(-split.size_bytes // split_bytes)
    share_bytes = split.size_bytes // max(count, 1)
    near_bytes = share_bytes // _SNAP_SHARE if is_inside else split.size_bytes
    cuts: list[_Cut] = []
    inside: defaultdict[int, list[int]] = defaultdict(list)
    for number, into_bytes in _shares(split, count):
        behind_bytes = split.ranges[number].size_bytes - into_bytes
        if min(into_bytes, behind_bytes) > near_bytes:
            inside[number].append(split.ranges[number].start_position + into_bytes)
        else:
            cuts.append(_segment_cut(split, number + (behind_bytes < into_bytes)))
    return cuts, inside


def _shares(split: Split, count: int) -> Iterator[tuple[int, int]]:
    """Yield where even shares of a split's bytes end: number of a range, bytes into it."""
    number, passed_bytes, size_bytes = 0, 0, split.size_bytes
    for index in range(1, count):
        target = size_bytes * index // count
        while target >= passed_bytes + split.ranges[number].size_bytes:
            passed_bytes += split.ranges[number].size_bytes
            number += 1
        yield number, target - passed_bytes


def _segment_cut(split: Split, number: int) -> _Cut:
    """Return the cut in front of a range; _cut() drops the one behind the last range."""
    if number == len(split.ranges):
        return _Cut(number - 1, split.ranges[-1].end_position, 0, split.end_offset)
    part = split.ranges[number]
    start, lowest = part.start_position, part.lowest_offset
    return _Cut(number, start, start, part.segment.base_offset, lowest)


def _batch_cuts(io: FileIO, split: Split, number: int, targets: Sequence[int]) -> list[_Cut]:
    """Return cuts at the index entries nearest to positions; without entries, around the range."""
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
    """Cut each split into even shares of its offsets."""
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
        limit = part.segment.limit if part.limit is None else part.limit
        place = boundary(io, part.segment, offset, part.end_position, limit)
        start, lowest = place.start_position, place.lowest_offset
        if part.start_position > start:
            start, lowest = part.start_position, part.lowest_offset or lowest
        if is_aligned and place.base_offset < offset:
            cuts.append(_Cut(number, start, start, place.base_offset, lowest))
        else:
            cuts.append(_Cut(number, start, place.left_end_position, offset, lowest))
    return cuts


def _cut(split: Split, cuts: Iterable[_Cut]) -> list[Split]:
    """Cut a split; a cut that leaves no offset on one side is dropped."""
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
            begin = cut  # without bytes, the offsets go to the next piece
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
