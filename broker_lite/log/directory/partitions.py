"""The partitions of a data directory, with their offsets from the checkpoint files."""

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from broker_lite.errors import KafkaStorageError
from broker_lite.log.config import LogConfig
from broker_lite.log.directory.idle import IdleSegments
from broker_lite.log.files.checkpoints import (
    HIGH_WATERMARK_FILE,
    LOG_START_FILE,
    PARTITION_METADATA_FILE,
    RECOVERY_POINT_FILE,
    CorruptCheckpoint,
    format_offsets,
    format_partition_metadata,
    parse_partition_metadata,
    read_file,
    replace_file,
    stored_offsets,
)
from broker_lite.log.files.names import (
    DELETE_DIRECTORY_SUFFIX,
    LOG_SUFFIX,
    METADATA_TOPIC,
    is_set_aside,
    parse_partition_directory,
    partition_directory,
    set_aside_directory,
)
from broker_lite.log.files.open_file import create_file, write_file
from broker_lite.log.log import Log

logger = logging.getLogger("broker_lite.log")


class Partition:
    """What the manager knows of a partition, loaded or not.

    Attributes:
        is_claimed: the metadata log has this partition.
        is_clean: the log was closed by a clean stop, or is loaded; it needs no recovery.
        is_new: nothing was ever written to it, so its directory need not be read.
        log: the loaded log; None before the first use.
        idle: what retention needs to know while the log is not loaded; None before it was read.
    """

    __slots__ = (
        "config",
        "high_watermark",
        "idle",
        "is_claimed",
        "is_clean",
        "is_new",
        "leader_epoch",
        "log",
        "log_start_offset",
        "recovery_point",
        "topic_id",
    )

    def __init__(self, config: LogConfig) -> None:
        self.config = config
        self.topic_id = b""
        self.leader_epoch = 0
        self.is_claimed = False
        self.is_clean = True
        self.is_new = False
        self.recovery_point = 0
        self.log_start_offset: int | None = None
        self.high_watermark = 0
        self.log: Log | None = None
        self.idle: IdleSegments | None = None

    def note_offsets(self) -> None:
        """Copy the offsets of a loaded log, for the checkpoints."""
        log = self.log
        if log is None:
            return
        self.recovery_point = log.flusher.recovery_point
        self.high_watermark = log.high_watermark
        start = log.log_start_offset
        self.log_start_offset = start if start > log.segments.all[0].base_offset else None


class Found(NamedTuple):
    """The contents of a data directory.

    Attributes:
        partitions: by topic name and partition number.
        checkpointed: the partitions that the checkpoints list with an offset that would be wrong
            for a new partition; some of them may be deleted.
        deleted: names of the directories of deleted partitions.
    """

    partitions: dict[tuple[str, int], Partition]
    checkpointed: set[tuple[str, int]]
    deleted: list[str]


def find_partitions(data_dir: Path, config: LogConfig, is_clean: bool) -> Found:
    """Read the checkpoints and list the partitions' directories.

    After a clean stop the recovery point is the log end offset, so 0 means that the log is empty.

    Raises:
        OSError: the data directory cannot be read.

    See: S-40 (LogManager.loadLogs).
    """
    keys, deleted = _directories(data_dir)
    if keys and not is_clean:
        logger.info(
            "last stop was not clean, logs are recovered data_dir=%s partitions=%d",
            data_dir,
            len(keys),
        )
    # After a crash the files may be missing, because the broker had not written them yet. A clean
    # stop always writes them.
    is_due = bool(keys) and (is_clean or (data_dir / RECOVERY_POINT_FILE).exists())
    recovery_points = _read_checkpoint(data_dir / RECOVERY_POINT_FILE, is_due=is_due)
    log_starts = _read_checkpoint(data_dir / LOG_START_FILE, is_due=is_due)
    # this file may be missing: with one replica, the high watermark is the log end offset
    high_watermarks = _read_checkpoint(data_dir / HIGH_WATERMARK_FILE, is_due=False)
    partitions: dict[tuple[str, int], Partition] = {}
    for key in keys:
        partition = partitions[key] = Partition(config)
        partition.is_clean = is_clean
        partition.recovery_point = recovery_points.get(key, 0)
        partition.log_start_offset = log_starts.get(key)
        partition.is_new = (
            is_clean and recovery_points.get(key) == 0 and partition.log_start_offset is None
        )
        partition.high_watermark = high_watermarks.get(key, 0)
    return Found(partitions, _with_offsets(recovery_points, log_starts), deleted)


def _directories(data_dir: Path) -> tuple[list[tuple[str, int]], list[str]]:
    """List the partitions of a data directory, and the names of deleted ones' directories."""
    keys = []
    deleted = []
    with os.scandir(data_dir) as entries:
        names = [entry.name for entry in entries if entry.is_dir()]
    for name in names:
        key = parse_partition_directory(name)
        if key is None:
            if is_set_aside(name) and name.endswith(DELETE_DIRECTORY_SUFFIX):
                deleted.append(name)
        elif key[0] != METADATA_TOPIC:
            keys.append(key)
    return keys, deleted


def _with_offsets(
    recovery_points: Mapping[tuple[str, int], int], log_starts: Mapping[tuple[str, int], int]
) -> set[tuple[str, int]]:
    return {key for key, offset in recovery_points.items() if offset} | log_starts.keys()


def _read_checkpoint(path: Path, *, is_due: bool) -> dict[tuple[str, int], int]:
    """Read a checkpoint; log a warning if its offsets are lost.

    Args:
        path: the file.
        is_due: the file must exist.
    """
    try:
        return stored_offsets(path, is_due=is_due)
    except CorruptCheckpoint as error:
        logger.warning("checkpoint ignored path=%s reason=%s", path, error)
        return {}


