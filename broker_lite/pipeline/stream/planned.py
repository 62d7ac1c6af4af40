"""Batch queries over logs that change at the same time.

A split has positions in files, which are right as long as nobody replaces the files. So a task
first opens all files of its split, and checks that each has its planned size: a closed segment
never changes its size unless it is replaced. If a file has changed, the task reads by the offsets
of its split instead, as a stream does (stretch.py). It returns the same rows, or offsets are gone
and failOnDataLoss decides.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa

from broker_lite.pipeline.files.file_io import FileIO, LocalFileIO
from broker_lite.pipeline.files.layout import PartitionLog
from broker_lite.pipeline.files.open_file_io import open_file_io
from broker_lite.pipeline.files.pinned_files import PinnedFiles
from broker_lite.pipeline.read.offset_limits import Bound, TopicPartition
from broker_lite.pipeline.read.options import ReadOptions, View
from broker_lite.pipeline.read.plan import plan_ranges
from broker_lite.pipeline.read.pruning import Pruning, prune
from broker_lite.pipeline.read.ranges import find_logs, resolve
from broker_lite.pipeline.read.selection import TopicPattern
from broker_lite.pipeline.read.split import SegmentRange, Split
from broker_lite.pipeline.stream.settling import is_swapping, settled
from broker_lite.pipeline.stream.stretch import SEGMENTS_HELD, Read, Rows, Stretch, read_stretch
from broker_lite.pipeline.views.table import read_view

_EVERYWHERE: Final = Pruning()


def plan_query(options: ReadOptions) -> list[Split]:
    """Plan the splits of a batch query; see plan_settled()."""
    io, root = open_file_io(options.path)
    return plan_settled(io, root, options)


def plan_settled(
    io: FileIO, root: str, options: ReadOptions, pruning: Pruning = _EVERYWHERE
) -> list[Split]:
    """Plan the splits at a moment when no segment is being replaced.

    Args:
        io: from open_file_io(options.path).
        root: the path from the same call.
        options: of a batch query.
        pruning: from the filters of the query.

    Raises:
        PlanError: something that the options ask for is missing, or a swap of segments does not
            end.
        OSError: the log directory cannot be read.
    """
    return settled(lambda: _look(io, root, options, pruning), options.path)


def read_planned(
    io: FileIO, split: Split, options: ReadOptions, *, segments_held: int = SEGMENTS_HELD
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a split in order; see read_planned_by()."""
    return read_planned_by(read_view, io, split, options, segments_held=segments_held)


def read_planned_by(
    read: Read[Rows],
    io: FileIO,
    split: Split,
    options: ReadOptions,
    *,
    segments_held: int = SEGMENTS_HELD,
) -> Iterator[Rows]:
    """Yield what is made of a split, in order, even if the files change meanwhile.

    Remote storage is read as planned, because a remote file cannot be held open. So is the index
    view, which is about the files themselves.

    Args:
        read: makes it of the files that are there.
        io: opens split.uri.
        split: from plan_settled().
        options: of the same query.
        segments_held: how many segments are open at once, each with its index.

    Raises:
        DataLossError: offsets are gone, and failOnDataLoss is true.
        CorruptLog: something is damaged, and onCorrupt=fail.
        OSError: a file cannot be read.
    """
    if not isinstance(io, LocalFileIO) or options.view is View.INDEX:
        yield from read(io, split, options)
        return
    left = split
    while left.ranges:
        held, behind = left.ranges[:segments_held], left.ranges[segments_held:]
        end_offset = behind[0].segment.base_offset if behind else split.end_offset
        with PinnedFiles(io) as files:
            if not _are_as_planned(files, held):
                yield from _by_offsets(io, left, options, read)
                return
            yield from read(files, left._replace(ranges=held, end_offset=end_offset), options)
        left = left._replace(ranges=behind, first_offset=end_offset)


def _look(io: FileIO, root: str, options: ReadOptions, pruning: Pruning) -> list[Split] | None:
    is_needed = pruning.has if _may_pass_over(options) else None
    logs = find_logs(io, root, options, is_needed)
    ranges = prune(io, logs, resolve(io, logs, options), pruning)
    splits = plan_ranges(io, root, logs, ranges, options)
    is_settled = not isinstance(io, LocalFileIO) or _is_settled(io, root, options, logs, is_needed)
    return splits if is_settled else None


def _may_pass_over(options: ReadOptions) -> bool:
    """Tell whether the logs that no wanted row is in may stay closed.

    Limits and selections that name partitions are checked against all of them.
    """
    is_whole = (options.starting, options.ending) == (Bound.EARLIEST, Bound.LATEST)
    return is_whole and isinstance(options.selection, TopicPattern)


def _is_settled(
    io: FileIO,
    root: str,
    options: ReadOptions,
    logs: Mapping[TopicPartition, PartitionLog],
    is_needed: Callable[[str, int], bool] | None,
) -> bool:
    """Tell whether the logs still have the listed segments; new ones at the end are fine."""
    # In this order: a swap that ends after the first check shows in the listing after it.
    if any(is_swapping(io, log.directory) for log in logs.values()):
        return False
    now = find_logs(io, root, options, is_needed)
    return all(
        key in now and _bases(now[key])[: len(log.segments)] == _bases(log)
        for key, log in logs.items()
    )


def _bases(log: PartitionLog) -> list[int]:
    return [segment.base_offset for segment in log.segments]


def _are_as_planned(files: FileIO, ranges: Sequence[SegmentRange]) -> bool:
    """Open the files of ranges; tell whether all still have their planned sizes."""
    try:
        sizes = [_size_bytes(files, part.segment.log_path) for part in ranges]
    except FileNotFoundError:
        return False
    return sizes == [part.segment.size_bytes for part in ranges]


def _size_bytes(files: FileIO, path: str) -> int:
    with files.open(path) as file:
        return file.size_bytes


def _by_offsets(io: FileIO, split: Split, options: ReadOptions, read: Read[Rows]) -> Iterator[Rows]:
    directory = split.ranges[0].segment.directory
    stretch = Stretch(
        split.uri, directory, split.topic, split.partition, split.first_offset, split.end_offset
    )
    return read_stretch(io, stretch, options, read=read)
