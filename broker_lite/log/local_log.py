"""The segments of a partition on disk: roll, flush, close, leader epochs, producer snapshots.

What offsets mean to producers and consumers is log.py's part.
"""

import logging
from bisect import bisect_right
from collections.abc import Callable
from typing import Final, NamedTuple

from broker_lite.errors import KafkaStorageError
from broker_lite.log.config import LogConfig
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.files.leader_epochs import FILE_NAME as EPOCH_FILE
from broker_lite.log.files.leader_epochs import EpochEntry, LeaderEpochCache
from broker_lite.log.files.names import DELETED_SUFFIX, SNAPSHOT_SUFFIX, segment_stem
from broker_lite.log.files.open_file import create_file, write_file
from broker_lite.log.files.segment import LogSegment
from broker_lite.log.producers.state import ProducerStateManager
from broker_lite.log.roll import draw_jitter_ms

NO_LEADER: Final = -1

logger = logging.getLogger("broker_lite.log")


class LogParts(NamedTuple):
    """What loading found of a partition.

    Attributes:
        snapshot_offset: of the newest snapshot.
        first_use: of a log without files: called before the first is made, may refuse by raising
            KafkaStorageError.
    """

    topic: str
    partition: int
    directory: str
    config: LogConfig
    cache: FileCache
    segments: list[LogSegment]
    epochs: LeaderEpochCache
    producer_state: ProducerStateManager
    log_start_offset: int
    log_end_offset: int
    recovery_point: int
    snapshot_offset: int
    loaded_ms: int
    first_use: "Callable[[LocalLog], None] | None" = None


