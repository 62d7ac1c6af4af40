"""Snapshots of a data directory: copies from which a broker can start as after a clean stop.

A snapshot is the directory `.snapshots/NAME` inside of the data directory. Segments that are not
written any more are hard links, everything else is a copy. A broker does not look into
`.snapshots`. Kafka refuses to start with a directory of that name, so the snapshots have to be
deleted before a data directory goes to a Kafka; the folder goes with the last one.

The caller does not let the event loop run while a snapshot is saved. So it shows one moment.
"""

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from broker_lite.errors import KafkaStorageError
from broker_lite.log.directory.data_directory import LOCK_FILE
from broker_lite.log.directory.manager import LogManager
from broker_lite.log.directory.partitions import Partition
from broker_lite.log.files.checkpoints import (
    CLEAN_SHUTDOWN_FILE,
    HIGH_WATERMARK_FILE,
    LOG_START_FILE,
    RECOVERY_POINT_FILE,
    format_clean_shutdown,
    format_offsets,
)
from broker_lite.log.files.copying import copy_file, link_or_copy
from broker_lite.log.files.names import (
    LOG_SUFFIX,
    METADATA_TOPIC,
    parse_segment_file,
    partition_directory,
)
from broker_lite.log.files.open_file import create_file
from broker_lite.log.log import Log

SNAPSHOTS: Final = ".snapshots"
_UNFINISHED: Final = ".unfinished"
_PASSING: Final = (".deleted", ".cleaned", ".swap", ".tmp", ".unshared")
# These are written anew, so that they fit.
_WRITTEN: Final = frozenset(
    {LOCK_FILE, CLEAN_SHUTDOWN_FILE, HIGH_WATERMARK_FILE, LOG_START_FILE, RECOVERY_POINT_FILE}
)


def snapshots_of(data_dir: Path) -> list[Path]:
    """List the snapshots of a data directory, in the order of their names."""
    try:
        found = [Path(each) for each in os.scandir(data_dir / SNAPSHOTS) if each.is_dir()]
    except FileNotFoundError:
        return []
    return sorted(each for each in found if each.suffix != _UNFINISHED)


def remove_folder_if_empty(data_dir: Path) -> None:
    """Remove the folder of snapshots if the last one is gone: a Kafka does not start with it."""
    with suppress(OSError):
        (data_dir / SNAPSHOTS).rmdir()


def is_being_cleaned(logs: LogManager) -> bool:
    """Whether the cleaner is replacing segments; no snapshot can be saved then."""
    return any(log.segments.is_being_cleaned for log in logs.loaded_logs())


def save_snapshot(logs: LogManager, name: str, *, broker_epoch: int) -> Path:
    """Save a snapshot; one of the same name is replaced at the end.

    Nothing is flushed: a snapshot survives the end of the process, but maybe not of the machine.

    Args:
        logs: open ones.
        name: of the snapshot.
        broker_epoch: for the mark of a clean stop.

    Returns:
        The directory of the snapshot.

    Raises:
        KafkaStorageError: the snapshot is not saved; one of the same name is as it was.
    """
    target = logs.data_dir / SNAPSHOTS / name
    unfinished = target.with_name(name + _UNFINISHED)
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        _save_all(logs, unfinished, broker_epoch)
        shutil.rmtree(target, ignore_errors=True)
        unfinished.rename(target)
    except (OSError, KafkaStorageError) as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        remove_folder_if_empty(logs.data_dir)
        raise KafkaStorageError(f"snapshot {name}: {error}") from error
    return target


def _save_all(logs: LogManager, target: Path, broker_epoch: int) -> None:
    for entry in os.scandir(logs.data_dir):
        if entry.is_file() and entry.name not in _WRITTEN:
            copy_file(entry.path, str(target / entry.name))
    if logs.metadata_log is not None:
        _save(logs, target, METADATA_TOPIC, 0, logs.metadata_log)
    saved = _to_save(logs)
    for (topic, index), partition in saved.items():
        _save(logs, target, topic, index, partition.log)
        partition.note_offsets()
    for file, text in (
        (RECOVERY_POINT_FILE, format_offsets({key: _end(each) for key, each in saved.items()})),
        (LOG_START_FILE, format_offsets(_log_starts(saved))),
        (
            HIGH_WATERMARK_FILE,
            format_offsets({key: each.high_watermark for key, each in saved.items()}),
        ),
        (CLEAN_SHUTDOWN_FILE, format_clean_shutdown(broker_epoch)),
    ):
        create_file(str(target / file), text.encode())


def _to_save(logs: LogManager) -> dict[tuple[str, int], Partition]:
    """Return the partitions that have been written to."""
    saved = {}
    for key, partition in logs.checkpoints.partitions.items():
        if key in logs.offline or not partition.is_clean:
            raise KafkaStorageError(f"partition {key[0]}-{key[1]} is not usable")
        if _has_records(partition):
            saved[key] = partition
    return saved


def _save(logs: LogManager, target: Path, topic: str, index: int, log: Log | None) -> None:
    """Copy the files of a partition in the state of a clean stop; its log goes on."""
    if log is not None:
        log.segments.save(log.log_end_offset, log.producer_state)
    name = partition_directory(topic, index)
    _copy_partition(str(logs.data_dir / name), str(target / name))


def _end(partition: Partition) -> int:
    """Return the recovery point as after a clean stop: all of the log."""
    return partition.recovery_point if partition.log is None else partition.log.log_end_offset


def _log_starts(partitions: Mapping[tuple[str, int], Partition]) -> dict[tuple[str, int], int]:
    return {
        key: partition.log_start_offset
        for key, partition in partitions.items()
        if partition.log_start_offset is not None
    }


def _has_records(partition: Partition) -> bool:
    """Whether a partition has ever been written to; others begin anew at the next start."""
    if partition.log is not None:
        return partition.log.log_end_offset > 0
    return not partition.is_new


def restore_snapshot(snapshot: Path, data_dir: Path) -> None:
    """Fill a data directory that was erased.

    Raises:
        KafkaStorageError: it has only a part of the snapshot.
    """
    try:
        for entry in os.scandir(snapshot):
            target = str(data_dir / entry.name)
            if entry.is_dir():
                _copy_partition(entry.path, target)
            else:
                if os.path.exists(target):
                    os.unlink(target)
                copy_file(entry.path, target)
    except OSError as error:
        raise KafkaStorageError(f"snapshot {snapshot.name}: {error}") from error


def _copy_partition(source: str, target: str) -> None:
    """Copy a partition's directory; closed segments are hard links."""
    os.mkdir(target)
    names = [name for name in os.listdir(source) if not name.endswith(_PASSING)]
    last = max((name for name in names if _is_segment(name)), default="")
    for name in names:
        copy = link_or_copy if _is_segment(name) and name != last else copy_file
        copy(f"{source}/{name}", f"{target}/{name}")


def _is_segment(name: str) -> bool:
    parsed = parse_segment_file(name)
    return parsed is not None and parsed[1] == LOG_SUFFIX
