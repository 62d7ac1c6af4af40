"""Reads a range of offsets from a log that changes at the same time.

Positions in files are right as long as nobody replaces the files. A stream cannot rely on that:
between its plan and its tasks, a cleaner may replace three segments by one. So a task only gets
offsets and finds them itself: it lists the partition, opens the files, and lists again. If both
listings agree, the open files are consistent, and stay readable even if they are deleted. If not,
it starts over.
"""

import logging
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple, TypeVar

from broker_lite.log.files.names import TRANSACTION_INDEX_SUFFIX
from broker_lite.pipeline.files.file_io import FileIO, LocalFileIO
from broker_lite.pipeline.files.layout import PartitionLog, Segment, find_partitions
from broker_lite.pipeline.files.log_end import log_end
from broker_lite.pipeline.files.pinned_files import PinnedFiles
from broker_lite.pipeline.files.positions import earliest
from broker_lite.pipeline.read.options import IsolationLevel, ReadOptions
from broker_lite.pipeline.read.plan import plan_ranges
from broker_lite.pipeline.read.ranges import DataLossError, OffsetRange
from broker_lite.pipeline.read.split import Split
from broker_lite.pipeline.stream.settling import is_swapping, settled
from broker_lite.pipeline.views.table import read_view

logger = logging.getLogger("broker_lite.pipeline")

SEGMENTS_HELD: Final = 64
"""How many segments a task holds open, each with its index."""

_UNLIMITED_BYTES: Final = 1 << 62

Rows = TypeVar("Rows")
Read = Callable[[FileIO, Split, ReadOptions], Iterator[Rows]]
"""Reads a split whose files do not change: read_view(), or what makes something else of it."""


class Stretch(NamedTuple):
    """The offsets of a partition from first_offset up to, but not including, end_offset.

    Attributes:
        uri: for open_file_io().
        directory: of the partition, a path inside that storage.
    """

    uri: str
    directory: str
    topic: str
    partition: int
    first_offset: int
    end_offset: int


class _Held(NamedTuple):
    """The open files of a stretch; leaving the context `files` closes them.

    Attributes:
        split: what to read; None if nothing is left.
        end_offset: where the rest of the stretch begins.
    """

    files: ExitStack
    io: FileIO
    split: Split | None
    end_offset: int


def read_stretch(
    io: FileIO,
    stretch: Stretch,
    options: ReadOptions,
    *,
    read: Read[Rows] = read_view,
    segments_held: int = SEGMENTS_HELD,
) -> Iterator[Rows]:
    """Yield the records of a stretch in order, even if the files change meanwhile.

    Args:
        io: opens stretch.uri.
        stretch: offsets below the end of the log at the time of the plan.
        options: of the stream.
        read: what makes the rows.
        segments_held: how many segments are open at once, each with its index.

    Raises:
        DataLossError: offsets are gone, and failOnDataLoss is true.
        UnsettledLog: a swap of segments does not end.
        CorruptLog: something is damaged, and onCorrupt=fail.
        OSError: a file cannot be read.
    """
    while stretch.first_offset < stretch.end_offset:
        held = settled(partial(_hold, io, stretch, options, segments_held), stretch.directory)
        with held.files:
            if held.split is not None:
                yield from read(held.io, held.split, options)
        stretch = stretch._replace(first_offset=held.end_offset)


def report_loss(text: str, options: ReadOptions) -> None:
    """Raise an error or log a warning about lost offsets.

    Raises:
        DataLossError: failOnDataLoss is true.
    """
    if options.fail_on_data_loss:
        raise DataLossError(f"{text}; failOnDataLoss=false continues with what is there")
    logger.warning("data may be lost: %s", text)


