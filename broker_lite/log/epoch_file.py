"""The file of a log's leader epochs: when it is written, and when it is on disk."""

from pathlib import Path

from broker_lite.errors import KafkaStorageError
from broker_lite.log.files.checkpoints import sync_directory
from broker_lite.log.files.leader_epochs import FILE_NAME, EpochEntry, LeaderEpochCache
from broker_lite.log.files.open_file import create_file, sync_file, write_file


class EpochFile:
    """Keeps the file of a log's leader epochs.

    Attributes:
        is_stale: the file still lists epochs below the log start offset; that is harmless, because
            loading drops them.
    """

    __slots__ = ("_epochs", "_saved_count", "_synced_count", "is_stale")

    def __init__(self, epochs: LeaderEpochCache, *, is_new: bool = False) -> None:
        """Write nothing yet.

        Args:
            epochs: the content of the file; the log changes them.
            is_new: there is no file yet; otherwise there may be one.
        """
        self.is_stale = False
        self._epochs = epochs
        # How often the file was read or written, and which of these states is on disk.
        self._saved_count = 0 if is_new else 1
        self._synced_count = 0

    def fit(
        self, directory: str, start_offset: int, end_offset: int, saved: list[EpochEntry]
    ) -> None:
        """Drop the epochs outside of a log that was just loaded.

        Args:
            directory: of the partition.
            start_offset: the log start offset.
            end_offset: the log end offset.
            saved: what the file holds; it is written if this is not what is left.

        Raises:
            KafkaStorageError: the file was not written.

        See: S-46, S-65 (LogLoader.load).
        """
        self._epochs.truncate_from_end(end_offset)
        if start_offset > 0:
            self._epochs.truncate_from_start(start_offset)
        if self._epochs.entries != saved:
            self.save(directory)

    def save(self, directory: str) -> None:
        """Write the file; sync() makes it durable.

        Raises:
            KafkaStorageError: the file was not written.
        """
        write = write_file if self._saved_count else create_file
        try:
            write(f"{directory}/{FILE_NAME}", self._epochs.to_text().encode())
        except OSError as error:
            raise KafkaStorageError from error
        self._saved_count += 1
        self.is_stale = False

    def sync(self, directory: str) -> None:
        """Make the file durable, unless it is; may run in a worker thread.

        Nothing else tells the epochs of batches below the recovery point, which no start reads.

        Raises:
            OSError: the file may not be on disk.
        """
        saved_count = self._saved_count  # the event loop may write the file again meanwhile
        if self._synced_count == saved_count:
            return
        sync_file(f"{directory}/{FILE_NAME}")
        sync_directory(Path(directory))
        # Not before: another thread may sync the file at the same time.
        self._synced_count = saved_count