class LocalLog:
    """A partition's segments, made by loading.load_log.

    Attributes:
        config: changed by update_config only.
        leader_epoch: stamped into every batch; changed by become_leader only.
        leader_id: the broker whose clients may append; whoever knows it keeps it here, because each
            request asks.
        segments: by rising base offset, never empty; the last one is active. At the front and in
            the middle only take_segments() changes it, by another list.
        is_being_cleaned: the cleaner works on its segments, and nothing else removes any.
        recovery_point: everything below it is on disk.
        epochs_saved: how often the leader epochs' file was written, or read.
        epochs_synced: which of these times is on disk.
        offline_reason: why the log must not be used any more.
        is_failing: the last append failed on the disk; kept by who appends, to tell it once.
    """

    __slots__ = (
        "_are_epochs_ahead",
        "_bases",
        "_cache",
        "_first_use",
        "_is_unsettled",
        "_snapshot_offset",
        "active",
        "config",
        "directory",
        "epochs",
        "epochs_saved",
        "epochs_synced",
        "is_being_cleaned",
        "is_failing",
        "last_flush_ms",
        "leader_epoch",
        "leader_id",
        "log_end_offset",
        "log_start_offset",
        "offline_reason",
        "partition",
        "producer_state",
        "recovery_point",
        "segments",
        "topic",
    )

    def __init__(self, parts: LogParts) -> None:
        self.topic = parts.topic
        self.partition = parts.partition
        self.directory = parts.directory
        self.config = parts.config
        self.segments = parts.segments
        self.active = parts.segments[-1]
        self.epochs = parts.epochs
        self.leader_epoch = max(parts.epochs.latest_epoch, 0)
        self.leader_id = NO_LEADER
        self.producer_state = parts.producer_state
        self.log_start_offset = parts.log_start_offset
        self.log_end_offset = parts.log_end_offset
        self.recovery_point = parts.recovery_point
        self.is_failing = False
        self.is_being_cleaned = False
        self.last_flush_ms = parts.loaded_ms
        self._bases = [segment.base_offset for segment in parts.segments]
        self._cache = parts.cache
        self._first_use = parts.first_use
        self.offline_reason: OSError | None = None
        self.epochs_saved, self.epochs_synced = 1, 0
        # Something has to be written before the next batch.
        self._is_unsettled = parts.first_use is not None
        # Of their file, by entries below the log start only, which the next load drops anyway.
        self._are_epochs_ahead = False
        self._snapshot_offset = parts.snapshot_offset

    @property
    def cache(self) -> FileCache:
        """Where its open files are kept; of the event loop's thread."""
        return self._cache

    def use_cache(self, cache: FileCache) -> None:
        """Keep open files there from now on; the log was loaded by another thread."""
        self._cache = cache
        for segment in self.segments:
            segment.use_cache(cache)

    @property
    def size_bytes(self) -> int:
        """Size of all .log files."""
        return sum(segment.size_bytes for segment in self.segments)

    @property
    def is_deleted(self) -> bool:
        """Whether its topic is gone, and the files may be another's."""
        return self.directory.endswith(DELETED_SUFFIX)

    def segment_for(self, offset: int) -> LogSegment:
        """Give the segment with the largest base offset that is not above this one."""
        return self.segments[max(bisect_right(self._bases, offset) - 1, 0)]

    def segment_after(self, segment: LogSegment) -> LogSegment | None:
        """Give the next segment, None after the active one."""
        if segment is self.active:
            return None
        return self.segments[bisect_right(self._bases, segment.base_offset)]

    # -- changes

    def take_segments(self, segments: list[LogSegment]) -> None:
        """Go on with other segments, as removal.py has left them.

        A thread that flushes works on the list that it found.
        """
        self.segments = segments
        self._bases = [segment.base_offset for segment in segments]
        self.active = segments[-1]

    def fit_epochs(self, saved: list[EpochEntry]) -> None:
        """Drop leader epochs outside of the log, as after loading.

        Args:
            saved: what the file holds.

        Raises:
            KafkaStorageError: the file is not written yet.

        See: S-46, S-65 (LogLoader.load).
        """
        self.epochs.truncate_from_end(self.log_end_offset)
        if self.log_start_offset > 0:
            self.epochs.truncate_from_start(self.log_start_offset)
        if self.epochs.entries != saved:
            self._save_epochs()

    def become_leader(self, leader_epoch: int) -> None:
        """Begin a leader epoch at the log end offset; an epoch below the newest is not taken.

        Raises:
            KafkaStorageError: the epoch counts, but its file is not written yet.

        See: S-61, S-63 (UnifiedLog.assignEpochStartOffset).
        """
        self.leader_epoch = max(leader_epoch, self.epochs.latest_epoch)
        if self.epochs.assign(self.leader_epoch, self.log_end_offset) and self._first_use is None:
            self._save_epochs()

    def _settle(self) -> None:
        """Write what must be there before a batch: of a log without files also the first segment.

        Raises:
            KafkaStorageError: not all of it was written; the next batch tries again. Or the log is
                offline.
        """
        if self.offline_reason is not None:
            raise self._offline_error()
        write = write_file
        if self._first_use is not None:
            self._first_use(self)
            try:
                self.active.create()
            except OSError as error:
                raise KafkaStorageError from error
            self._first_use, write = None, create_file
        self._save_epochs(write)

    def _offline_error(self) -> KafkaStorageError:
        error = KafkaStorageError(f"{self.directory} is offline")
        error.__cause__ = self.offline_reason
        return error

    def _save_epochs(self, write: Callable[[str, bytes], None] = write_file) -> None:
        self._is_unsettled = True
        try:
            write(f"{self.directory}/{EPOCH_FILE}", self.epochs.to_text().encode())
        except OSError as error:
            raise KafkaStorageError from error
        self.epochs_saved += 1
        self._is_unsettled = self.offline_reason is not None
        self._are_epochs_ahead = False

    def roll(self, now_ms: int) -> LogSegment:
        """Begin a new segment at the log end offset; an empty active one of that base is replaced.

        Raises:
            KafkaStorageError: the old segment is still the active one.

        See: S-31 (UnifiedLog.roll).
        """
        if self._is_unsettled or self._are_epochs_ahead:
            self._settle()
        base_offset = self.log_end_offset
        old = self.active
        segment = LogSegment(
            self.directory,
            base_offset,
            self._cache,
            created_ms=now_ms,
            jitter_ms=draw_jitter_ms(self.config),
        )
        try:
            old.save()
            self.take_snapshot(base_offset)
            segment.create()
            old.close()
        except OSError as error:
            logger.warning("segment not rolled directory=%s reason=%s", self.directory, error)
            raise KafkaStorageError from error
        if old.base_offset == base_offset:
            self.segments.pop()
            self._bases.pop()
        self.segments.append(segment)
        self._bases.append(base_offset)
        self.active = segment
        logger.debug("segment rolled topic=%s partition=%d", self.topic, self.partition)
        return segment

    def take_snapshot(self, offset: int) -> None:
        """Write the producer state as of an offset, unless there is a snapshot of it.

        Raises:
            OSError: there is no new snapshot.

        See: S-18 (ProducerStateManager.takeSnapshot).
        """
        if offset > self._snapshot_offset:
            # Its checksum tells a torn one, and then the one before it counts (S-17).
            path = segment_stem(self.directory, offset) + SNAPSHOT_SUFFIX
            create_file(path, self.producer_state.to_snapshot())
            self._snapshot_offset = offset

    def close(self) -> None:
        """Put the log down so that it can be loaded as after a clean stop; flush() comes after it.

        Raises:
            KafkaStorageError: recovery is needed.

        See: S-47 (UnifiedLog.close).
        """
        if self._first_use is not None:
            return  # nothing was ever written
        if self._is_unsettled or self._are_epochs_ahead:
            self._settle()
        try:
            self.active.close()
            # A clean log without any snapshot has no producers (S-45), and 10,000 empty files would
            # not fit into the second that a stop may take.
            if len(self.producer_state) or self._snapshot_offset:
                self.take_snapshot(self.log_end_offset)
        except OSError as error:
            raise KafkaStorageError from error
