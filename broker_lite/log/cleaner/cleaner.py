"""The cleaner of a data directory: chooses the next log, and keeps track of progress and failures.

A difference to Kafka: when compaction meets a batch whose checksum is wrong, it stops for that log,
for good. Kafka writes the records that it keeps of such a batch with a new, valid checksum.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from broker_lite.errors import BrokerError, KafkaStorageError, cause_of
from broker_lite.log.cleaner.checkpoint import CleanerCheckpoint, Key
from broker_lite.log.cleaner.eligibility import Cleanable, find_cleanable
from broker_lite.log.cleaner.pace import CleaningStopped, Pace
from broker_lite.log.directory.partitions import Partition
from broker_lite.log.log import Log
from broker_lite.log.removal import SegmentRemoval

if TYPE_CHECKING:
    from broker_lite.log.cleaner.cleaning import Cleaning
    from broker_lite.log.cleaner.offset_map import MapLimits
    from broker_lite.log.cleaner.rewriting import Cleaned

logger = logging.getLogger("broker_lite.log")

# To look at a log of a few segments costs 5 us. After so many, the event loop has a turn.
_LOGS_AT_A_TIME: Final = 64


class Cleaner:
    """Finds the logs to compact, and remembers how far each one is cleaned.

    Only the event loop's thread may use it; checkpoint.write() alone may run in another thread.

    Attributes:
        checkpoint: the offset at which the next cleaning of each log begins.
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
        """Read the checkpoint file.

        Args:
            data_dir: the data directory.
            partitions: its partitions; a live view that its owner changes.
            removal: removes the segments that were replaced.
            load: returns the log of a partition, and loads it if needed.
            now_ms: the clock.
        """
        self.checkpoint = CleanerCheckpoint(data_dir, partitions)
        self._partitions = partitions
        self._removal = removal
        self._load = load
        self._now_ms = now_ms
        self._uncleanable: dict[Key, Log] = {}

    def candidates(self) -> Iterator[Cleanable | None]:
        """Yield the logs that are due for cleaning; yield None when the event loop needs a turn.

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
                logger.warning("cleaner did not check topic=%s-%d reason=%s", *key, reason)
                continue
            except Exception:  # a bug that shows in one log must not stop the cleaning of others
                logger.exception("cleaner did not check topic=%s-%d", *key)
                continue
            if found is not None:
                yield found

    def _look_at(self, key: Key, entry: Partition, now_ms: int) -> Cleanable | None:
        if entry.log is None and not (entry.is_clean and len(entry.idle or ()) > 1):
            return None  # the log is offline; or it is not loaded and has nothing to clean
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
        """Whether a log that candidates() yielded can still be cleaned."""
        log = found.log
        return not (log.segments.is_being_cleaned or log.is_deleted)

    def begin(self, found: Cleanable, limits: "MapLimits", pace: Pace) -> "Cleaning":
        """Begin to clean a log; until done(), nothing else removes segments of it.

        Args:
            found: what candidates() yielded; is_still_due() must hold.
            limits: the limits of the memory for keys.
            pace: limits how fast the worker thread reads and writes.

        Raises:
            CorruptTransactionIndex: the active segment's index has an unknown version.
            OSError: the index cannot be read.
        """
        log = found.log
        # Most brokers have nothing to clean. They save 0.7 MB without these modules.
        from broker_lite.log.cleaner.cleaning import Cleaning
        from broker_lite.log.cleaner.job import begin_job

        job = begin_job(
            log,
            first_dirty=found.first_dirty,
            end_offset=found.end_offset,
            now_ms=self._now_ms(),
            pace=pace,
        )
        log.segments.is_being_cleaned = True
        return Cleaning(job, limits)

    def swap(self, cleaning: "Cleaning", cleaned: "Cleaned") -> None:
        """Put a new segment in the place of the segments that it was made of.

        Raises:
            CleaningStopped: the log was deleted, or its topic is no longer compacted.
            KafkaStorageError: as in swap_in.
            OSError: as in swap_in.

        See: S-89 (LogCleanerManager.abortCleaning).
        """
        from broker_lite.log.cleaner.rewriting import discard
        from broker_lite.log.cleaner.swap import swap_in

        log = cleaning.job.log
        if log.is_deleted or not log.config.cleanup_compact:
            discard(cleaned.segment)
            raise CleaningStopped
        swap_in(log, cleaned, self._removal)

    def done(self, cleaning: "Cleaning") -> None:
        """End a cleaning, successful or not; the next one cleans what this one did not reach.

        See: S-82 (LogCleanerManager.doneCleaning).
        """
        log = cleaning.job.log
        cleaning.close()
        log.segments.is_being_cleaned = False
        if cleaning.is_complete and not log.is_deleted:
            self.checkpoint.note((log.topic, log.partition), cleaning.round_end)
            logger.info("log cleaned topic=%s-%d %s", log.topic, log.partition, cleaning.summary())

    def failed(self, log: Log, error: Exception) -> None:
        """Note that a log could not be cleaned.

        A damaged log is not cleaned again. After an I/O error the cleaner tries again later,
        because the cause may go away: the disk may have space again.

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
