"""The checkpoint files of a running broker's data directory.

They are written periodically, and before a new partition gets the name of a deleted one that they
still list.
"""

from collections.abc import Mapping
from pathlib import Path
from threading import Lock

from broker_lite.errors import KafkaStorageError
from broker_lite.log.directory.partitions import Partition, write_checkpoints, write_log_starts


class OffsetCheckpoints:
    """Writes the offsets of all partitions. Any thread may use it: a lock orders the writes.

    Attributes:
        partitions: those of the data directory; a live view that its owner changes.
        named: the partitions that the files list with an offset that would be wrong for a new
            partition of the same name.
    """

    __slots__ = ("_data_dir", "_lock", "named", "partitions")

    def __init__(self, data_dir: Path, partitions: Mapping[tuple[str, int], Partition]) -> None:
        self.partitions = partitions
        self.named: set[tuple[str, int]] = set()
        self._data_dir = data_dir
        self._lock = Lock()

    def write(self) -> None:
        """Write all checkpoint files.

        Raises:
            KafkaStorageError: a file was not written, and has its old contents.

        Rule: S-33 (LogManager.checkpointLogRecoveryOffsets).
        See: S-70.
        """
        with self._lock:
            self._write()

    def write_log_starts(self) -> None:
        """Write the file of log start offsets.

        Raises:
            KafkaStorageError: the file was not written, and has its old contents.

        See: S-70 (LogManager.checkpointLogStartOffsets).
        """
        with self._lock:
            try:
                self.named |= write_log_starts(self._data_dir, dict(self.partitions))
            except OSError as error:
                raise KafkaStorageError from error

    def forget(self, key: tuple[str, int]) -> None:
        """Make sure that a crash does not give a new partition the offsets of a deleted one.

        Raises:
            KafkaStorageError: the files could not be written, and still list the deleted one.

        See: S-46, S-70 (LogManager.asyncDelete, which writes the checkpoints at each deletion).
        """
        with self._lock:
            if key in self.named:
                self._write()

    def _write(self) -> None:
        try:
            self.named = write_checkpoints(self._data_dir, dict(self.partitions))
        except OSError as error:
            raise KafkaStorageError from error
