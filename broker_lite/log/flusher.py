"""What of a log is on disk, and the fsyncs that put it there.

An error of fsync is final. The kernel may have dropped the pages that it could not write, so that
the next fsync would succeed without them: the log goes offline, and only a start reads it again.
"""

import logging
from bisect import bisect_right
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Final

from broker_lite.errors import KafkaStorageError
from broker_lite.log.files.checkpoints import sync_directory
from broker_lite.log.files.names import SNAPSHOT_SUFFIX, segment_stem
from broker_lite.log.files.open_file import SyncError, sync_file
from broker_lite.log.files.segment import LogSegment
from broker_lite.log.parts import LogParts

logger = logging.getLogger("broker_lite.log")

_BASE_OFFSET: Final = attrgetter("base_offset")


class Flusher:
    """Makes a log durable, and knows what of it is.

    The methods that flush may run in worker threads beside the event loop, several at a time.

    Attributes:
        directory: of the partition.
        recovery_point: all records below this offset are on disk.
        offline_reason: why the log must not be used any more, None while it may be.
        last_flush_ms: the time from which flush.ms counts.
    """

    __slots__ = (
        "_epoch_file",
        "_index_point",
        "_segments",
        "directory",
        "last_flush_ms",
        "offline_reason",
        "recovery_point",
    )

    def __init__(self, parts: LogParts) -> None:
        self.directory = parts.segments.directory
        self.recovery_point = parts.recovery_point
        self.offline_reason: OSError | None = None
        self.last_flush_ms = parts.loaded_ms
        self._segments = parts.segments
        self._epoch_file = parts.epoch_file
        # The recovery point of the indexes: those of all segments below it are on disk.
        self._index_point = parts.recovery_point

    # -- the offline state

    def offline_error(self) -> KafkaStorageError:
        """Make the error that a log which is offline answers with."""
        error = KafkaStorageError(f"{self.directory} is offline")
        error.__cause__ = self.offline_reason
        return error

    def check_online(self) -> None:
        """Refuse to go on with a log that is offline.

        Raises:
            KafkaStorageError: the log is offline.
        """
        if self.offline_reason is not None:
            raise self.offline_error()

    def _fail(self, error: OSError) -> None:
        if self._segments.is_deleted:
            return
        logger.error("partition offline directory=%s reason=%s", self.directory, error)
        self.offline_reason = error

    # -- flushing

    def flush(self, offset: int) -> None:
        """Make everything below an offset durable, and move the recovery point there.

        Raises:
            KafkaStorageError: it may not be on disk. The log is offline if an fsync failed, or if
                somebody removed or replaced a file. After any other error, as when no file can be
                opened, the flush may be tried again.

        Rule: S-32 (UnifiedLog.flush).
        """
        self._look_at_active_file()
        if offset > min(self.recovery_point, self._index_point):
            self._flush(offset, LogSegment.flush)
            self._index_point = max(self._index_point, offset)

    def flush_records(self, offset: int) -> None:
        """As flush(), but leave out the indexes of the active segment.

        A start after a crash makes the indexes anew of the segment with the recovery point and of
        all that follow. So an acknowledgement has to wait for one file only.

        Raises:
            KafkaStorageError: as flush().

        Rule: S-32 (UnifiedLog.flush).
        """
        self._index_point = max(self._index_point, self._flush(offset, LogSegment.sync_records))

    def _flush(self, target: int, flush_last: Callable[[LogSegment], None]) -> int:
        """Flush the segments that need it.

        Returns:
            The base offset of the last one of them.
        """
        self.check_online()
        point = self.recovery_point
        directory = self.directory
        segments = self._segments.all  # the event loop may put another list there meanwhile
        try:
            self._epoch_file.sync(directory)
            base_offset = 0
            for segment in _holding(segments, min(point, self._index_point)):
                if segment.base_offset >= target:
                    break
                base_offset, is_last = segment.base_offset, segment is segments[-1]
                self._flush_segment(segment, flush_last if is_last else LogSegment.flush)
                if point <= segment.base_offset:  # the segment is new
                    sync_file(segment_stem(directory, segment.base_offset) + SNAPSHOT_SUFFIX)
                    sync_directory(Path(directory))
                    sync_directory(Path(directory).parent)  # has the name of the partition's
        except OSError as error:
            if isinstance(error, (SyncError, FileNotFoundError)):
                self._fail(error)
            raise KafkaStorageError from error
        self.recovery_point = max(self.recovery_point, target)
        return base_offset

    def _flush_segment(self, segment: LogSegment, flush: Callable[[LogSegment], None]) -> None:
        try:
            flush(segment)
        except FileNotFoundError:
            if self._is_in_use(segment):
                raise

    def _is_in_use(self, segment: LogSegment) -> bool:
        """Whether a segment must have its file; retention and the cleaner may remove it."""
        return segment in self._segments.all and not segment.is_removed

    # -- looking at files

    def _look_at_active_file(self) -> None:
        """Find out whether the next start will find the active segment's file.

        Raises:
            KafkaStorageError: somebody removed or replaced the file, and the log is offline now; or
                it cannot be opened, and may be later.
        """
        active = self._segments.active
        if self.offline_reason is not None or not active.size_bytes:
            return
        try:
            self._segments.cache.named(active.path)
        except OSError as error:
            is_rolled = active is not self._segments.active
            if is_rolled or active.is_removed or self._segments.is_deleted:
                return
            if isinstance(error, FileNotFoundError):
                self._fail(error)
            raise KafkaStorageError from error

    def look_at_rolled_files(self) -> None:
        """Find out whether the next start will find the segments before the active one.

        They were flushed long ago, and maybe nobody reads them before the next start. Each takes
        one system call.

        Raises:
            KafkaStorageError: somebody removed, replaced or cut a file, and the log is offline now;
                or a file cannot be looked at.
        """
        if self.offline_reason is not None:
            return
        segments = self._segments
        for segment in segments.all[:-1]:
            try:
                segments.cache.look_at(segment.path, segment.size_bytes)
            except OSError as error:
                is_expected = segments.is_being_cleaned or segments.is_deleted
                if is_expected or not self._is_in_use(segment):
                    continue
                if isinstance(error, FileNotFoundError):
                    self._fail(error)
                raise KafkaStorageError from error

    # -- a clean stop

    def sync_snapshot(self) -> None:
        """Make the newest snapshot durable: after a clean stop nothing else tells the producers.

        Raises:
            KafkaStorageError: it may not be on disk.

        See: S-47 (ProducerStateManager.takeSnapshot).
        """
        stem = segment_stem(self.directory, self._segments.snapshot_offset)
        try:
            sync_file(stem + SNAPSHOT_SUFFIX)
            sync_directory(Path(self.directory))
        except OSError as error:
            raise KafkaStorageError from error

    def is_durable(self, end_offset: int) -> bool:
        """Tell whether everything below an offset is on disk, the indexes too."""
        return min(self.recovery_point, self._index_point) >= end_offset

    def confirm_durable(self) -> None:
        """Find out whether the disk took the batches that os.sync() has written.

        Raises:
            KafkaStorageError: the batches may not be on disk.
        """
        try:
            for segment in _holding(self._segments.all, self.recovery_point):
                segment.sync_records()
        except OSError as error:
            self._fail(error)
            raise KafkaStorageError from error

    def mark_durable(self, end_offset: int) -> None:
        """Move the recovery point: the caller has made everything below an offset durable."""
        self.recovery_point = self._index_point = end_offset


def _holding(segments: list[LogSegment], offset: int) -> list[LogSegment]:
    """List the segments from the one on that holds an offset."""
    first = bisect_right(segments, offset, key=_BASE_OFFSET) - 1
    return segments[max(first, 0) :]
