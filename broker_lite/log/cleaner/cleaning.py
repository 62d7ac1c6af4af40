"""The cleaning of one log: the steps that run in a worker thread.

The caller runs gather() first, then rewrite_next() until it returns None. After each rewrite_next()
the event loop puts the new segment in the place of its sources.
"""

from collections.abc import Iterator
from pathlib import Path

from broker_lite.log.cleaner.grouping import Sizes, grouped
from broker_lite.log.cleaner.job import CleaningJob, SourceSegment
from broker_lite.log.cleaner.offset_map import MapLimits, OffsetMap
from broker_lite.log.cleaner.rewriting import Cleaned, Rewriter
from broker_lite.log.files.checkpoints import sync_directory


class Cleaning:
    """The cleaning of one log.

    Attributes:
        job: the log's segments and the range of offsets to clean.
        is_complete: all groups were rewritten.
        round_end: the offset at which the next cleaning begins.
    """

    def __init__(self, job: CleaningJob, limits: MapLimits) -> None:
        """Prepare a cleaning; nothing is read yet.

        Args:
            job: the log's segments and the range of offsets to clean.
            limits: the limits of the memory for keys.
        """
        self.job = job
        self.is_complete = False
        self.round_end = job.first_dirty
        self._limits = limits
        self._map: OffsetMap | None = None
        self._rewriter: Rewriter | None = None
        self._groups: Iterator[list[SourceSegment]] = iter(())
        self._read_bytes = 0
        self._left_bytes = 0

    def gather(self) -> None:
        """Find the newest offset of each key, as far as there is room for keys.

        Raises:
            BrokerError: a batch cannot be read.
            CleaningStopped: the pace was stopped.
            CorruptTransactionIndex: a transaction index has an unknown version.
            OSError: a file cannot be read.

        See: S-82, S-83 (Cleaner.doClean).
        """
        job, config = self.job, self.job.log.config
        self._map = OffsetMap(self._limits, job.end_offset - job.first_dirty)
        self._map.fill(job)
        self.round_end = self._map.latest_offset + 1
        index_bytes = config.segment_index_bytes
        self._groups = grouped(
            [source for source in job.sources if source.base_offset < self.round_end],
            Sizes(config.segment_bytes, index_bytes, index_bytes),
        )
        self._rewriter = Rewriter(job, self._map)

    def rewrite_next(self) -> Cleaned | None:
        """Rewrite the next group; return None when no group is left.

        Raises:
            BrokerError: a batch cannot be read or written.
            CleaningStopped: the pace was stopped.
            OSError: a file cannot be read or written.

        See: S-88, S-89 (Cleaner.cleanSegments).
        """
        group = next(self._groups, None)
        if group is None or self._rewriter is None:
            # The checkpoint is written next. The renamed files must be durable before it is.
            sync_directory(Path(self.job.log.directory))
            self.is_complete = True
            return None
        cleaned = self._rewriter.rewrite(group)
        self._read_bytes += sum(source.sizes.log_bytes for source in group)
        self._left_bytes += cleaned.segment.size_bytes
        return cleaned

    def close(self) -> None:
        """Stop the worker thread's reads and free the memory of the keys."""
        self.job.pace.stop()
        self._map = self._rewriter = None
        self._groups = iter(())

    def summary(self) -> str:
        """Return offsets and sizes, for a log line."""
        return (
            f"from={self.job.first_dirty} to={self.round_end}"
            f" bytes={self._read_bytes} left={self._left_bytes}"
        )
