"""A stretch of a partition's offsets, read from a log that is being changed at the same time.

A plan with positions in files holds for as long as nobody replaces the files. A stream cannot count
on that: between its plan and its tasks a cleaner may have put one segment in the place of three. So
a task gets offsets alone and finds them itself: it lists the partition, opens what it needs, and
lists it again. If both listings tell the same, what is open belongs together and is read; it may
then be deleted as well. If not, all of it is done again.
"""

import logging
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

import pyarrow as pa

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
"""How many segments are open at a time, each with its index."""

_UNLIMITED_BYTES: Final = 1 << 62


class Stretch(NamedTuple):
    """Some offsets of a partition, all that are from the first one up to, and without, the end.

    Attributes:
        uri: what open_file_io opens.
        directory: of the partition, a path inside that.
    """

    uri: str
    directory: str
    topic: str
    partition: int
    first_offset: int
    end_offset: int


class _Held(NamedTuple):
    """What is open of a stretch, and closed by the owner of `files`.

    Attributes:
        split: what is read of it; None when nothing is left.
        end_offset: where the stretch goes on.
    """

    files: ExitStack
    io: FileIO
    split: Split | None
    end_offset: int


def read_stretch(io: FileIO, stretch: Stretch, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """Yield the records of a stretch by rising offset, whatever happens to the files meanwhile.

    Args:
        io: of stretch.uri.
        stretch: below the end that the log had.
        options: of the stream.

    Raises:
        DataLossError: offsets are not there any more, and failOnDataLoss is true.
        UnsettledLog: an exchange of segments was begun and is not finished.
        CorruptLog: something is damaged, with onCorrupt=fail.
        OSError: a file cannot be read.
    """
    while stretch.first_offset < stretch.end_offset:
        held = settled(partial(_hold, io, stretch, options), stretch.directory)
        with held.files:
            if held.split is not None:
                yield from read_view(held.io, held.split, options)
        stretch = stretch._replace(first_offset=held.end_offset)


def report_loss(text: str, options: ReadOptions) -> None:
    """Tell that offsets were lost.

    Raises:
        DataLossError: failOnDataLoss is true; otherwise it is a warning.
    """
    if options.fail_on_data_loss:
        raise DataLossError(f"{text}; failOnDataLoss=false goes on with what is there")
    logger.warning("data may be lost: %s", text)


def _hold(io: FileIO, stretch: Stretch, options: ReadOptions) -> _Held | None:
    """Open the first segments of a stretch; None when they do not belong together.

    Raises:
        FileNotFoundError: a segment vanished since it was listed.
        DataLossError: offsets are not there any more, and failOnDataLoss is true.
    """
    with ExitStack() as stack:
        # Other storage knows no files that stay open when their names go: there nothing is pinned.
        files = stack.enter_context(PinnedFiles(io)) if isinstance(io, LocalFileIO) else io
        log = _listed(files, stretch)
        needed = _needed(log, stretch)
        for path in _paths(log, needed, options):
            with files.open(path):
                pass
        if not _is_settled(io, stretch, log, needed):
            return None
        split, end_offset = _planned(files, log, needed, stretch, options)
        return _Held(stack.pop_all(), files, split, end_offset)


def _listed(io: FileIO, stretch: Stretch) -> PartitionLog:
    """The log as it is now; without any segment when it is gone."""
    key = stretch.topic, stretch.partition
    gone = PartitionLog(*key, stretch.directory, ())
    try:
        return find_partitions(io, stretch.directory).get(key, gone)
    except FileNotFoundError:
        return gone


def _needed(log: PartitionLog, stretch: Stretch) -> Sequence[Segment]:
    bases = [segment.base_offset for segment in log.segments]
    low = max(bisect_right(bases, stretch.first_offset) - 1, 0)
    high = bisect_left(bases, stretch.end_offset)
    return log.segments[low : min(high, low + SEGMENTS_HELD)]


def _paths(log: PartitionLog, needed: Sequence[Segment], options: ReadOptions) -> Iterator[str]:
    """The files that tell which records there are."""
    for segment in needed:
        yield segment.log_path
    if needed and options.isolation_level is IsolationLevel.READ_COMMITTED:
        # A transaction is entered where its marker is, which may be in any later segment.
        for segment in log.segments[log.segments.index(needed[0]) :]:
            if TRANSACTION_INDEX_SUFFIX in segment.suffixes:
                yield segment.stem + TRANSACTION_INDEX_SUFFIX


def _is_settled(io: FileIO, stretch: Stretch, log: PartitionLog, needed: Sequence[Segment]) -> bool:
    """Whether a second listing tells the same of what is needed as the first one did."""
    # In this order: an exchange that ends after the question is seen by the listing behind it.
    if is_swapping(io, stretch.directory):
        return False
    now = _listed(io, stretch)
    return _identity(now, _needed(now, stretch)) == _identity(log, needed)


def _identity(log: PartitionLog, segments: Sequence[Segment]) -> list[tuple[int, int]]:
    """What changes when a segment is replaced; the last one of a log only grows."""
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
    """Find what is read of segments that are open, and up to which offset that is all there is."""
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
            f" are due, the log has {there.first_offset} to {there.end_offset}",
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
