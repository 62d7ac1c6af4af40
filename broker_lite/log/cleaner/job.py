"""The input of one cleaning: facts about a log, collected in the event loop for a worker thread.

The worker thread can rely on them: while it runs, only rolls change the log's list of segments, and
nothing changes the segments below the active one. Only the producer state is read live, when a
batch needs it.
"""

from collections.abc import Iterator
from typing import NamedTuple

from broker_lite.errors import CorruptMessage
from broker_lite.log.cleaner.grouping import Sizes
from broker_lite.log.cleaner.pace import Pace
from broker_lite.log.cleaner.survivors import LastRecord
from broker_lite.log.files.batch_reader import read_valid
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.files.segment import LogSegment
from broker_lite.log.files.txn_index import AbortedTransaction, TransactionIndex
from broker_lite.log.log import Log
from broker_lite.record.batch import RecordBatch
from broker_lite.record.legacy.messages import LegacyMessage

# The .log file, both indexes, and one to spare.
_OPEN_FILES = 4


class SourceSegment(NamedTuple):
    """A segment below the active one; end_offset is the base offset of the next segment."""

    segment: LogSegment
    end_offset: int

    @property
    def base_offset(self) -> int:
        """The first offset that the segment may hold."""
        return self.segment.base_offset

    @property
    def sizes(self) -> Sizes:
        """The sizes of the segment's files."""
        one = self.segment
        return Sizes(one.size_bytes, one.offset_index.size_bytes, one.time_index.size_bytes)


class CleaningJob(NamedTuple):
    """The input of one cleaning.

    Attributes:
        log: the log to clean.
        sources: all segments below the active one.
        first_dirty: offsets below it were cleaned already.
        end_offset: base offset of the first segment that cannot be cleaned.
        active_aborted: the entries of the active segment's index of aborted transactions.
        now_ms: the time at which the cleaning began.
        pace: limits how fast the worker thread reads and writes, and can stop it.
    """

    log: Log
    sources: tuple[SourceSegment, ...]
    first_dirty: int
    end_offset: int
    active_aborted: tuple[AbortedTransaction, ...]
    now_ms: int
    pace: Pace

    @property
    def name(self) -> str:
        """Topic and partition, for log lines and error texts."""
        return f"{self.log.topic}-{self.log.partition}"

    def last_record(self, producer_id: int) -> LastRecord | None:
        """Return the last record of a producer, None if the log does not know the producer.

        May run in another thread than the log's appends.

        See: S-87 (UnifiedLog.lastRecordsOfActiveProducers).
        """
        entry = self.log.producer_state.get(producer_id)
        if entry is None:
            return None
        newest = entry.batches[-1:]  # a slice: an append may empty the list at the same time
        return LastRecord(newest[0].last_offset if newest else -1, entry.epoch)

    def aborted_from(self, offset: int) -> list[AbortedTransaction]:
        """Read the aborted transactions whose marker is at the offset or above it.

        Raises:
            CorruptTransactionIndex: a transaction index has an unknown version.
            OSError: a file cannot be read.

        See: S-86 (UnifiedLog.collectAbortedTransactions).
        """
        found: list[AbortedTransaction] = []
        for source in self.sources:
            index = source.segment.transaction_index
            if source.end_offset > offset and index.exists:
                # a new object, because the event loop's thread may be reading with the log's own
                found += TransactionIndex(index.path, exists=True).entries()
        found += self.active_aborted
        return [each for each in found if each.last_offset >= offset]


def begin_job(
    log: Log, *, first_dirty: int, end_offset: int, now_ms: int, pace: Pace
) -> CleaningJob:
    """Collect the input of a cleaning; call it in the event loop.

    Raises:
        CorruptTransactionIndex: the active segment's index has an unknown version.
        OSError: the index cannot be read.
    """
    following = log.segments.all[1:]
    sources = tuple(
        SourceSegment(segment, after.base_offset)
        for segment, after in zip(log.segments.all, following, strict=False)
    )
    aborted = tuple(log.segments.active.transaction_index.entries())
    return CleaningJob(log, sources, first_dirty, end_offset, aborted, now_ms, pace)


def read_source(
    source: SourceSegment, directory: str, pace: Pace
) -> Iterator[RecordBatch | LegacyMessage]:
    """Yield all batches of a segment; each is valid only until the next one is requested.

    Raises:
        CleaningStopped: the pace was stopped.
        CorruptMessage: a batch is damaged. Rewriting it would give it a valid checksum and so hide
            the damage.
        OSError: the file cannot be read.
    """
    size_bytes = source.segment.size_bytes
    # A file cache of its own, because the log's cache belongs to the event loop's thread.
    cache = FileCache(_OPEN_FILES)
    segment = LogSegment(directory, source.base_offset, cache, created_ms=0, size_bytes=size_bytes)
    position = 0
    for batch in read_valid(segment, tell=pace.spend):
        yield batch
        position += batch.size_bytes
    if position != size_bytes:
        raise CorruptMessage(f"{segment.path}: no valid batch at position {position}")
