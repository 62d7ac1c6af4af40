"""The cleaner of a data directory: which log is next, how far each one is, and what went wrong.

A difference to Kafka: compaction of a log stops for good at a batch whose checksum is wrong. Kafka
writes what is left of the batch with a new checksum.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from broker_lite.errors import BrokerError, KafkaStorageError, cause_of
from broker_lite.log.cleaner.checkpoint import CleanerCheckpoint, Key
from broker_lite.log.cleaner.cleaning import Cleaning
from broker_lite.log.cleaner.eligibility import Cleanable, find_cleanable
from broker_lite.log.cleaner.job import begin_job
from broker_lite.log.cleaner.offset_map import MapLimits
from broker_lite.log.cleaner.pace import CleaningStopped, Pace
from broker_lite.log.cleaner.rewriting import Cleaned, discard
from broker_lite.log.cleaner.swap import swap_in
from broker_lite.log.directory.partitions import Partition
from broker_lite.log.log import Log
from broker_lite.log.removal import SegmentRemoval

logger = logging.getLogger("broker_lite.log")

# A log of some segments costs 5 us to look at.
_LOGS_AT_A_TIME: Final = 64


class Cleaner:
    """Knows the logs that are to be compacted, and how far each one is.

    Of the event loop's thread, but for checkpoint.write().

    Attributes:
        checkpoint: where the next cleaning of each log begins.
    """

    def __init__(
        self,
        data_dir: Path,
        partitions: Mapping[Key, Partition],
        removal: SegmentRemoval,
        *,
        load: Callable[[str, int], Log],
        now_ms: Callable[[], int],
    ) -> None:
        """Read how far the logs are.

        Args:
            data_dir: of the broker.
            partitions: in it; their owner changes them.
            removal: by which replaced segments leave.
            load: gives the log of a partition.
            now_ms: the clock.
        """
        self.checkpoint = CleanerCheckpoint(data_dir, partitions)
        self._partitions = partitions
        self._removal = removal
        self._load = load
        self._now_ms = now_ms
        self._uncleanable: dict[Key, Log] = {}

    def candidates(self) -> Iterator[Cleanable | None]:
        """Look at all logs, and give those that are due; None when the loop should have its turn.

        Rule: S-91 (LogCleanerManager.grabFilthiestCompactedLog).
        See: S-81.
        """
        now_ms = self._now_ms()
        for number, key in enumerate(list(self._partitions), 1):
            if number % _LOGS_AT_A_TIME == 0:
                yield None
            entry = self._partitions.get(key)
            if entry is None or not entry.config.cleanup_compact:
                continue
            try:
                found = self._look_at(key, entry, now_ms)
            except (BrokerError, OSError) as error:
                reason = cause_of(error)
                logger.warning("not looked at topic=%s-%d reason=%s", *key, reason)
                continue
            except Exception:  # as everywhere: a bug that one log meets is no end of the broker
                logger.exception("not looked at topic=%s-%d", *key)
                continue
            if found is not None:
                yield found

    def _look_at(self, key: Key, entry: Partition, now_ms: int) -> Cleanable | None:
        if entry.log is None and not (entry.is_clean and len(entry.idle or ()) > 1):
            return None  # it is offline; or nobody uses it, and there is nothing to clean
        log = self._load(*key)
        if (
            log.segments.is_being_cleaned
            or self._uncleanable.get(key) is log
            or log.flusher.offline_reason
        ):
            return None
        checkpoint = self.checkpoint.get(key)
        found = find_cleanable(log, checkpoint, now_ms)
        if checkpoint not in (None, found.first_dirty):
            self.checkpoint.note(key, found.first_dirty)
        return found if found.is_due else None

    def is_still_due(self, found: Cleanable) -> bool:
        """Whether nothing has happened to a log since candidates() gave it."""
        log = found.log
        return not (log.segments.is_being_cleaned or log.is_deleted)

    def begin(self, found: Cleanable, limits: MapLimits, pace: Pace) -> Cleaning:
        """Begin to clean a log; nothing else removes segments of it until done().

        Args:
            found: of candidates(), and still due.
            limits: of the memory for keys.
            pace: of the worker thread.

        Raises:
            CorruptTransactionIndex: the active segment's index is of another version.
            OSError: it cannot be read.
        """
        log = found.log
        job = begin_job(
            log,
            first_dirty=found.first_dirty,
            end_offset=found.end_offset,
            now_ms=self._now_ms(),
            pace=pace,
        )
        log.segments.is_being_cleaned = True
        return Cleaning(job, limits)

    def swap(self, cleaning: Cleaning, cleaned: Cleaned) -> None:
        """Let a new segment be served instead of those that it was made of.

        Raises:
            CleaningStopped: the log is deleted, or not to be compacted any more.
            KafkaStorageError: as swap_in.
            OSError: as swap_in.

        See: S-89 (LogCleanerManager.abortCleaning).
        """
        log = cleaning.job.log
        if log.is_deleted or not log.config.cleanup_compact:
            discard(cleaned.segment)
            raise CleaningStopped
        swap_in(log, cleaned, self._removal)

    def done(self, cleaning: Cleaning) -> None:
        """End a cleaning, whatever became of it; what was not reached is cleaned the next time.

        See: S-82 (LogCleanerManager.doneCleaning).
        """
        log = cleaning.job.log
        cleaning.close()
        log.segments.is_being_cleaned = False
        if cleaning.is_complete and not log.is_deleted:
            self.checkpoint.note((log.topic, log.partition), cleaning.round_end)
            logger.info("log cleaned topic=%s-%d %s", log.topic, log.partition, cleaning.summary())

    def failed(self, log: Log, error: Exception) -> None:
        """Take in that a log could not be cleaned.

        A damaged one is left alone from now on; one that could not be read or written is tried
        again: there may be room on the disk then.

        Rule: S-91 (LogCleanerManager.markPartitionUncleanable).
        """
        if log.is_deleted:
            return
        is_final = not isinstance(error, OSError | KafkaStorageError)
        if is_final:
            self._uncleanable[log.topic, log.partition] = log
        logger.warning(
            "log not cleaned topic=%s-%d is_final=%s reason=%s",
            log.topic,
            log.partition,
            is_final,
            cause_of(error),
        )
