"""The offset up to which each log was cleaned, kept in Kafka's cleaner-offset-checkpoint file."""

import logging
from collections.abc import Mapping
from pathlib import Path
from threading import Lock

from broker_lite.errors import KafkaStorageError
from broker_lite.log.directory.partitions import Partition
from broker_lite.log.files.checkpoints import (
    CLEANER_FILE,
    CorruptCheckpoint,
    format_offsets,
    replace_file,
    stored_offsets,
)

logger = logging.getLogger("broker_lite.log")

Key = tuple[str, int]


class CleanerCheckpoint:
    """The first dirty offset of each partition; deleted partitions are forgotten.

    Attributes:
        has_changed: offsets have changed since the file was written.

    See: S-70, S-80 (LogCleanerManager.allCleanerCheckpoints).
    """

    def __init__(self, data_dir: Path, partitions: Mapping[Key, Partition]) -> None:
        """Read the file; begin without offsets if it cannot be read.

        Args:
            data_dir: the directory of the file.
            partitions: all partitions; a live view that its owner changes.
        """
        self.has_changed = False
        self._path = data_dir / CLEANER_FILE
        self._partitions = partitions
        self._lock = Lock()
        # Each offset is kept with its partition object: if a topic is deleted and created again
        # under the same name, the object is another one and the offset does not count.
        self._offsets: dict[Key, tuple[Partition, int]] = {}
        for key, offset in self._read().items():
            if key in partitions:
                self._offsets[key] = partitions[key], offset

    def _read(self) -> dict[Key, int]:
        try:
            return stored_offsets(self._path)
        except (CorruptCheckpoint, OSError) as error:
            logger.warning("checkpoint ignored path=%s reason=%s", self._path, error)
            return {}

    def get(self, key: Key) -> int | None:
        """Return the first dirty offset of a partition, None before its first cleaning."""
        found = self._offsets.get(key)
        if found is None:
            return None
        if found[0] is not self._partitions.get(key):
            del self._offsets[key]
            self.has_changed = True
            return None
        return found[1]

    def note(self, key: Key, offset: int) -> None:
        """Remember where the next cleaning of a partition begins."""
        self._offsets[key] = self._partitions[key], offset
        self.has_changed = True

    def write(self) -> None:
        """Write the file, durably; may run in a worker thread.

        Raises:
            KafkaStorageError: the file could not be replaced; the old one is still there.

        See: S-70 (LogCleanerManager.updateCheckpoints).
        """
        with self._lock:
            self.has_changed = False
            offsets = {
                key: offset
                for key, (entry, offset) in list(self._offsets.items())
                if self._partitions.get(key) is entry
            }
            try:
                replace_file(self._path, format_offsets(offsets))
            except OSError as error:
                self.has_changed = True
                raise KafkaStorageError from error
