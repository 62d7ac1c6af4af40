"""What one cleaning of a log works on: facts taken in the event loop, for a worker thread.

Nothing but rolls changes the log's list of segments meanwhile, and nothing at all the segments
below the active one. The producers are looked up as they are at that moment.
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

# The log, both indexes, and one to spare.
_OPEN_FILES = 4


class SourceSegment(NamedTuple):
    """A segment below the active one; end_offset is the next one's base."""

    segment: LogSegment
    end_offset: int

    @property
    def base_offset(self) -> int:
        """The first offset that it may hold."""
        return self.segment.base_offset

    @property
    def sizes(self) -> Sizes:
        """How large its files are."""
        one = self.segment
        return Sizes(one.size_bytes, one.offset_index.size_bytes, one.time_index.size_bytes)


class CleaningJob(NamedTuple):
    """One cleaning.

    Attributes:
        sources: all segments below the active one.
        first_dirty: what lies before was cleaned already.
        end_offset: base of the first segment that cannot be cleaned.
        active_aborted: what the active segment's index of aborted transactions holds.
        now_ms: when it began.
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
        """The partition, for messages."""
        return f"{self.log.topic}-{self.log.partition}"

    def last_record(self, producer_id: int) -> LastRecord | None:
        """Tell what the log remembers of a producer; may run beside its appends.

        See: S-87 (UnifiedLog.lastRecordsOfActiveProducers).
        """
        entry = self.log.producer_state.get(producer_id)
        if entry is None:
            return None
        newest = entry.batches[-1:]  # which may be emptied meanwhile
        return LastRecord(newest[0].last_offset if newest else -1, entry.epoch)

    def aborted_from(self, offset: int) -> list[AbortedTransaction]:
        """Read the aborted transactions whose marker is not below an offset.

        Raises:
            CorruptTransactionIndex: a file is of another version.
            OSError: a file cannot be read.

        See: S-86 (UnifiedLog.collectAbortedTransactions).
        """
        found: list[AbortedTransaction] = []
        for source in self.sources:
            index = source.segment.transaction_index
            if source.end_offset > offset and index.exists:
                # not the log's own object, which another thread may be reading into
                found += TransactionIndex(index.path, exists=True).entries()
        found += self.active_aborted
        return [each for each in found if each.last_offset >= offset]


def begin_job(
    log: Log, *, first_dirty: int, end_offset: int, now_ms: int, pace: Pace
) -> CleaningJob:
    """Take down what a cleaning works on; in the event loop.

    Raises:
        CorruptTransactionIndex: the active segment's index is of another version.
        OSError: it cannot be read.
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
    """Read all batches of a segment; each is of use until the next one is asked for.

    Raises:
        CleaningStopped: it is to be given up.
        CorruptMessage: a batch is damaged: to rewrite it would give it a new checksum.
        OSError: the file cannot be read.
    """
    size_bytes = source.segment.size_bytes
    # A cache of its own, since the log's is the event loop's.
    cache = FileCache(_OPEN_FILES)
    segment = LogSegment(directory, source.base_offset, cache, created_ms=0, size_bytes=size_bytes)
    position = 0
    for batch in read_valid(segment, tell=pace.spend):
        yield batch
        position += batch.size_bytes
    if position != size_bytes:
        raise CorruptMessage(f"{segment.path}: no valid batch at position {position}")
