"""Up to where each log was cleaned, in a file of Kafka's."""

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
    """First dirty offsets by partition; of a partition that is deleted nothing is kept.

    Attributes:
        has_changed: the file says something else.

    See: S-70, S-80 (LogCleanerManager.allCleanerCheckpoints).
    """

    def __init__(self, data_dir: Path, partitions: Mapping[Key, Partition]) -> None:
        """Read the file; one that cannot be read holds nothing.

        Args:
            data_dir: where the file is.
            partitions: all of them; their owner changes it.
        """
        self.has_changed = False
        self._path = data_dir / CLEANER_FILE
        self._partitions = partitions
        self._lock = Lock()
        # With whose offset it is: a topic may be deleted and made anew under its name.
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
        """Give the first dirty offset of a partition, None before its first cleaning."""
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
            KafkaStorageError: the old file still holds.

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
