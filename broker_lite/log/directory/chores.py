"""Work on files that nobody waits for: deleted partitions go, new segments get their index files.

A file that is made or removed costs 0.01 to 1 ms by what the disk takes, and there may be 10,000 of
them at once: a worker thread does it, a few at a time, while the event loop serves.
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
    """What is to be done in a data directory.

    One thread adds, one may work beside it. A deleted partition's name is free at once: who makes a
    directory calls free_name() first.

    Attributes:
        deleted_ids: of deleted topics whose directories may still have the names of partitions.
    """

    __slots__ = ("_condemned", "_data_dir", "_lock", "_remains", "_unindexed", "deleted_ids")

    def __init__(self, data_dir: Path) -> None:
        self.deleted_ids: set[bytes] = set()
        self._data_dir = data_dir
        self._lock = Lock()
        # Partitions whose directories still have their names, by those.
        self._condemned: dict[str, tuple[str, int, bytes]] = {}
        self._remains: deque[str] = deque()
        self._unindexed: deque[Log] = deque()

    def __bool__(self) -> bool:
        return bool(self._condemned or self._unindexed or self._remains)

    # -- what there is to do

    def remove_partition(self, topic: str, partition: int, topic_id: bytes) -> None:
        """Have a deleted partition's directory set aside, and removed if it is that topic's.

        See: S-02, S-54 (LogManager.asyncDelete).
        """
        self._condemned[partition_directory(topic, partition)] = topic, partition, topic_id

    def remove_directories(self, names: Iterable[str]) -> None:
        """Have directories removed that are set aside already."""
        self._remains.extend(names)

    def index_files_of(self, log: "Log") -> None:
        """Have the index files made of a log whose first .log file is new."""
        self._unindexed.append(log)

    def free_name(self, topic: str, partition: int) -> None:
        """Set a deleted partition's directory aside now, if it still has its name."""
        name = partition_directory(topic, partition)
        with self._lock:  # also waits for a rename that has begun
            if name in self._condemned:
                self._set_aside(name)

    # -- doing it

    def work(self, steps: int = STEPS_AT_A_TIME) -> None:
        """Do some of it; renames first, for a crash would leave a partition of no topic."""
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
        """Free the names of all deleted partitions; what is left goes after the next start."""
        while self._condemned:
            self.work(1)

    def _set_one_aside(self) -> bool:
        with self._lock:  # free_name() may take the last one meanwhile
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
            self.deleted_ids |= {topic_id}  # whoever is next to have the name finds these files
            return
        if is_own:
            self._remains.append(os.path.basename(aside))
        else:
            logger.warning("not deleted, another topic's id directory=%s as=%s", name, aside)


def _make_index_files(log: "Log") -> None:
    try:
        log.segments.active.make_index_files()
    except OSError as error:  # tried again when the segment is closed, unless the log was deleted
        logger.debug("no index files directory=%s reason=%s", log.directory, error)
