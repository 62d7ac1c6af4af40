"""The segments of one log: which one holds an offset, and how the next one begins.

Each segment but the first has a snapshot of the producers beside it, as of its base offset.
"""

import logging
from bisect import bisect_right
from collections.abc import Callable

from broker_lite.errors import KafkaStorageError
from broker_lite.log.config import LogConfig
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.files.names import SNAPSHOT_SUFFIX, segment_stem
from broker_lite.log.files.open_file import create_file
from broker_lite.log.files.segment import LogSegment
from broker_lite.log.producers.state import ProducerStateManager
from broker_lite.log.roll import draw_jitter_ms

logger = logging.getLogger("broker_lite.log")


class Segments:
    """The segments of one log, in one directory.

    Attributes:
        directory: of the partition.
        cache: keeps the files open; used by the event loop's thread only.
        all: the segments by rising base offset, never empty. roll() changes the end of this list;
            take() puts another list in its place. So a thread can go on with the list it found.
        active: the last segment, which takes the appends.
        snapshot_offset: of the newest snapshot, 0 if there is none.
        is_being_cleaned: the cleaner is at work on the segments; nothing else may remove any.
        is_deleted: the topic is gone; a new topic of the same name may get the directory.
    """

    __slots__ = (
        "_bases",
        "active",
        "all",
        "cache",
        "directory",
        "is_being_cleaned",
        "is_deleted",
        "snapshot_offset",
    )

    def __init__(
        self,
        directory: str,
        cache: FileCache,
        segments: list[LogSegment],
        *,
        snapshot_offset: int = 0,
    ) -> None:
        self.directory = directory
        self.cache = cache
        self.all = segments
        self.active = segments[-1]
        self.snapshot_offset = snapshot_offset
        self.is_being_cleaned = False
        self.is_deleted = False
        self._bases = [segment.base_offset for segment in segments]

    @property
    def size_bytes(self) -> int:
        """The size of all .log files."""
        return sum(segment.size_bytes for segment in self.all)

    def holding(self, offset: int) -> LogSegment:
        """Find the segment with the largest base offset that is not above an offset.

        Returns:
            The first segment if all base offsets are above.
        """
        return self.all[max(bisect_right(self._bases, offset) - 1, 0)]

    def after(self, segment: LogSegment) -> LogSegment | None:
        """Find the segment that follows another one; None after the active one."""
        if segment is self.active:
            return None
        return self.all[bisect_right(self._bases, segment.base_offset)]

    # -- changes

    def use_cache(self, cache: FileCache) -> None:
        """Keep open files in another cache from now on; a thread may have loaded the log."""
        self.cache = cache
        for segment in self.all:
            segment.use_cache(cache)

    def take(self, segments: list[LogSegment]) -> None:
        """Replace the list of segments; the files are as removal.py has left them."""
        self.all = segments
        self._bases = [segment.base_offset for segment in segments]
        self.active = segments[-1]

    def roll(
        self, base_offset: int, producers: ProducerStateManager, config: LogConfig, now_ms: int
    ) -> LogSegment:
        """Begin a new active segment; it replaces an empty one of the same base offset.

        Args:
            base_offset: the log end offset.
            producers: as of the base offset.
            config: for the jitter.
            now_ms: the time at which the new segment begins.

        Raises:
            KafkaStorageError: the old segment is still active.

        See: S-31 (LocalLog.roll).
        """
        old = self.active
        segment = LogSegment(
            self.writable_directory(),
            base_offset,
            self.cache,
            created_ms=now_ms,
            jitter_ms=draw_jitter_ms(config),
        )
        try:
            old.save()
            self.take_snapshot(base_offset, producers)
            segment.create()
            old.close()
        except OSError as error:
            logger.warning("segment not rolled directory=%s reason=%s", self.directory, error)
            raise KafkaStorageError from error
        if old.base_offset == base_offset:
            self.all.pop()
            self._bases.pop()
        self.all.append(segment)
        self._bases.append(base_offset)
        self.active = segment
        return segment

    def take_snapshot(self, offset: int, producers: ProducerStateManager) -> None:
        """Write the producer state as of an offset, unless there is a snapshot of that offset.

        A crash may leave a part of the file. Its checksum shows that, and loading takes the
        snapshot before it (S-17).

        Raises:
            OSError: the snapshot was not written.
            KafkaStorageError: the log is deleted.

        See: S-18 (ProducerStateManager.takeSnapshot).
        """
        if offset > self.snapshot_offset:
            path = segment_stem(self.writable_directory(), offset) + SNAPSHOT_SUFFIX
            create_file(path, producers.to_snapshot())
            self.snapshot_offset = offset

    def close(self, end_offset: int, producers: ProducerStateManager) -> None:
        """Bring the files into the state of a clean stop; a flush has to follow.

        Args:
            end_offset: the log end offset.
            producers: as of the end offset.

        Raises:
            KafkaStorageError: the next start has to recover the log.

        See: S-47 (UnifiedLog.close).
        """
        self._end(self.active.close, end_offset, producers)

    def save(self, end_offset: int, producers: ProducerStateManager) -> None:
        """Bring the files into the state of a clean stop, as close(); the log goes on.

        Args:
            end_offset: the log end offset.
            producers: as of the end offset.

        Raises:
            KafkaStorageError: a file is not written.
        """
        self._end(self.active.save, end_offset, producers)

    def _end(
        self, save: Callable[[], None], end_offset: int, producers: ProducerStateManager
    ) -> None:
        try:
            save()
            # Loading takes a clean log without a snapshot for one without producers (S-45). An
            # empty snapshot for each of 10,000 logs would take longer than the second that a stop
            # may take.
            if len(producers) or self.snapshot_offset:
                self.take_snapshot(end_offset, producers)
        except OSError as error:
            raise KafkaStorageError from error

    # -- deletion

    def writable_directory(self) -> str:
        """Give the directory to a caller that writes into it.

        Raises:
            KafkaStorageError: the log is deleted.
        """
        if self.is_deleted:
            raise KafkaStorageError(f"{self.directory} is that of a deleted partition")
        return self.directory

    def delete(self) -> None:
        """Let every later access to the files fail: their names may come to belong to a new topic.

        Ranges that were read before stay readable.
        """
        self.is_deleted = True
        for segment in self.all:
            segment.mark_deleted()
