"""The partitions, segments and foreign entries of a log directory, found by listing it.

`log/files/names.py` has the rules for names. A root is a log directory or the directory of one
partition. Its content decides which, since a log directory may have a name that ends in a number,
too.
"""

import logging
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import pairwise
from typing import Final, NamedTuple

from broker_lite.log.directory.data_directory import LOCK_FILE
from broker_lite.log.files.checkpoints import (
    CLEAN_SHUTDOWN_FILE,
    CLEANER_FILE,
    HIGH_WATERMARK_FILE,
    LOG_START_FILE,
    META_PROPERTIES_FILE,
    PARTITION_METADATA_FILE,
    RECOVERY_POINT_FILE,
    parse_offsets,
)
from broker_lite.log.files.leader_epochs import FILE_NAME as EPOCH_FILE
from broker_lite.log.files.names import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    METADATA_TOPIC,
    SNAPSHOT_SUFFIX,
    SWAP_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    is_set_aside,
    parse_partition_directory,
    parse_segment_file,
    segment_stem,
)
from broker_lite.pipeline.files.file_io import FileInfo, FileIO, join, read_whole
from broker_lite.pipeline.files.parallel import in_parallel

logger = logging.getLogger("broker_lite.pipeline")

EVERY_OFFSET: Final = (1 << 63) - 1
"""Above all offsets."""

INDEX_SUFFIXES: Final = frozenset((INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX))
INTERNAL_TOPICS: Final = frozenset(
    ("__consumer_offsets", "__transaction_state", "__share_group_state", METADATA_TOPIC)
)

_PARTITION_FILES: Final = frozenset((PARTITION_METADATA_FILE, EPOCH_FILE, "quorum-state"))
_LOG_DIRECTORY_FILES: Final = frozenset(
    (
        CLEAN_SHUTDOWN_FILE,
        CLEANER_FILE,
        HIGH_WATERMARK_FILE,
        LOCK_FILE,
        LOG_START_FILE,
        META_PROPERTIES_FILE,
        RECOVERY_POINT_FILE,
        "bootstrap.checkpoint",
    )
)
_OUT_OF_USE: Final = (DELETED_SUFFIX, CLEANED_SUFFIX, SWAP_SUFFIX)
_METADATA_SNAPSHOT: Final = re.compile(r"[0-9]{20}-[0-9]{10}\.checkpoint(\.part|\.deleted)?")


class LayoutError(ValueError):
    """A directory cannot be read as a log; the text is one line for the user."""


class Segment(NamedTuple):
    """The files of a segment: `<directory>/<base offset in 20 digits><suffix>`.

    Attributes:
        directory: of its partition, a path inside its FileIO.
        size_bytes: of the .log file when it was listed; it may end with a torn batch.
        suffixes: which of .index, .timeindex, .txnindex and .snapshot exist.
        limit: base offset of the next segment, above all offsets of this one; None for the last
            segment.

    See: S-03 (LogFileUtils).
    """

    topic: str
    partition: int
    base_offset: int
    directory: str
    size_bytes: int
    suffixes: frozenset[str]
    limit: int | None = None

    @property
    def stem(self) -> str:
        """Path of its files without a suffix."""
        return segment_stem(self.directory, self.base_offset)

    @property
    def log_path(self) -> str:
        """Path of the file with the records."""
        return self.stem + LOG_SUFFIX


class PartitionLog(NamedTuple):
    """The segments of a partition, sorted by base offset; a partition never written to has none.

    Attributes:
        checkpointed_start: from log-start-offset-checkpoint, else 0. Records below it are deleted,
            though their segment may still exist.
        recovery_point: from recovery-point-offset-checkpoint, else 0. All below it was flushed to
            disk.
        snapshot_offset: the highest offset that names a .snapshot, else 0. The log reached it when
            the snapshot was taken.
        cleaned_end: below this offset a cleaner may have removed records; EVERY_OFFSET if unknown.
    """

    topic: str
    partition: int
    directory: str
    segments: tuple[Segment, ...]
    checkpointed_start: int = 0
    recovery_point: int = 0
    snapshot_offset: int = 0
    cleaned_end: int = EVERY_OFFSET


class ForeignEntry(NamedTuple):
    """A file or directory that belongs to no log in use, and the reason."""

    path: str
    reason: str


