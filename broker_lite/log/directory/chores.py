"""File work in the background: removes deleted partitions, makes the index files of new segments.

To make or remove a file takes 0.01 to 1 ms, depending on the disk, and there may be 10,000 files at
once. So a worker thread does this work, a few files at a time, while the event loop serves clients.
"""

import logging
import os
import shutil
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

from broker_lite.errors import KafkaStorageError, cause_of
from broker_lite.log.directory.partitions import set_aside, stored_topic_id
from broker_lite.log.files.names import (
    DELETE_DIRECTORY_SUFFIX,
    STRAY_DIRECTORY_SUFFIX,
    partition_directory,
)

if TYPE_CHECKING:
    from broker_lite.log.log import Log

logger = logging.getLogger("broker_lite.log")

STEPS_AT_A_TIME: Final = 64


class Chores:
    """The list of background work in a data directory.

    One thread adds work, and one other thread may do it at the same time. The name of a deleted
    partition may be used again at once; code that creates a directory calls free_name() first.

    Attributes:
        deleted_ids: ids of deleted topics whose directories may not be renamed yet.
    """

    __slots__ = ("_condemned", "_data_dir", "_lock", "_remains", "_unindexed", "deleted_ids")

    def __init__(self, data_dir: Path) -> None:
        self.deleted_ids: set[bytes] = set()
        self._data_dir = data_dir
        self._lock = Lock()
        # Deleted partitions whose directories are not renamed yet, by the directory's name.
        self._condemned: dict[str, tuple[str, int, bytes]] = {}
        self._remains: deque[str] = deque()
        self._unindexed: deque[Log] = deque()

    def __bool__(self) -> bool:
        return bool(self._condemned or self._unindexed or self._remains)

    # -- adding work

    def remove_partition(self, topic: str, partition: int, topic_id: bytes) -> None:
        """Add: rename a deleted partition's directory, and remove it if it has that topic's id.

        See: S-02, S-54 (LogManager.asyncDelete).
        """
        self._condemned[partition_directory(topic, partition)] = topic, partition, topic_id

    def remove_directories(self, names: Iterable[str]) -> None:
        """Add: remove directories that are renamed already."""
        self._remains.extend(names)

    def index_files_of(self, log: "Log") -> None:
        """Add: make the index files of a log whose first .log file was just created."""
        self._unindexed.append(log)

    def free_name(self, topic: str, partition: int) -> None:
        """Rename a deleted partition's directory now, if that is not done yet."""
        name = partition_directory(topic, partition)
        with self._lock:  # also waits for a rename that the other thread has begun
            if name in self._condemned:
                self._set_aside(name)

    # -- doing the work

    def work(self, steps: int = STEPS_AT_A_TIME) -> None:
        """Do up to `steps` pieces of work.

        Renames come first: after a crash, a directory that still has its name would look like a
        partition without a topic.
        """
        for _ in range(steps):
            if self._set_one_aside():
                continue
            if self._unindexed:
                _make_index_files(self._unindexed.popleft())
            elif self._remains:
                name = self._remains.popleft()
                shutil.rmtree(self._data_dir / name, ignore_errors=True)
            else:
                return

    def finish(self) -> None:
        """Rename the directories of all deleted partitions; the next start removes them."""
        while self._condemned:
            self.work(1)

    def _set_one_aside(self) -> bool:
        with self._lock:  # free_name() may take the last one at the same time
            name = next(iter(self._condemned), None)
            if name is not None:
                self._set_aside(name)
        return name is not None

    def _set_aside(self, name: str) -> None:
        topic, partition, topic_id = self._condemned.pop(name)
        try:
            stored = stored_topic_id(f"{self._data_dir}/{name}")
            is_own = not topic_id or stored in {None, topic_id}
            suffix = DELETE_DIRECTORY_SUFFIX if is_own else STRAY_DIRECTORY_SUFFIX
            aside = set_aside(self._data_dir, topic, partition, suffix)
        except (KafkaStorageError, OSError) as error:
            logger.warning("files of a deleted partition stay %s reason=%s", name, cause_of(error))
            # the next partition of this name finds these files, and must know whose they are
            self.deleted_ids |= {topic_id}
            return
        if is_own:
            self._remains.append(os.path.basename(aside))
        else:
            logger.warning("not deleted, another topic's id directory=%s as=%s", name, aside)


def _make_index_files(log: "Log") -> None:
    try:
        log.segments.active.make_index_files()
    except OSError as error:  # closing the segment tries again, unless the log was deleted
        logger.debug("no index files directory=%s reason=%s", log.directory, error)