def _hold(io: FileIO, stretch: Stretch, options: ReadOptions, segments_held: int) -> _Held | None:
    """Open the first segments of a stretch; None if they are not consistent.

    Raises:
        FileNotFoundError: a segment vanished since it was listed.
        DataLossError: offsets are gone, and failOnDataLoss is true.
    """
    with ExitStack() as stack:
        # On remote storage, a deleted file cannot stay open, so nothing is pinned.
        files = stack.enter_context(PinnedFiles(io)) if isinstance(io, LocalFileIO) else io
        log = _listed(files, stretch)
        needed = _needed(log, stretch, segments_held)
        for path in _paths(log, needed, options):
            with files.open(path):
                pass
        if not _is_settled(io, stretch, log, needed, segments_held):
            return None
        split, end_offset = _planned(files, log, needed, stretch, options)
        return _Held(stack.pop_all(), files, split, end_offset)


def _listed(io: FileIO, stretch: Stretch) -> PartitionLog:
    """List the log; it has no segments if it is gone."""
    key = stretch.topic, stretch.partition
    gone = PartitionLog(*key, stretch.directory, ())
    try:
        return find_partitions(io, stretch.directory).get(key, gone)
    except FileNotFoundError:
        return gone


def _needed(log: PartitionLog, stretch: Stretch, segments_held: int) -> Sequence[Segment]:
    bases = [segment.base_offset for segment in log.segments]
    low = max(bisect_right(bases, stretch.first_offset) - 1, 0)
    high = bisect_left(bases, stretch.end_offset)
    return log.segments[low : min(high, low + segments_held)]


def _paths(log: PartitionLog, needed: Sequence[Segment], options: ReadOptions) -> Iterator[str]:
    """Yield the files that decide which records there are."""
    for segment in needed:
        yield segment.log_path
    if needed and options.isolation_level is IsolationLevel.READ_COMMITTED:
        # The index entry of a transaction is in the segment of its marker, which may be a later
        # one.
        for segment in log.segments[log.segments.index(needed[0]) :]:
            if TRANSACTION_INDEX_SUFFIX in segment.suffixes:
                yield segment.stem + TRANSACTION_INDEX_SUFFIX


def _is_settled(
    io: FileIO,
    stretch: Stretch,
    log: PartitionLog,
    needed: Sequence[Segment],
    segments_held: int,
) -> bool:
    """Tell whether a second listing of the needed segments agrees with the first."""
    # In this order: a swap that ends after the first check shows in the listing after it.
    if is_swapping(io, stretch.directory):
        return False
    now = _listed(io, stretch)
    return _identity(now, _needed(now, stretch, segments_held)) == _identity(log, needed)


def _identity(log: PartitionLog, segments: Sequence[Segment]) -> list[tuple[int, int]]:
    """Return what changes if a segment is replaced; the size of the last one may grow."""
    return [
        (segment.base_offset, 0 if segment is log.segments[-1] else segment.size_bytes)
        for segment in segments
    ]


def _planned(
    files: FileIO,
    log: PartitionLog,
    needed: Sequence[Segment],
    stretch: Stretch,
    options: ReadOptions,
) -> tuple[Split | None, int]:
    """Plan the read of the open segments; return a split and the offset up to which it reads."""
    wanted = OffsetRange(stretch.first_offset, stretch.end_offset)
    later = [
        one.base_offset
        for one in log.segments
        if needed and one.base_offset > needed[-1].base_offset
    ]
    if later:
        wanted = wanted._replace(end_offset=min(wanted.end_offset, later[0]))
        there = OffsetRange(earliest(log), wanted.end_offset)
    else:
        there = OffsetRange(earliest(log), log_end(files, log).offset)
    low = min(max(wanted.first_offset, there.first_offset), wanted.end_offset)
    found = OffsetRange(low, max(low, min(wanted.end_offset, there.end_offset)))
    if found != wanted:
        report_loss(
            f"{log.topic}-{log.partition}: offsets {wanted.first_offset} to {wanted.end_offset}"
            f" are expected, the log has {there.first_offset} to {there.end_offset}",
            options,
        )
    key = log.topic, log.partition
    whole = replace(
        options,
        max_split_bytes=_UNLIMITED_BYTES,
        min_partitions=None,
        max_records_per_partition=None,
    )
    splits = plan_ranges(files, stretch.uri, {key: log}, {key: found}, whole)
    return splits[0] if splits else None, wanted.end_offset