def is_public(topic: str, partition: int) -> bool:
    """Tell whether a partition belongs to no internal topic; the default filter of find_partitions.

    See: S-02 (Topic.isInternal).
    """
    return topic not in INTERNAL_TOPICS


def find_partitions(
    io: FileIO, root: str, wanted: Callable[[str, int], bool] = is_public
) -> dict[tuple[str, int], PartitionLog]:
    """Find the partitions of a log directory and their segments.

    Only the directories of wanted partitions are listed. Files out of use (deleted, cleaned, swap,
    stray) and foreign files are left out.

    Args:
        io: opens the root.
        root: a log directory, or the directory of one partition, which is then always included.
        wanted: takes topic and partition.

    Raises:
        FileNotFoundError: the root does not exist.
        NotADirectoryError: it is a file.
        LayoutError: segments lie in it, but its name is not that of a partition in use.

    See: S-01 to S-04 (LogManager.loadLogs, UnifiedLog.parseTopicPartitionName).
    """
    entries = io.list(root)
    own = _own_partition(root, entries)
    if own is not None:
        parent = root.rstrip("/").rpartition("/")[0]
        return {own: _partition_log(*own, root, entries, _Checkpoints.of(io, parent or "/"))}
    checkpoints = _Checkpoints.of(io, root)

    def listed(directory: tuple[str, tuple[str, int]]) -> PartitionLog | None:
        name, parsed = directory
        path = join(root, name)
        try:
            return _partition_log(*parsed, path, io.list(path), checkpoints)
        except FileNotFoundError:
            return None  # deleted since the root was listed

    directories = [each for each in _partition_directories(entries) if wanted(*each[1])]
    logs = in_parallel(io, listed, directories)
    return dict(sorted(((log.topic, log.partition), log) for log in logs if log is not None))


def find_foreign(io: FileIO, root: str) -> list[ForeignEntry]:
    """List the entries that find_partitions ignores and that no cleanly stopped broker leaves.

    Raises:
        FileNotFoundError: the root does not exist.
        NotADirectoryError: it is a file.
        LayoutError: segments lie in it, but its name is not that of a partition in use.

    See: S-01, S-04.
    """
    entries = io.list(root)
    if _own_partition(root, entries) is not None:
        return _foreign_in_partition(root, entries)
    found = []
    for info in entries:
        path = join(root, info.name)
        if info.is_directory:
            found += _foreign_directory(io, path, info.name)
        elif info.name not in _LOG_DIRECTORY_FILES:
            found.append(ForeignEntry(path, "no file of a log directory"))
    return found


def _own_partition(root: str, entries: Iterable[FileInfo]) -> tuple[str, int] | None:
    """Return topic and partition if the root is a partition's directory."""
    if not any(_is_partition_file(info) for info in entries):
        return None
    parsed = parse_partition_directory(root.rstrip("/").rpartition("/")[2])
    if parsed is None:
        raise LayoutError(f"{root}: has segments, but is not named TOPIC-PARTITION")
    return parsed


def _is_partition_file(info: FileInfo) -> bool:
    if info.is_directory:
        return False
    parsed = parse_segment_file(info.name)
    return info.name == PARTITION_METADATA_FILE or (parsed is not None and parsed[1] == LOG_SUFFIX)


def _partition_directories(entries: Iterable[FileInfo]) -> Iterable[tuple[str, tuple[str, int]]]:
    for info in entries:
        parsed = parse_partition_directory(info.name) if info.is_directory else None
        if parsed is not None:
            yield info.name, parsed


class _Checkpoints(NamedTuple):
    """The checkpoints of a log directory.

    Attributes:
        is_brokers: whether it is a broker's data directory, whose cleaner writes a checkpoint. A
            copy of some partitions has none, so anything may have been cleaned.
    """

    starts: Mapping[tuple[str, int], int]
    recovery_points: Mapping[tuple[str, int], int]
    cleaned: Mapping[tuple[str, int], int]
    is_brokers: bool

    @classmethod
    def of(cls, io: FileIO, log_directory: str) -> "_Checkpoints":
        cleaned = _checkpoint(io, join(log_directory, CLEANER_FILE))
        return cls(
            _checkpoint(io, join(log_directory, LOG_START_FILE)) or {},
            _checkpoint(io, join(log_directory, RECOVERY_POINT_FILE)) or {},
            cleaned or {},
            cleaned is not None and io.exists(join(log_directory, META_PROPERTIES_FILE)),
        )

    def cleaned_end(self, key: tuple[str, int], *, is_cleaning: bool) -> int:
        """Return the offset below which a cleaner may have removed records.

        The cleaner writes the checkpoint after a round that replaced segment by segment. So a log
        that the checkpoint names may have been cleaned anywhere.

        See: S-70, S-80 (LogCleanerManager).
        """
        return (
            0 if self.is_brokers and key not in self.cleaned and not is_cleaning else EVERY_OFFSET
        )


