"""Removes segments from a log: retention removes the oldest ones, the cleaner replaces some.

The event loop does the first part at once: the files get the suffix .deleted, the list of segments
changes, and the log start offset, leader epochs and producer snapshots follow. Nothing in this part
waits, so readers in the loop never see half of it. A reader that has a range keeps the file open.

After file.delete.delay.ms a worker thread unlinks the files. If the broker crashes before that, the
next load of the log removes every file with the suffix .deleted (S-41).
"""

import heapq
import logging
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple, Protocol

from broker_lite.errors import KafkaStorageError
from broker_lite.log.files.checkpoints import sync_directory
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.files.names import DELETED_SUFFIX, SNAPSHOT_SUFFIX, SWAP_SUFFIX, segment_stem
from broker_lite.log.files.segment import LogSegment
from broker_lite.log.log import Log

logger = logging.getLogger("broker_lite.log")

# Measured: to remove a segment with its four files takes 90 us of one core; 200 to 400 us on a busy
# disk.
REMOVED_AT_A_TIME: Final = 8
# A stop of the broker waits until a thread has done so many.
_REMAINS_AT_A_TIME: Final = 16


class _HasPath(Protocol):
    """A segment or one of its indexes."""

    path: str


class _Remains(NamedTuple):
    """Files with the suffix .deleted; they are unlinked in the order of due_ms."""

    due_ms: int
    number: int
    directory: str
    paths: list[str]