def write_checkpoints(
    data_dir: Path, partitions: Mapping[tuple[str, int], Partition]
) -> set[tuple[str, int]]:
    """Write the three offset checkpoints.

    Returns:
        The partitions that they list with an offset that matters, as in Found.checkpointed.

    Raises:
        OSError: a file was not written, and has its old contents.

    See: S-33, S-70 (LogManager.checkpointLogRecoveryOffsets).
    """
    recovery_points: dict[tuple[str, int], int] = {}
    log_starts: dict[tuple[str, int], int] = {}
    high_watermarks: dict[tuple[str, int], int] = {}
    for key, partition in partitions.items():
        partition.note_offsets()
        # A log that was never loaded may have records although its recovery point is 0 here. It is
        # not listed, because the next start would take 0 to mean that the log is empty.
        is_known = partition.recovery_point or partition.is_new or partition.log is not None
        if is_known:
            recovery_points[key] = partition.recovery_point
        high_watermarks[key] = partition.high_watermark
        if partition.log_start_offset is not None:
            log_starts[key] = partition.log_start_offset
    replace_file(data_dir / RECOVERY_POINT_FILE, format_offsets(recovery_points))
    replace_file(data_dir / LOG_START_FILE, format_offsets(log_starts))
    replace_file(data_dir / HIGH_WATERMARK_FILE, format_offsets(high_watermarks))
    return _with_offsets(recovery_points, log_starts)


def write_log_starts(
    data_dir: Path, partitions: Mapping[tuple[str, int], Partition]
) -> set[tuple[str, int]]:
    """Write the checkpoint of log start offsets; return the partitions that it lists.

    Raises:
        OSError: the file was not written, and has its old contents.

    See: S-70 (LogManager.checkpointLogStartOffsets).
    """
    log_starts: dict[tuple[str, int], int] = {}
    for key, partition in partitions.items():
        partition.note_offsets()
        if partition.log_start_offset is not None:
            log_starts[key] = partition.log_start_offset
    replace_file(data_dir / LOG_START_FILE, format_offsets(log_starts))
    return set(log_starts)


def stored_bytes(directory: str) -> int:
    """Return the size of the .log files of a partition that is not loaded.

    Raises:
        OSError: the directory cannot be read.
    """
    with os.scandir(directory) as files:
        return sum(file.stat().st_size for file in files if file.name.endswith(LOG_SUFFIX))


def has_segments(directory: str) -> bool:
    """Whether a partition's directory has a .log file, which could be damaged."""
    return any(name.endswith(LOG_SUFFIX) for name in os.listdir(directory))


def has_records(directory: str) -> bool:
    """Whether a partition's directory holds a batch.

    Files alone do not say so, because Kafka makes them before the first batch.

    Raises:
        OSError: the directory cannot be read.
    """
    with os.scandir(directory) as files:
        return any(file.name.endswith(LOG_SUFFIX) and file.stat().st_size > 0 for file in files)


def is_unwritten(entry: Partition, directory: str) -> bool:
    """Whether nothing was ever written to a partition; checks the files if the entry says so.

    Raises:
        KafkaStorageError: the directory cannot be read.
    """
    try:
        if entry.is_new and has_records(directory):
            logger.warning("holds records that no checkpoint knows of directory=%s", directory)
            entry.is_new = False
    except FileNotFoundError:  # the first append makes the directory
        return entry.is_new
    except OSError as error:
        raise KafkaStorageError from error
    return entry.is_new


def make_directory(directory: str, topic_id: bytes) -> None:
    """Make a partition's directory and write the topic id to partition.metadata.

    Raises:
        KafkaStorageError: the directory or the file cannot be made.

    See: S-75 (PartitionMetadataFile).
    """
    write = create_file
    try:
        try:
            os.mkdir(directory)
        except FileExistsError:
            write = write_file
        text = format_partition_metadata(topic_id)
        write(f"{directory}/{PARTITION_METADATA_FILE}", text.encode())
    except OSError as error:
        raise KafkaStorageError from error


def set_aside(data_dir: Path, topic: str, partition: int, suffix: str) -> str:
    """Rename a partition's directory, so that its name is free; return the new path.

    Raises:
        KafkaStorageError: the directory cannot be renamed.

    See: S-02 (LocalLog.renameDir).
    """
    aside = f"{data_dir}/{set_aside_directory(topic, partition, suffix)}"
    try:
        os.rename(f"{data_dir}/{partition_directory(topic, partition)}", aside)
    except OSError as error:
        raise KafkaStorageError from error
    return aside


def claimed_topic_id(directory: str) -> bytes | None:
    """Read the topic id of a directory that is about to be used; log a warning if it is lost.

    Returns:
        None if partition.metadata has to be written again.

    Raises:
        KafkaStorageError: the file exists, but cannot be read.
    """
    try:
        stored = stored_topic_id(directory)
        is_lacking = stored is None and not Path(directory, PARTITION_METADATA_FILE).exists()
        if is_lacking and Path(directory).is_dir() and has_records(directory):
            logger.warning("partition.metadata is made anew directory=%s", directory)
    except OSError as error:
        raise KafkaStorageError from error
    return stored


def stored_topic_id(directory: str) -> bytes | None:
    """Read the topic id of a partition's directory; None if the file is missing or invalid.

    Raises:
        OSError: the file exists, but cannot be read.
    """
    path = Path(directory, PARTITION_METADATA_FILE)
    try:
        text = read_file(path)
        return parse_partition_metadata(text) if text is not None else None
    except CorruptCheckpoint as error:
        logger.warning("partition.metadata ignored path=%s reason=%s", path, error)
        return None
