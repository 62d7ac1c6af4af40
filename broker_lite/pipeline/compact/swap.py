"""Replaces segments by their compacted ones.

After a crash at any point, the next start of a broker (Kafka's, too) cleans up. If the new log was
not yet named `.swap`, the start removes the new files; else it finishes the swap.

See: S-41, S-89 (LogLoader, LocalLog.replaceSegments).
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

from broker_lite.log.files.checkpoints import (
    CLEANER_FILE,
    format_offsets,
    parse_offsets,
    read_file,
    replace_file,
)
from broker_lite.log.files.names import LOG_SUFFIX, SNAPSHOT_SUFFIX, SWAP_SUFFIX, segment_stem
from broker_lite.pipeline.compact.plan import CompactionGroup
from broker_lite.pipeline.files.file_io import FileIO, LocalFileIO
from broker_lite.pipeline.files.log_root import is_data_directory, unclean_meanwhile
from broker_lite.pipeline.read.offset_limits import TopicPartition
from broker_lite.pipeline.write.log_writer import StagedSegment

Swap = tuple[CompactionGroup, StagedSegment]


def swap_all(root: str, swaps: Sequence[Swap]) -> None:
    """Replace every group by its staged segment, and update the cleaner's checkpoint.

    Args:
        root: a local log directory, locked by the caller.
        swaps: one for each group.

    Raises:
        OSError: a file cannot be renamed or removed; a broker finishes the swap at its next start.
    """
    io = LocalFileIO()
    is_brokers = is_data_directory(io, root)
    with unclean_meanwhile(Path(root)) if is_brokers else nullcontext():
        for group, staged in swaps:
            swap(io, group, staged)
        _note_round_ends(Path(root), swaps)


def swap(io: FileIO, group: CompactionGroup, staged: StagedSegment) -> None:
    """Replace one group by its staged segment.

    Raises:
        OSError: a file cannot be renamed or removed.
    """
    directory = group.segments[0].directory
    stem = segment_stem(directory, group.base_offset)
    # The log goes first. With it, a broker rebuilds missing indexes. Without it, the new indexes
    # would be taken for those of the old log.
    suffixes = [LOG_SUFFIX, *(one for one in staged.suffixes if one != LOG_SUFFIX)]
    for suffix in suffixes:
        io.sync(staged.staged_path(suffix))
    for suffix in suffixes:
        io.rename(staged.staged_path(suffix), stem + suffix + SWAP_SUFFIX)
    io.sync(directory)
    for segment in group.segments:
        is_base = segment.base_offset == group.base_offset
        kept = {SNAPSHOT_SUFFIX} if is_base else set()
        for suffix in (*sorted(segment.suffixes - kept), LOG_SUFFIX):
            io.delete(segment.stem + suffix)
    for suffix in suffixes:
        io.rename(stem + suffix + SWAP_SUFFIX, stem + suffix)
    io.sync(directory)


def _note_round_ends(root: Path, swaps: Iterable[Swap]) -> None:
    """Write to the cleaner's checkpoint where the next round begins.

    See: S-70, S-82 (LogCleanerManager.doneCleaning).
    """
    ends: Mapping[TopicPartition, int] = {
        (group.topic, group.partition): group.round_end for group, _ in swaps
    }
    offsets = parse_offsets(read_file(root / CLEANER_FILE) or "")
    replace_file(root / CLEANER_FILE, format_offsets({**offsets, **ends}))