class SegmentRemoval:
    """Removes and replaces segments of the logs of one data directory.

    For the event loop's thread, except unlink_due().
    """

    __slots__ = ("_cache", "_lock", "_now_ms", "_numbers", "_remains")

    def __init__(self, cache: FileCache, now_ms: Callable[[], int]) -> None:
        """Begin with nothing to unlink.

        Args:
            cache: of the logs.
            now_ms: the clock.
        """
        self._cache = cache
        self._now_ms = now_ms
        self._lock = Lock()
        self._numbers = count()
        self._remains: list[_Remains] = []

    # -- in the event loop

    def remove_oldest(self, log: Log, segment_count: int) -> None:
        """Remove the oldest segments; if these are all segments, begin a new one first.

        The caller removes many segments in steps of REMOVED_AT_A_TIME, and lets the event loop do
        other work in between.

        Args:
            log: not being cleaned.
            segment_count: at least 1; an empty active segment is not among them.

        Raises:
            KafkaStorageError: the log is deleted; or some segments could not be removed.

        Rule: S-52, S-54 (UnifiedLog.deleteSegments).
        See: S-51.
        """
        if log.is_deleted:
            raise KafkaStorageError
        if segment_count == len(log.segments.all):
            log.roll(self._now_ms())
        failure, paths, removed = None, [], 0
        for segment in log.segments.all[:segment_count]:
            try:
                paths += self._set_aside(log, segment)
            except OSError as error:
                failure = error
                break
            removed += 1
        if removed:
            log.segments.take(log.segments.all[removed:])
            self._keep(log, paths)
            log.advance_start(log.segments.all[0].base_offset)
        if failure is not None:
            raise KafkaStorageError from failure

    def replace(self, log: Log, old: Sequence[LogSegment], new: Sequence[LogSegment]) -> None:
        """Replace some segments by the segments that the cleaner made of them.

        The replacement holds from now on, even after a crash at any point. As long as one of the
        old files has its name, all new files keep the suffix .swap, and the next load completes the
        replacement (S-41).

        Args:
            log: being cleaned, so that only rolls change its list of segments meanwhile.
            old: neighbours in the log's list, without the active segment.
            new: closed, by rising base offset, in the range of the old ones. Their files are
                complete and durable and have the suffix .swap; their paths are without it.

        Raises:
            KafkaStorageError: the log is deleted, and nothing was replaced; or some files could not
                be renamed, the new segments are in use, and recovery will rename the files.

        See: S-89 (LocalLog.replaceSegments).
        """
        if log.is_deleted:
            raise KafkaStorageError
        kept_bases = {segment.base_offset for segment in new}
        failure: OSError | None = None
        paths: list[str] = []
        for segment in old:
            try:
                paths += self._set_aside(log, segment, segment.base_offset in kept_bases)
            except OSError as error:
                failure = error
        for segment in new:
            failure = self._take_in(segment, failure)
        before = log.segments.all
        first = before.index(old[0])
        log.segments.take([*before[:first], *new, *before[first + len(old) :]])
        self._keep(log, paths)
        if failure is not None:
            raise KafkaStorageError from failure

    def _set_aside(self, log: Log, segment: LogSegment, keeps_snapshot: bool = False) -> list[str]:
        """Add .deleted to the names of a segment's files.

        The .log file comes first. If a crash leaves the other files, loading the log removes them.

        Returns:
            The new paths.

        Raises:
            OSError: the segment's .log file keeps its name.

        Rule: S-54 (LocalLog.deleteSegmentFiles, ProducerStateManager).
        See: S-04.
        """
        segment.is_removed = True  # so that a flush in a thread does not miss the file
        try:
            paths = self._rename(segment)
        except OSError:
            segment.is_removed = False
            raise
        for part in (segment.offset_index, segment.time_index, segment.transaction_index):
            paths += self._rename_beside(part)
        if not keeps_snapshot:
            stem = segment_stem(log.directory, segment.base_offset)
            paths += self._rename_beside(_File(stem + SNAPSHOT_SUFFIX))
        return paths

    def _rename_beside(self, part: _HasPath) -> list[str]:
        try:
            return self._rename(part)
        except OSError as error:  # loading removes files without their .log file
            logger.warning("file not set aside path=%s reason=%s", part.path, error)
            return []

    def _rename(self, part: _HasPath) -> list[str]:
        path, aside = part.path, part.path.removesuffix(SWAP_SUFFIX) + DELETED_SUFFIX
        self._cache.discard(path)
        try:
            os.rename(path, aside)
        except FileNotFoundError:  # an index or a snapshot need not be there
            return []
        part.path = aside
        return [aside]

    def _take_in(self, segment: LogSegment, failure: OSError | None) -> OSError | None:
        """Remove .swap from the names of a new segment's files, unless a rename failed before."""
        parts: tuple[_HasPath, ...] = (
            segment,  # first: the next load renames indexes with .swap, if no .log file has it
            segment.offset_index,
            segment.time_index,
            segment.transaction_index,
        )
        for part in parts:
            self._cache.discard(part.path)
            swap = part.path + SWAP_SUFFIX
            if failure is None:
                try:
                    os.rename(swap, part.path)
                except FileNotFoundError:  # there need not be aborted transactions
                    continue
                except OSError as error:
                    failure = error
            if failure is not None:
                part.path = swap
        return failure

    def _keep(self, log: Log, paths: list[str]) -> None:
        due_ms = self._now_ms() + log.config.file_delete_delay_ms
        with self._lock:
            heapq.heappush(
                self._remains, _Remains(due_ms, next(self._numbers), log.directory, paths)
            )

    def has_due(self) -> bool:
        """Whether there are files whose delay is over."""
        with self._lock:
            return bool(self._remains) and self._remains[0].due_ms <= self._now_ms()

    # -- in a worker thread

    def unlink_due(self) -> None:
        """Unlink some files whose delay is over; may run in a worker thread.

        Rule: S-54 (LogSegment.deleteIfExists).
        """
        for _ in range(_REMAINS_AT_A_TIME):
            remains = self._next_due()
            if remains is None:
                return
            try:
                # The names of the new files must be on disk first: until then, only the old files
                # are sure to hold the records.
                sync_directory(Path(remains.directory))
                for path in remains.paths:
                    with suppress(FileNotFoundError):
                        os.unlink(path)
            except FileNotFoundError:
                continue  # the directory went with its topic
            except OSError as error:
                logger.warning(
                    "files stay until the next start directory=%s reason=%s",
                    remains.directory,
                    error,
                )

    def _next_due(self) -> _Remains | None:
        with self._lock:
            if self._remains and self._remains[0].due_ms <= self._now_ms():
                return heapq.heappop(self._remains)
        return None


class _File:
    """A file that is not kept open."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path
