"""What of a partition is on disk, and what readers may see of it.

Records that must be flushed before they are acknowledged are not visible before either: the high
watermark stays in front of them, as in Kafka, where the flush is a part of the append.

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
from broker_lite.log.commits import Commits, FlushWaiter
from broker_lite.log.config import LogConfig
from broker_lite.log.files.checkpoints import sync_directory
from broker_lite.log.files.leader_epochs import FILE_NAME as EPOCH_FILE
from broker_lite.log.files.names import SNAPSHOT_SUFFIX, segment_stem
from broker_lite.log.files.open_file import SyncError, sync_file
from broker_lite.log.files.segment import LogSegment
from broker_lite.log.local_log import LocalLog, LogParts

logger = logging.getLogger("broker_lite.log")

Waiter = Callable[[], None]
_EACH: Final = 0


class DurableLog(LocalLog):
    """A LocalLog with its recovery point and its high watermark.

    Attributes:
        commits: shared with the other logs of the directory.
        flush_at: a log end offset from which on an append has to look whether to flush.
        high_watermark: the offset that readers may not reach: with one replica the log end offset,
            unless records are held back.
    """

    __slots__ = (
        "_flush_waiters",
        "_held_to",
        "_index_point",
        "_waiters",
        "commits",
        "flush_at",
        "high_watermark",
    )

    def __init__(self, parts: LogParts) -> None:
        super().__init__(parts)
        self.commits = Commits()
        self.high_watermark = parts.log_end_offset
        self._waiters: dict[Waiter, None] = {}
        self._flush_waiters: list[FlushWaiter] = []
        # A flush up to here is wanted, or was made.
        self._held_to = parts.recovery_point
        # As the recovery point, for the indexes: these are on disk of all segments below it.
        self._index_point = parts.recovery_point
        self.flush_at = parts.recovery_point + parts.config.flush_messages

    @property
    def last_stable_offset(self) -> int:
        """The offset that readers of committed records may not reach.

        See: V-64 (UnifiedLog.lastStableOffset).
        """
        stable = self.producer_state.last_stable_offset(self.high_watermark)
        return max(stable, self.log_start_offset)

    def update_config(self, config: LogConfig) -> None:
        """Take new settings; they count from the next append on."""
        self.config = config
        self.flush_at = _EACH  # the next append looks

    # -- waiting

    def add_waiter(self, waiter: Waiter) -> None:
        """Have a function called after every append, log start change, and deletion."""
        self._waiters[waiter] = None

    def remove_waiter(self, waiter: Waiter) -> None:
        """Stop calling a function; one that is not called is no error."""
        self._waiters.pop(waiter, None)

    @property
    def is_watched(self) -> bool:
        """Whether somebody waits for the next change."""
        return bool(self._waiters)

    def _wake(self) -> None:
        for waiter in tuple(self._waiters):
            waiter()

    def when_flushed(self, waiter: FlushWaiter) -> None:
        """Have a function called when all that is held back now is on disk, or cannot get there.

        It is called at once when nothing is held back, or when the flush has failed already.
        """
        if self.offline_reason is not None:
            waiter(KafkaStorageError(f"{self.directory} is offline"))
        elif self in self.commits.held:
            self._flush_waiters.append(waiter)
        elif self.high_watermark < self.log_end_offset:
            waiter(KafkaStorageError(f"{self.directory} could not be flushed"))
        else:
            waiter(None)

    # -- after an append that reached flush_at

    def _commit(self) -> None:
        """Show what was appended, or hold it back until it is on disk.

        Raises:
            KafkaStorageError: it was to be flushed here, and may not be on disk.

        Rule: S-32 (UnifiedLog.append).
        """
        end = self.log_end_offset
        flush_messages = self.config.flush_messages
        known = max(self.recovery_point, self._held_to)
        commits = self.commits
        if end - known < flush_messages:
            if self not in commits.held:
                self.flush_at = known + flush_messages
                self._show(end)
            return
        self._held_to = end
        if commits.start is None:
            try:
                self.flush(end)
            except KafkaStorageError:
                self.flush_ended(end, KafkaStorageError())
                raise
            self.flush_at = end + flush_messages
            self._show(end)
            return
        self.flush_at = _EACH
        commits.held[self] = None
        commits.start(self)

    def _show(self, offset: int) -> None:
        self.high_watermark = offset
        self.producer_state.high_watermark_moved(offset)
        self._wake()

    def flush_ended(self, offset: int, error: KafkaStorageError | None) -> bool:
        """Go on after a flush in the background: show what is on disk, tell who waits for it.

        Args:
            offset: up to which it was to be flushed.
            error: why it may not be on disk.

        Returns:
            Whether more is held back by now, so that another flush is needed.
        """
        if self.offline_reason is not None:  # of two flushes at once one only may see the error
            error = error or KafkaStorageError(f"{self.directory} is offline")
        if error is None and self._held_to > offset:
            self._show(offset)
            return True
        self.commits.held.pop(self, None)
        waiters, self._flush_waiters = self._flush_waiters, []
        if error is None:
            self._show(self.log_end_offset)
        else:
            self.commits.failures += 1
            self._held_to = self.recovery_point  # what was not shown waits for the next append
            if self.offline_reason is not None:
                self.commits.went_offline(self)
            self._wake()
        for waiter in waiters:
            waiter(error)
        return False

    # -- flushing

    def flush(self, offset: int | None = None) -> None:
        """Make everything below an offset durable (default: all), and move the recovery point.

        May run in a worker thread.

        Raises:
            KafkaStorageError: it may not be on disk. After an error of fsync, and when somebody
                removed or replaced a file, the log is offline; after any other one, as when no file
                can be opened, it may be tried again.

        Rule: S-32 (UnifiedLog.flush).
        """
        self._look_at_active_file()
        target = self.log_end_offset if offset is None else offset
        if target > min(self.recovery_point, self._index_point):
            self._flush(target, LogSegment.flush)
            self._index_point = max(self._index_point, target)

    def flush_records(self, offset: int) -> None:
        """As flush(), but without the indexes of the active segment.

        After a crash those are made anew, as of every segment that the recovery point lies in; so
        an acknowledgement has to wait for one file only.

        Raises:
            KafkaStorageError: as flush().

        Rule: S-32 (UnifiedLog.flush).
        """
        self._index_point = max(self._index_point, self._flush(offset, LogSegment.sync_records))

    def _flush(self, target: int, flush_last: Callable[[LogSegment], None]) -> int:
        """Flush the segments that need it, and give the base offset of the one that is the last."""
        if self.offline_reason is not None:
            raise self._offline_error()
        point = self.recovery_point
        segments = self.segments  # the loop may put another list there meanwhile
        try:
            self._sync_epochs()
            base_offset = 0
            for segment in self._from(segments, min(point, self._index_point)):
                if segment.base_offset >= target:
                    break
                base_offset, is_last = segment.base_offset, segment is segments[-1]
                self._flush_segment(segment, flush_last if is_last else LogSegment.flush)
                if point <= segment.base_offset:  # it is new
                    sync_file(segment_stem(self.directory, segment.base_offset) + SNAPSHOT_SUFFIX)
                    sync_directory(Path(self.directory))
                    sync_directory(Path(self.directory).parent)  # which names the partition's
        except OSError as error:
            if isinstance(error, (SyncError, FileNotFoundError)):
                self._fail(error)
            raise KafkaStorageError from error
        self.recovery_point = max(self.recovery_point, target)
        return base_offset

    def _look_at_active_file(self) -> None:
        """Find out whether what is appended will be found again, though nothing is to be flushed.

        Raises:
            KafkaStorageError: its file was removed or replaced by somebody, and the log is offline
                now; or it cannot be opened, and may be later.
        """
        active = self.active
        if self.offline_reason is not None or not active.size_bytes:
            return
        try:
            self._cache.named(active.path)
        except OSError as error:
            if active is not self.active or active.is_removed or self.is_deleted:
                return
            if isinstance(error, FileNotFoundError):
                self._fail(error)
            raise KafkaStorageError from error

    def look_at_rolled_files(self) -> None:
        """Find out whether the segments before the active one will be found again.

        They were flushed long ago, and nobody may read them before the next start does. One call of
        the system for each; may run in a worker thread.

        Raises:
            KafkaStorageError: a file was removed, replaced or cut by somebody, and the log is
                offline now; or it cannot be looked at.
        """
        if self.offline_reason is not None:
            return
        for segment in self.segments[:-1]:
            try:
                self._cache.look_at(segment.path, segment.size_bytes)
            except OSError as error:
                # the cleaner and retention take files away, too, beside this thread
                is_known = segment in self.segments and not segment.is_removed
                if not is_known or self.is_being_cleaned or self.is_deleted:
                    continue
                if isinstance(error, FileNotFoundError):
                    self._fail(error)
                raise KafkaStorageError from error

    @staticmethod
    def _from(segments: list[LogSegment], offset: int) -> list[LogSegment]:
        first = bisect_right(segments, offset, key=attrgetter("base_offset")) - 1
        return segments[max(first, 0) :]

    def _flush_segment(self, segment: LogSegment, flush: Callable[[LogSegment], None]) -> None:
        try:
            flush(segment)
        except FileNotFoundError:
            if segment in self.segments and not segment.is_removed:
                raise

    def _sync_epochs(self) -> None:
        """Make the leader epochs durable once; below the recovery point no batch tells of them."""
        saved = self.epochs_saved  # the loop may save them again meanwhile
        if self.epochs_synced == saved:
            return
        sync_file(f"{self.directory}/{EPOCH_FILE}")
        sync_directory(Path(self.directory))
        self.epochs_synced = saved  # not before: another flush may be made at the same time

    def _fail(self, error: OSError) -> None:
        if self.is_deleted:
            return
        logger.error("partition offline directory=%s reason=%s", self.directory, error)
        self.offline_reason = error
        self._is_unsettled = True  # which an append looks at

    def sync_snapshot(self) -> None:
        """Make the newest snapshot durable: after a clean stop nothing else tells the producers.

        Raises:
            KafkaStorageError: it may not be on disk.

        See: S-47 (ProducerStateManager.takeSnapshot).
        """
        try:
            sync_file(segment_stem(self.directory, self._snapshot_offset) + SNAPSHOT_SUFFIX)
            sync_directory(Path(self.directory))
        except OSError as error:
            raise KafkaStorageError from error

    @property
    def is_durable(self) -> bool:
        """Whether all of it is on disk, the indexes too."""
        return min(self.recovery_point, self._index_point) >= self.log_end_offset

    def confirm_durable(self) -> None:
        """Find out whether the disk took the batches that os.sync() has written.

        Raises:
            KafkaStorageError: they may not be on disk.
        """
        try:
            for segment in self._from(self.segments, self.recovery_point):
                segment.sync_records()
        except OSError as error:
            self._fail(error)
            raise KafkaStorageError from error

    def mark_durable(self) -> None:
        """Move the recovery point to the end: everything was made durable by other means."""
        self.recovery_point = self._index_point = self.log_end_offset
