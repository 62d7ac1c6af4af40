"""Rewrites a group of segments into a new one, whose files have a suffix until they replace it.

Rule: S-88 (Cleaner.cleanSegments).
See: S-89.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NamedTuple, Protocol

from broker_lite.log.cleaner.job import CleaningJob, SourceSegment, read_source
from broker_lite.log.cleaner.legacy import LegacyRound, compacted_legacy
from broker_lite.log.cleaner.offset_map import OffsetMap
from broker_lite.log.cleaner.survivors import NewestByKey, Round, compacted
from broker_lite.log.cleaner.transactions import CleanedTransactions
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.files.names import CLEANED_SUFFIX
from broker_lite.log.files.segment import LogSegment
from broker_lite.log.files.txn_index import AbortedTransaction
from broker_lite.record.batch import RecordBatch
from broker_lite.record.legacy.messages import LegacyMessage

_OPEN_FILES: Final = 4
_NS_PER_MS: Final = 1_000_000


class HasPath(Protocol):
    """A segment or one of its indexes."""

    path: str


class Cleaned(NamedTuple):
    """A new segment, durable on disk; its files' names still end in CLEANED_SUFFIX."""

    segment: LogSegment
    sources: tuple[SourceSegment, ...]


class Rewriter:
    """Rewrites the groups of one job.

    The groups must come in order, because a transaction may begin in one segment and end in a
    later one.
    """

    def __init__(self, job: CleaningJob, offset_map: OffsetMap) -> None:
        """Read which transactions were aborted.

        Args:
            job: the log's segments and the range of offsets to clean.
            offset_map: the newest offset of each key; filled already.

        Raises:
            CorruptTransactionIndex: a transaction index has an unknown version.
            OSError: a file cannot be read.
        """
        self._job = job
        self._map = offset_map
        self._transactions = CleanedTransactions(job.aborted_from(0), self._keep)
        self._target: LogSegment | None = None
        self._legacy_horizon_ms = self._old_tombstones_from(job)

    @staticmethod
    def _old_tombstones_from(job: CleaningJob) -> int:
        """Return the time that a segment must be younger than to keep old tombstones.

        Old tombstones are those of magic 0 and 1; they have no delete horizon.

        See: S-84 (Cleaner.doClean).
        """
        clean = [each for each in job.sources if each.base_offset < job.first_dirty]
        if not clean:
            return 0
        return clean[-1].segment.modified_ms() - job.log.config.delete_retention_ms

    def rewrite(self, group: Sequence[SourceSegment]) -> Cleaned:
        """Write the records that stay of a group into a new segment, and make it durable.

        Raises:
            BrokerError: a batch cannot be read or written.
            CleaningStopped: the pace was stopped.
            OSError: a file cannot be read or written.

        Rule: S-88 (Cleaner.cleanSegments).
        """
        target = _new_segment(self._job, group[0])
        self._target = target
        try:
            for source in group:
                self._copy(source, target)
            target.save()
            target.flush()
            modified_ns = group[-1].segment.modified_ms() * _NS_PER_MS
            os.utime(target.path, ns=(modified_ns, modified_ns))
        except BaseException:
            discard(target)
            raise
        return Cleaned(target, tuple(group))

    def _copy(self, source: SourceSegment, target: LogSegment) -> None:
        """Rule: S-88 (Cleaner.cleanInto).

        See: S-84.
        """
        job, config = self._job, self._job.log.config
        round_ = Round(
            self._transactions.can_discard,
            NewestByKey(self._map.keys, self._map.latest_offset),
            job.last_record,
            job.end_offset,
            job.now_ms,
            config.delete_retention_ms,
        )
        legacy = LegacyRound(
            self._map.keys,
            self._map.latest_offset,
            source.segment.modified_ms() > self._legacy_horizon_ms,
            job.end_offset,
            job.now_ms + config.delete_retention_ms,
        )
        for batch in read_source(source, job.log.directory, job.pace):
            if isinstance(batch, LegacyMessage):
                left = _viewed(compacted_legacy(batch, legacy))
            else:
                data = compacted(batch, round_)
                left = batch if isinstance(data, memoryview) else _viewed(data)
            if left is not None:
                last = left.last_offset
                interval_bytes = config.index_interval_bytes
                target.append(left.data, last, last, left.max_timestamp, interval_bytes)
                job.pace.spend(left.size_bytes)

    def _keep(self, aborted: AbortedTransaction) -> None:
        """See: S-86 (CleanedTransactionMetadata.onControlBatchRead)."""
        assert self._target is not None, "batches are shown while a segment is written"
        self._target.transaction_index.append(aborted)


def _new_segment(job: CleaningJob, first: SourceSegment) -> LogSegment:
    """Create an empty segment whose file names end in CLEANED_SUFFIX.

    See: S-04 (UnifiedLog.createNewCleanedSegment).
    """
    segment = LogSegment(
        job.log.segments.writable_directory(),
        first.base_offset,
        FileCache(_OPEN_FILES),
        created_ms=job.now_ms,
    )
    for part in parts_of(segment):
        part.path += CLEANED_SUFFIX
    segment.create()
    return segment


def _viewed(data: bytes | None) -> RecordBatch | None:
    """Return a view of a batch that was rebuilt."""
    return None if data is None else RecordBatch(memoryview(data), 0, len(data))


def parts_of(segment: LogSegment) -> tuple[HasPath, ...]:
    """Return the parts of a segment that have a file of their own, the .log file first."""
    return segment, segment.offset_index, segment.time_index, segment.transaction_index


def discard(segment: LogSegment) -> None:
    """Remove the files of a new segment that will not be used."""
    for part in parts_of(segment):
        with suppress(OSError):  # the next load of the log removes files that stay
            os.unlink(part.path)
