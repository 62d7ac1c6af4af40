"""Partitions that are offline, because their disk failed or their log cannot be loaded.

A difference to Kafka: when an fsync fails, only that partition goes offline, until the next start
recovers it. Kafka takes all partitions of the directory offline, and stops if it has no other
directory.

A difference to Kafka: when a write of a batch fails, the batch is refused with KAFKA_STORAGE_ERROR
and what was written of it is cut off; the partition stays online. Kafka takes the directory offline
here, too.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from broker_lite.errors import KafkaStorageError, cause_of
from broker_lite.log.directory.partitions import Partition
from broker_lite.log.visibility import Visibility

logger = logging.getLogger("broker_lite.log")


class OfflinePartitions:
    """The partitions that are offline until the next start, which reads their files again.

    Attributes:
        when_taken: called with topic and partition when a partition goes offline.
    """

    __slots__ = ("_keys", "_partitions", "_told", "when_taken")

    def __init__(self, partitions: Mapping[tuple[str, int], Partition]) -> None:
        """Begin with no partition offline.

        Args:
            partitions: those of the data directory; a live view that its owner changes.
        """
        self.when_taken: Callable[[str, int], None] = _tell_nobody
        self._partitions = partitions
        self._keys: set[tuple[str, int]] = set()
        self._told: set[tuple[str, int]] = set()

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    @contextmanager
    def loading(self, key: tuple[str, int]) -> Iterator[None]:
        """Surround the loading of a log: refuse an offline partition, log a failure once.

        After a failure, loading may be tried again, because a person may remove its cause, such as
        a full disk or a file in the way.

        Raises:
            KafkaStorageError: the partition is offline, or its log cannot be loaded.
        """
        if key in self._keys:
            raise KafkaStorageError(f"{key[0]}-{key[1]} is offline")
        try:
            yield
        except KafkaStorageError as error:
            if key not in self._keys and key not in self._told:
                self._told.add(key)
                logger.error("not loaded partition=%s-%d reason=%s", *key, cause_of(error))
            raise
        self._told.discard(key)

    def give_up(self, key: tuple[str, int], error: Exception) -> None:
        """Take a partition offline whose log could not be loaded, and log it once.

        See: S-44.
        """
        if key in self._keys:
            return
        reason = cause_of(error)
        logger.error("partition offline, not loaded partition=%s-%d reason=%s", *key, reason)
        self._keys.add(key)
        self.when_taken(*key)

    def take(self, failed: Visibility) -> None:
        """Take the partition of a loaded log offline.

        After this, no stop is marked as clean, so the next start recovers the partition.

        See: S-32 (LogDirFailureChannel).
        """
        key = (failed.topic, failed.partition)
        entry = self._partitions.get(key)
        if entry is not None and entry.log is not None and entry.log.visibility is failed:
            entry.note_offsets()
            entry.log = None
            entry.is_clean = False
            self._keys.add(key)
            self.when_taken(*key)

    def take_failed(self) -> None:
        """Take the logs offline that another thread could not flush; fail the waiting appends."""
        for entry in list(self._partitions.values()):
            log = entry.log
            if log is not None and log.flusher.offline_reason is not None:
                self.take(log.visibility)
                log.visibility.flush_ended(log.flusher.recovery_point, log.flusher.offline_error())

    def forget(self, key: tuple[str, int]) -> None:
        """Forget a partition that is deleted."""
        self.take_back(key)
        self._told.discard(key)

    def take_back(self, key: tuple[str, int]) -> None:
        """Let a partition be used again: its directory has the right topic id."""
        self._keys.discard(key)


def _tell_nobody(_topic: str, _partition: int) -> None:
    """The default callback: does nothing."""
