"""The one way by which segments leave a log: retention takes the oldest, the cleaner replaces some.

In the event loop, at once: the files get the suffix .deleted, the list of segments changes, and the
log start offset, leader epochs and producer snapshots follow. Nothing in it waits, so no reader in
the loop sees half of it. A reader that was given a range keeps the open file.

In a worker thread, after file.delete.delay.ms: the files are unlinked. A crash before that leaves
them to the next load of the log, which removes what is .deleted (S-41).
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

# Measured: a segment with its four files costs 90 us of one core, 200 to 400 us on a busy disk.
REMOVED_AT_A_TIME: Final = 8
# A stop waits for a thread that has begun.
_REMAINS_AT_A_TIME: Final = 16


class _HasPath(Protocol):
    """A segment or one of its indexes."""

    path: str


class _Remains(NamedTuple):
    """Files that have their .deleted names, in the order in which they are due."""

    due_ms: int
    number: int
    directory: str
    paths: list[str]


class SegmentRemoval:
    """Removes and replaces segments of the logs of one data directory.

    Of the event loop's thread, but for unlink_due().
    """

    __slots__ = ("_cache", "_lock", "_now_ms", "_numbers", "_remains")

    def __init__(self, cache: FileCache, now_ms: Callable[[], int]) -> None:
        """Begin with nothing to unlink.

        Args:
            cache: that of the logs.
            now_ms: the clock.
        """
        self._cache = cache
        self._now_ms = now_ms
        self._lock = Lock()
        self._numbers = count()
        self._remains: list[_Remains] = []

    # -- in the event loop

    def remove_oldest(self, log: Log, segment_count: int) -> None:
        """Remove the oldest segments; when that is all of them, a new one is begun first.

        A long list is removed in steps of REMOVED_AT_A_TIME, with the loop's turn between them.

        Args:
            log: not being cleaned.
            segment_count: at least 1; an empty active segment is not among them.

        Raises:
            KafkaStorageError: the log is deleted, or not all of them went.

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
        """Put what the cleaner made of some segments into their place.

        From here on the replacement counts, also after a crash at any point: as long as a source
        has its name, all new files keep theirs with .swap, which the next load finishes (S-41).

        Args:
            log: which is being cleaned, so that nothing else changes the list but rolls.
            old: neighbours in the log's list, without the active segment.
            new: closed, by rising base offset, in the range of the old ones; their files are
                complete, durable and named .swap, their paths are the plain ones.

        Raises:
            KafkaStorageError: the log was deleted, and nothing was replaced; or not all files could
                be renamed: the new segments are served, and recovery finishes it.

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
        """Rename a segment's files and give their new paths.

        The .log file comes first: what is left beside it by a crash goes when the log is loaded.

        Raises:
            OSError: the segment's .log file keeps its name.

        Rule: S-54 (LocalLog.deleteSegmentFiles, ProducerStateManager).
        See: S-04.
        """
        segment.is_removed = True  # a flush that runs beside this may not find the file any more
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
        except OSError as error:  # the load of a log removes what belongs to no .log file
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
        """Give a new segment's files their plain names, unless something failed before."""
        parts: tuple[_HasPath, ...] = (
            segment,  # first: indexes with .swap, but no log with it, are renamed by the next load
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
        """Unlink some of the files whose delay is over; may run in a worker thread.

        Rule: S-54 (LogSegment.deleteIfExists).
        """
        for _ in range(_REMAINS_AT_A_TIME):
            remains = self._next_due()
            if remains is None:
                return
            try:
                # First the names of what replaced them: these files may be all that tells it.
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
    """A file that nobody keeps open."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path