def read_checkpoint(io: FileIO, path: str) -> dict[tuple[str, int], int]:
    """Read a checkpoint of offsets; empty if the file is missing.

    Raises:
        ValueError: it is damaged.
    """
    return parse_offsets(read_whole(io, path).decode()) if io.exists(path) else {}


def _checkpoint(io: FileIO, path: str) -> dict[tuple[str, int], int] | None:
    """Read a checkpoint; None if it is damaged."""
    try:
        return read_checkpoint(io, path)
    except ValueError as error:  # a CorruptCheckpoint is one
        logger.warning("checkpoint passed over path=%s reason=%s", path, error)
        return None


@cache
def _with(suffixes: frozenset[str], suffix: str) -> frozenset[str]:
    return suffixes | {suffix}


def _partition_log(
    topic: str,
    partition: int,
    directory: str,
    entries: Iterable[FileInfo],
    checkpoints: _Checkpoints,
) -> PartitionLog:
    sizes: dict[int, int] = {}
    suffixes: defaultdict[int, frozenset[str]] = defaultdict(frozenset)
    exchanged = -1  # the highest base offset of a file that is no longer, or not yet, in use
    for info in entries:
        parsed = None if info.is_directory else parse_segment_file(info.name)
        if parsed is None:
            continue
        base_offset, suffix = parsed
        if suffix == LOG_SUFFIX:
            sizes[base_offset] = info.size_bytes
        elif suffix in INDEX_SUFFIXES or suffix == SNAPSHOT_SUFFIX:
            # Millions of segments share a few sets.
            suffixes[base_offset] = _with(suffixes[base_offset], suffix)
        elif suffix.endswith(_OUT_OF_USE):
            exchanged = max(exchanged, base_offset)
    segments = tuple(
        Segment(
            topic, partition, base, directory, sizes[base], suffixes.get(base, frozenset()), limit
        )
        for base, limit in pairwise((*sorted(sizes), None))
        if base is not None
    )
    key = topic, partition
    # Retention deletes only below the log's start, so a file out of use above it is the cleaner's.
    is_cleaning = exchanged >= min(sizes, default=0)
    return PartitionLog(
        topic,
        partition,
        directory,
        segments,
        checkpoints.starts.get(key, 0),
        checkpoints.recovery_points.get(key, 0),
        max((base for base, found in suffixes.items() if SNAPSHOT_SUFFIX in found), default=0),
        checkpoints.cleaned_end(key, is_cleaning=is_cleaning),
    )


def _foreign_directory(io: FileIO, path: str, name: str) -> list[ForeignEntry]:
    if is_set_aside(name):
        return [ForeignEntry(path, "directory out of use: deleted, stray or future")]
    if parse_partition_directory(name) is None:
        return [ForeignEntry(path, "no directory of a partition")]
    return _foreign_in_partition(path, io.list(path))


def _foreign_in_partition(directory: str, entries: list[FileInfo]) -> list[ForeignEntry]:
    logs = {
        parsed[0]
        for parsed in (parse_segment_file(info.name) for info in entries)
        if parsed is not None and parsed[1] == LOG_SUFFIX
    }
    reasons = ((info.name, _why_foreign(info, logs)) for info in entries)
    return [ForeignEntry(join(directory, name), why) for name, why in reasons if why is not None]


def _why_foreign(info: FileInfo, logs: set[int]) -> str | None:
    if info.is_directory:
        return "directory inside a partition"
    if info.name in _PARTITION_FILES or _METADATA_SNAPSHOT.fullmatch(info.name):
        return None
    parsed = parse_segment_file(info.name)
    if parsed is None:
        return "no file of a partition"
    base_offset, suffix = parsed
    if suffix.endswith(_OUT_OF_USE):
        return "left by an interrupted change: not in use"
    if suffix in INDEX_SUFFIXES:
        return None if base_offset in logs else "index without its .log"
    return None if suffix in (LOG_SUFFIX, SNAPSHOT_SUFFIX) else "no file of a segment"
