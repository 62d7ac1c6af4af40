"""Appends staged segments to their logs, all or none of them.

Only the driver does this, once, with the segments of the attempts that Spark accepted. It assigns
offsets in the order of the tasks, syncs the files, and then renames them, a segment's indexes
before its log. An error undoes all of it. If the driver dies during the renames, a first part of
the segments remains, never a hole.

In the directory of a stopped broker, the mark of the clean stop is removed meanwhile, so that the
broker recovers after a crash, and the checkpoints get the new ends.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Final, NamedTuple

from broker_lite.log.files.checkpoints import CLEANER_FILE, format_offsets
from broker_lite.log.files.leader_epochs import FILE_NAME as EPOCH_FILE
from broker_lite.log.files.leader_epochs import LeaderEpochCache
from broker_lite.log.files.names import DELETED_SUFFIX, LOG_SUFFIX, SNAPSHOT_SUFFIX, segment_stem
from broker_lite.log.producers.snapshot import encode_snapshot
from broker_lite.pipeline.files.file_io import FileIO, LocalFileIO, join, read_whole
from broker_lite.pipeline.files.layout import PartitionLog, find_partitions, read_checkpoint
from broker_lite.pipeline.files.log_end import log_end
from broker_lite.pipeline.files.log_root import (
    WriteRefused,
    is_data_directory,
    locked,
    note_ends,
    refuse_unknown_partition,
    refuse_unusable,
    unclean_meanwhile,
)
from broker_lite.pipeline.write.encode import LEADER_EPOCH
from broker_lite.pipeline.write.log_writer import StagedSegment, staged_path
from broker_lite.pipeline.write.producer_snapshots import newest_producers, producers_of
from broker_lite.pipeline.write.restamp import restamp_copy, restamp_local

_SYNC_THREADS: Final = 8


class CommittedPartition(NamedTuple):
    """What a commit added to a partition; end_offset is the offset after its last record."""

    topic: str
    partition: int
    first_offset: int
    end_offset: int
    record_count: int
    size_bytes: int
    segment_count: int


class _Placed(NamedTuple):
    """A staged segment and its place in the log; with an epoch, all its batches get that."""

    segment: StagedSegment
    shift: int
    leader_epoch: int | None

    @property
    def base_offset(self) -> int:
        return self.segment.base_offset + self.shift

    @property
    def end_offset(self) -> int:
        return self.segment.end_offset + self.shift

    @property
    def is_restamped(self) -> bool:
        return self.shift != 0 or self.leader_epoch is not None

    @property
    def epochs(self) -> list[tuple[int, int]]:
        """The leader epochs of its batches, each with the offset where it begins."""
        if self.leader_epoch is not None:
            return [(self.leader_epoch, self.base_offset)]
        return [(epoch, offset + self.shift) for epoch, offset in _epochs_of(self.segment)]


class _Change(NamedTuple):
    """A file to rename; with `copied`, a restamped copy replaces the rename.

    Attributes:
        before: path of a staged copy of the file that this one replaces, None if there is none.
    """

    staged: str
    final: str
    copied: _Placed | None = None
    before: str | None = None


def commit(
    io: FileIO,
    root: str,
    segments: Iterable[StagedSegment],
    *,
    base_offset: int | None = None,
    sync: bool = True,
    gaps_are_compacted: bool = False,
) -> list[CommittedPartition]:
    """Append staged segments to their partitions.

    Args:
        io: opens the root.
        root: the log directory.
        segments: of all partitions, in the order to append them.
        base_offset: where empty logs begin; None means 0.
        sync: fsync before the segments become visible.
        gaps_are_compacted: note in the cleaner's checkpoint how far offsets are missing; without
            it, a reader takes them for lost.

    Returns:
        What was added, sorted by topic and partition.

    Raises:
        WriteRefused: the directory is in use or must not be written to, or offsets do not rise;
            nothing changed.
        OSError: nothing was added, though the mark of a clean stop may be gone.

    See: S-31, S-40, S-70.
    """
    by_partition: dict[tuple[str, int], list[StagedSegment]] = {}
    for segment in segments:
        placement = segment.placement
        by_partition.setdefault((placement.topic, placement.partition), []).append(segment)
    if not by_partition:
        return []
    with locked(io, root):
        refuse_unusable(io, root)
        logs = find_partitions(
            io, root, lambda topic, partition: (topic, partition) in by_partition
        )
        partitions = [
            _Partition(io, root, logs.get(key), segments, base_offset)
            for key, segments in sorted(by_partition.items())
        ]
        gaps = [one for one in partitions if gaps_are_compacted and one.has_gaps]
        cleaned = read_checkpoint(io, join(root, CLEANER_FILE)) if gaps else {}
        cleaned |= {one.key: one.end_offset for one in gaps}
        changes = [change for partition in partitions for change in partition.prepare()]
        if sync:
            _sync_files(io, changes)
        local_root = Path(root) if is_data_directory(io, root) else None
        with unclean_meanwhile(local_root) if local_root is not None else nullcontext():
            for partition in partitions:
                partition.remove_empty_segment()
            _make_all(io, changes, join(root, CLEANER_FILE), cleaned)
            if sync:
                _sync_directories(io, root, partitions)
            if local_root is not None:
                note_ends(local_root, {one.key: one.end_offset for one in partitions})
    return [partition.told() for partition in partitions]


def log_ends(
    io: FileIO, root: str, keys: Collection[tuple[str, int]]
) -> dict[tuple[str, int], int]:
    """Return the ends of the logs of partitions; 0 for a missing one.

    Raises:
        WriteRefused: a log ends in a torn batch.
    """
    wanted = frozenset(keys)
    logs = {}
    if io.exists(root):
        logs = find_partitions(io, root, lambda topic, partition: (topic, partition) in wanted)
    return {key: _end_of(io, logs[key]) if key in logs else 0 for key in keys}


def _end_of(io: FileIO, log: PartitionLog) -> int:
    end_offset, position = log_end(io, log)
    if log.segments and position != log.segments[-1].size_bytes:
        name = f"{log.topic}-{log.partition}"
        raise WriteRefused(f"the log of {name} ends in a torn batch: recover it first")
    return end_offset


def leader_epochs(io: FileIO, directory: str) -> LeaderEpochCache:
    """Read the leader epochs of a partition; there are none without their file.

    Raises:
        CorruptCheckpoint: the file is damaged.
        OSError: it cannot be read.
    """
    path = join(directory, EPOCH_FILE)
    if not io.exists(path):
        return LeaderEpochCache()
    return LeaderEpochCache.from_text(read_whole(io, path).decode())


class _Partition:
    """The segments to append to one partition."""

    def __init__(
        self,
        io: FileIO,
        root: str,
        log: PartitionLog | None,
        segments: Sequence[StagedSegment],
        base_offset: int | None,
    ) -> None:
        placement = segments[0].placement
        self.io = io
        self.log = log
        self.key = (placement.topic, placement.partition)
        self.directory = placement.directory
        refuse_unknown_partition(io, root, self.directory)
        self.epochs = leader_epochs(io, self.directory)
        self.first_offset = self._log_end(base_offset)
        self.placed = self._place(segments)
        self.end_offset = self.placed[-1].end_offset

    def _log_end(self, base_offset: int | None) -> int:
        """Return where new segments may begin."""
        if self.log is None:
            return base_offset or 0
        end_offset = _end_of(self.io, self.log)
        if base_offset is None:
            return end_offset
        if self._has_records or base_offset < end_offset:
            raise WriteRefused(
                f"baseOffset {base_offset}: the log of {self._name()} has offsets up to "
                f"{end_offset - 1} already"
            )
        return base_offset

    def _place(self, segments: Sequence[StagedSegment]) -> list[_Placed]:
        leader_epoch = self._leader_epoch(segments)
        placed: list[_Placed] = []
        end_offset, shift, tag = self.first_offset, 0, ""
        for segment in segments:
            if segment.placement.tag != tag:  # all segments of a task have the same shift
                tag = segment.placement.tag
                shift = end_offset if segment.placement.is_relative else 0
            placed.append(_Placed(segment, shift, leader_epoch))
            if placed[-1].base_offset < end_offset:
                raise WriteRefused(
                    f"offset {placed[-1].base_offset} of {self._name()} is not above "
                    f"{end_offset - 1}, where the log or another task ends"
                )
            end_offset = placed[-1].end_offset
        return placed

    def _leader_epoch(self, segments: Sequence[StagedSegment]) -> int | None:
        """Return the epoch of all new batches; None if each can keep its own.

        See: S-63 (LeaderEpochFileCache.assign).
        """
        latest = self.epochs.latest_epoch
        epochs = [latest, *(epoch for one in segments for epoch, _ in _epochs_of(one))]
        return None if epochs == sorted(epochs) else max(latest, LEADER_EPOCH)

    @property
    def _has_records(self) -> bool:
        return self.log is not None and any(one.size_bytes for one in self.log.segments)

    @property
    def has_gaps(self) -> bool:
        """Whether offsets are missing, in the new segments or in front of them."""
        ends = [self.first_offset if self._has_records else self.placed[0].base_offset]
        ends += [one.end_offset for one in self.placed]
        starts = [one.base_offset for one in self.placed]
        return ends[:-1] != starts or any(one.segment.has_gaps for one in self.placed)

    def prepare(self) -> Iterator[_Change]:
        """Assign offsets, and write snapshots and epochs; all in staged files."""
        producers = newest_producers(self.io, self.directory, self.first_offset)
        for placed in self.placed:
            stem = segment_stem(self.directory, placed.base_offset)
            yield from self._snapshot(
                placed, placed.base_offset, encode_snapshot(producers.values())
            )
            producers.update(producers_of(placed.segment.producers))
            for suffix in placed.segment.suffixes:
                staged, copied = placed.segment.staged_path(suffix), None
                if suffix == LOG_SUFFIX and placed.is_restamped:
                    if isinstance(self.io, LocalFileIO):
                        restamp_local(staged, placed.shift, placed.leader_epoch)
                    else:
                        copied = placed
                yield _Change(staged, stem + suffix, copied)
        yield from self._snapshot(placed, self.end_offset, encode_snapshot(producers.values()))
        before = self.epochs.to_text().encode() if self.epochs.entries else None
        entries = [entry for placed in self.placed for entry in placed.epochs]
        is_new = [self.epochs.assign(*entry) for entry in entries]
        if any(is_new):
            final = join(self.directory, EPOCH_FILE)
            staged = f"{final}.{self.placed[0].segment.placement.tag}{DELETED_SUFFIX}"
            change = self._written(staged, final, self.epochs.to_text().encode())
            if before is not None:
                copy = self._written(f"{staged}.before{DELETED_SUFFIX}", final, before)
                change = change._replace(before=copy.staged)
            yield change

    def _snapshot(self, placed: _Placed, offset: int, data: bytes) -> Iterator[_Change]:
        """See: S-18 (ProducerStateManager.takeSnapshot)."""
        final = segment_stem(self.directory, offset) + SNAPSHOT_SUFFIX
        if offset and not self.io.exists(final):
            staged = staged_path(placed.segment.placement, offset, SNAPSHOT_SUFFIX)
            yield self._written(staged, final, data)

    def _written(self, staged: str, final: str, data: bytes) -> _Change:
        with self.io.create(staged) as file:
            file.write(data)
        return _Change(staged, final)

    def remove_empty_segment(self) -> None:
        """Remove the files of an empty active segment, which the new ones replace.

        See: S-31 (LocalLog.roll).
        """
        if self.log is None or not self.log.segments or self.log.segments[-1].size_bytes:
            return
        empty = self.log.segments[-1]
        for suffix in (LOG_SUFFIX, *sorted(empty.suffixes - {SNAPSHOT_SUFFIX})):
            self.io.delete(empty.stem + suffix)

    def told(self) -> CommittedPartition:
        """Return what was added."""
        return CommittedPartition(
            *self.key,
            self.placed[0].base_offset,
            self.end_offset,
            sum(one.segment.record_count for one in self.placed),
            sum(one.segment.size_bytes for one in self.placed),
            len(self.placed),
        )

    def _name(self) -> str:
        return f"{self.key[0]}-{self.key[1]}"


def _make_all(
    io: FileIO,
    changes: Sequence[_Change],
    cleaner_path: str,
    cleaned: Mapping[tuple[str, int], int],
) -> None:
    """Rename all files and note the cleaned offsets, if there are any, or do neither."""
    made: list[_Change] = []
    try:
        for change in changes:
            made.append(change)
            if change.copied is None:
                io.rename(change.staged, change.final)
            else:
                restamp_copy(
                    io, change.staged, change.final, change.copied.shift, change.copied.leader_epoch
                )
        if cleaned:
            _write_new(io, cleaner_path, format_offsets(cleaned).encode())
    except BaseException:
        for change in reversed(made):
            _undo(io, change)
        raise


def _undo(io: FileIO, change: _Change) -> None:
    is_left = io.exists(change.staged)
    if change.before is not None:
        if not is_left:
            io.rename(change.before, change.final)
    elif is_left and io.exists(change.final):
        io.delete(change.final)
    elif not is_left:
        io.rename(change.final, change.staged)


def _write_new(io: FileIO, path: str, data: bytes) -> None:
    """Replace a small file, after a sync."""
    staged = f"{path}.tmp"
    with io.create(staged) as file:
        file.write(data)
    io.sync(staged)
    io.rename(staged, path)


def _epochs_of(segment: StagedSegment) -> tuple[tuple[int, int], ...]:
    return segment.epochs or ((LEADER_EPOCH, segment.base_offset),)


def _sync_files(io: FileIO, changes: Sequence[_Change]) -> None:
    with ThreadPoolExecutor(_SYNC_THREADS) as threads:
        list(threads.map(io.sync, (change.staged for change in changes)))


def _sync_directories(io: FileIO, root: str, partitions: Sequence[_Partition]) -> None:
    for partition in partitions:
        io.sync(partition.directory)
    io.sync(root)
