"""The data directory as a whole: its node and cluster, its lock, its mark of a clean stop.

A difference to Kafka: a mark of a clean stop counts only if its contents are valid. If they are
not, the broker logs a warning and recovers all logs, which costs time but no records. Kafka accepts
any file of that name.

Rule: S-01, S-96, S-78 (LogManager, MetaPropertiesEnsemble).
See: S-76, S-77.
"""

import errno
import fcntl
import logging
import os
import shutil
import uuid
from pathlib import Path
from typing import Final

from broker_lite.errors import SettingsError
from broker_lite.log.files.checkpoints import (
    CLEAN_SHUTDOWN_FILE,
    CLEANER_FILE,
    HIGH_WATERMARK_FILE,
    LOG_START_FILE,
    META_PROPERTIES_FILE,
    RECOVERY_POINT_FILE,
    CorruptCheckpoint,
    MetaProperties,
    format_clean_shutdown,
    format_meta_properties,
    format_uuid,
    parse_clean_shutdown,
    parse_meta_properties,
    read_file,
    replace_file,
    sync_directory,
)
from broker_lite.log.files.names import is_set_aside, parse_partition_directory

logger = logging.getLogger("broker_lite.log")

LOCK_FILE: Final = ".lock"
NODES_DIRECTORY: Final = "nodes"
"""Has the data directories of further brokers, each of which is a process, by the brokers' ids.

Kafka refuses to start with a directory of this name. It lacks the partitions that are in there.
"""
# O_NOFOLLOW: otherwise a symbolic link in the directory could make the broker create a file
# anywhere.
_LOCK_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW

_OF_PARTITIONS: Final = frozenset(
    {
        CLEAN_SHUTDOWN_FILE,
        CLEANER_FILE,
        HIGH_WATERMARK_FILE,
        LOG_START_FILE,
        RECOVERY_POINT_FILE,
    }
)


class DirectoryLock:
    """The exclusive lock on a data directory; it keeps out other brokers of this kind and Kafka.

    Rule: S-78 (FileLock).
    """

    __slots__ = ("_fd",)

    def __init__(self, path: Path) -> None:
        """Take the lock.

        Raises:
            SettingsError: another process holds the lock, or the directory cannot be used.
        """
        try:
            self._fd = os.open(path / LOCK_FILE, _LOCK_FLAGS, 0o644)
        except PermissionError as error:
            # numbers, not names: the owner of a container's volume often has no name here
            user = f"{os.geteuid()}:{os.getegid()}"
            raise SettingsError(f"data directory {path}: {error.strerror} for {user}") from error
        except OSError as error:
            is_link = error.errno == errno.ELOOP
            reason = "It is a symbolic link" if is_link else error.strerror
            raise SettingsError(f"data directory {path}: {LOCK_FILE}: {reason}") from error
        try:
            # fcntl's lock keeps Kafka out; flock also keeps out a second broker in this process.
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._fd)
            raise SettingsError(f"data directory {path} is in use by another process") from error

    def release(self) -> None:
        """Release the lock."""
        os.close(self._fd)


def claim_identity(path: Path, *, node_id: int, cluster_id: str | None) -> MetaProperties:
    """Read meta.properties, or create it if the directory has none.

    Args:
        path: the data directory.
        node_id: must be the id in the file.
        cluster_id: must be the id in the file. None accepts any id, and puts a random one into a
            new file.

    Raises:
        SettingsError: the directory belongs to another node or cluster, or the file cannot be
            parsed.
        OSError: the file cannot be written.

    See: S-76 (MetaPropertiesEnsemble).
    """
    file = path / META_PROPERTIES_FILE
    try:
        text = read_file(file)
        found = parse_meta_properties(text) if text is not None else None
    except CorruptCheckpoint as error:
        raise SettingsError(f"data directory {path}: {error}") from error
    if found is None:
        meta = MetaProperties(
            cluster_id=cluster_id or new_id(), node_id=node_id, directory_id=new_id()
        )
        if _has_partitions(path):
            logger.warning("meta.properties is made anew path=%s cluster=%s", file, meta.cluster_id)
        replace_file(file, format_meta_properties(meta))
        return meta
    if found.node_id != node_id:
        raise SettingsError(
            f"data directory {path} belongs to node {found.node_id}, this is node {node_id}"
        )
    if cluster_id is not None and found.cluster_id not in {"", cluster_id}:
        raise SettingsError(
            f"data directory {path} belongs to cluster {found.cluster_id}, not {cluster_id}"
        )
    if found.cluster_id and found.directory_id:
        return found
    meta = MetaProperties(
        cluster_id=found.cluster_id or cluster_id or new_id(),
        node_id=node_id,
        directory_id=found.directory_id or new_id(),
    )
    replace_file(file, format_meta_properties(meta))
    return meta


def _has_partitions(path: Path) -> bool:
    return any(parse_partition_directory(name) is not None for name in os.listdir(path))


def new_id() -> str:
    """Return a random id in Kafka's form; never with a leading "-", which looks like an option."""
    while True:
        text = format_uuid(uuid.uuid4().bytes)
        if not text.startswith("-"):
            return text


def take_clean_mark(path: Path) -> bool:
    """Return whether the last stop was clean, and remove the mark of it.

    Raises:
        OSError: the mark cannot be removed.

    See: S-40, S-77 (CleanShutdownFileHandler).
    """
    file = path / CLEAN_SHUTDOWN_FILE
    fault = None
    try:
        parse_clean_shutdown(read_file(file))
    except (CorruptCheckpoint, OSError) as error:
        fault = error
    try:
        os.unlink(file)
    except FileNotFoundError:
        return False
    sync_directory(path)
    if fault is not None:
        logger.warning("mark of a clean stop ignored path=%s reason=%s", file, fault)
    return fault is None


def leave_clean_mark(path: Path, broker_epoch: int) -> None:
    """Mark the stop as clean.

    Raises:
        OSError: the mark could not be written; the next start takes this stop for unclean.

    See: S-47, S-77 (CleanShutdownFileHandler).
    """
    replace_file(path / CLEAN_SHUTDOWN_FILE, format_clean_shutdown(broker_epoch))


def erase(path: Path) -> None:
    """Remove all partitions and their checkpoints; keep meta.properties.

    Files and directories whose names a broker does not use are left alone.

    Args:
        path: a data directory that no broker uses.

    Raises:
        OSError: something could not be removed; a part of it may be gone.
    """
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.name in _OF_PARTITIONS:
                os.unlink(entry)
            elif (
                entry.name == NODES_DIRECTORY
                or is_set_aside(entry.name)
                or parse_partition_directory(entry.name) is not None
            ):
                shutil.rmtree(entry)
