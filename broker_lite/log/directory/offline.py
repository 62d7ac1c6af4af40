"""Partitions that must not be used any more: their disk failed while they were made durable.

A difference to Kafka: when an fsync fails, only that partition goes offline, until the next start
recovers it. Kafka gives up all partitions of the directory, and ends if it has no other directory.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from broker_lite.errors import KafkaStorageError, cause_of
from broker_lite.log.directory.partitions import Partition
from broker_lite.log.visibility import Visibility

logger = logging.getLogger("broker_lite.log")


class OfflinePartitions:
    """Which partitions are offline; until the next start, which reads their files again.

    Attributes:
        when_taken: told of a topic and a partition that goes offline.
    """

    __slots__ = ("_keys", "_partitions", "_told", "when_taken")

    def __init__(self, partitions: Mapping[tuple[str, int], Partition]) -> None:
        """Begin with none.

        Args:
            partitions: of the data directory; its owner changes them.
        """
        self.when_taken: Callable[[str, int], None] = _tell_nobody
        self._partitions = partitions
        self._keys: set[tuple[str, int]] = set()
        self._told: set[tuple[str, int]] = set()

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    @contextmanager
    def loading(self, key: tuple[str, int]) -> Iterator[None]:
        """Refuse to load what is offline; say once why something else cannot be loaded.

        That may be tried again: somebody may make room for files, or take one out of the way.

        Raises:
            KafkaStorageError: it is offline, or it cannot be loaded.
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
        """Let nobody load a log that could not be loaded, and say so once.

        See: S-44.
        """
        if key in self._keys:
            return
        reason = cause_of(error)
        logger.error("partition offline, not loaded partition=%s-%d reason=%s", *key, reason)
        self._keys.add(key)
        self.when_taken(*key)

    def take(self, failed: Visibility) -> None:
        """Let nobody find a log any more.

        There is no mark of a clean stop after this, so that the next start recovers the partition.

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
        """Take the logs that could not be flushed by another thread, and tell who waits there."""
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
        """Let a partition be used again, whose directory turned out to be its own."""
        self._keys.discard(key)


def _tell_nobody(_topic: str, _partition: int) -> None:
    """Be who is told where nobody is."""
