"""The checkpoint files of a running broker's data directory.

They are written now and then, and when a name that they hold is to be another partition's.
"""

from collections.abc import Mapping
from pathlib import Path
from threading import Lock

from broker_lite.errors import KafkaStorageError
from broker_lite.log.directory.partitions import Partition, write_checkpoints, write_log_starts


class OffsetCheckpoints:
    """Writes the offsets of all partitions; from any thread, one at a time.

    Attributes:
        partitions: of the data directory; its owner changes them.
        named: whose offsets the files hold, if these matter to a new partition of that name.
    """

    __slots__ = ("_data_dir", "_lock", "named", "partitions")

    def __init__(self, data_dir: Path, partitions: Mapping[tuple[str, int], Partition]) -> None:
        self.partitions = partitions
        self.named: set[tuple[str, int]] = set()
        self._data_dir = data_dir
        self._lock = Lock()

    def write(self) -> None:
        """Write all of them.

        Raises:
            KafkaStorageError: what was written before still holds.

        Rule: S-33 (LogManager.checkpointLogRecoveryOffsets).
        See: S-70.
        """
        with self._lock:
            self._write()

    def write_log_starts(self) -> None:
        """Write the log start offsets.

        Raises:
            KafkaStorageError: what was written before still holds.

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
            KafkaStorageError: the files still name it.

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
