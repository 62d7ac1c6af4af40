"""Loads a partition from its directory, after a clean stop or an unclean one.

Rule: S-97, S-42, S-44, S-46 (LogLoader).
See: S-41, S-43, S-45.
"""

import logging
import os
from bisect import bisect_right
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from broker_lite.errors import KafkaStorageError
from broker_lite.log.config import LogConfig
from broker_lite.log.epoch_file import EpochFile
from broker_lite.log.files import txn_index_checks
from broker_lite.log.files.batch_reader import SegmentOverflow
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.files.index import RELATIVE_OFFSET_MAX
from broker_lite.log.files.index_checks import find_end
from broker_lite.log.files.leader_epochs import LeaderEpochCache
from broker_lite.log.files.names import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    parse_segment_file,
    segment_stem,
)
from broker_lite.log.files.segment import LogSegment
from broker_lite.log.log import Log
from broker_lite.log.parts import LogParts
from broker_lite.log.producers.state import ProducerStateManager
from broker_lite.log.recovery.epoch_loading import load_epochs
from broker_lite.log.recovery.load_watch import NOBODY, LoadWatch
from broker_lite.log.recovery.producer_loading import ProducerLoader
from broker_lite.log.recovery.recover_segment import recover_segment
from broker_lite.log.recovery.splitting import split_segment
from broker_lite.log.recovery.temporary_files import finish_interrupted_changes
from broker_lite.log.roll import draw_jitter_ms
from broker_lite.log.segments import Segments

logger = logging.getLogger("broker_lite.log")


class LoadRequest(NamedTuple):
    """The facts about a partition that are known before its directory is read.

    Attributes:
        log_start_offset: of the checkpoint, None if the checkpoint has none.
        is_clean: the last stop was clean, so that no batches have to be read.
        watch: follows the recovery, and can end it.
    """

    topic: str
    partition: int
    directory: str
    config: LogConfig
    recovery_point: int = 0
    log_start_offset: int | None = None
    is_clean: bool = True
    watch: LoadWatch = NOBODY


def load_log(request: LoadRequest, cache: FileCache, *, now_ms: int) -> Log:
    """Load a partition; after an unclean stop, recover it from the recovery point on.

    Raises:
        KafkaStorageError: a file cannot be read or written.
    """
    try:
        while True:
            try:
                return _Loader(request, cache, now_ms).load()
            except SegmentOverflow as overflow:
                split_segment(request.directory, overflow)
                cache.discard_directory(request.directory)
    except OSError as error:
        raise KafkaStorageError from error


def new_log(
    request: LoadRequest,
    cache: FileCache,
    first_use: Callable[[Log], None],
    *,
    now_ms: int,
) -> Log:
    """Make the log of a partition without files; the first append makes them.

    Args:
        request: without offsets.
        cache: keeps the files open.
        first_use: see Log.
        now_ms: the time.

    Rule: S-46 (LogLoader.load).
    """
    segment = LogSegment(
        request.directory,
        0,
        cache,
        created_ms=now_ms,
        jitter_ms=draw_jitter_ms(request.config),
    )
    segment.begin()
    epochs = LeaderEpochCache()
    parts = LogParts(
        request.topic,
        request.partition,
        request.config,
        Segments(request.directory, cache, [segment]),
        epochs,
        EpochFile(epochs, is_new=True),
        ProducerStateManager(),
        log_start_offset=0,
        log_end_offset=0,
        recovery_point=0,
        loaded_ms=now_ms,
    )
    return Log(parts, first_use)


class _Loader:
    """The steps of loading one partition, with the state that they share."""

    def __init__(self, request: LoadRequest, cache: FileCache, now_ms: int) -> None:
        self.request = request
        self.config = request.config
        self.directory = request.directory
        self.cache = cache
        self.now_ms = now_ms
        self.watch = request.watch
        self.checkpointed_start = request.log_start_offset or 0
        self.segments: list[LogSegment] = []
        self.incomplete: set[int] = set()
        # End offsets of the recovered segments, by base offset.
        self.recovered: dict[int, int] = {}
        # The producer state is as of the end of this segment; None: of no end in particular.
        self.replayed: LogSegment | None = None
        self.producers = ProducerLoader(
            self.directory, self.config, self.checkpointed_start, now_ms
        )
        self.epochs = LeaderEpochCache()

    def load(self) -> Log:
        """Rule: S-42, S-44, S-46 (LogLoader.load).

        See: S-43, S-45.
        """
        self._open_segments()
        self.epochs = load_epochs(self.directory, self.segments[: self._first_unflushed()])
        saved_epochs = self.epochs.entries
        self._recover_suspects()
        if not self.request.is_clean:
            self._recover_unflushed()
        end_offset = self._end_offset()
        was_trusted = not self.recovered
        if not self.segments or end_offset < self.checkpointed_start:
            end_offset = self._begin_anew()
        recovery_point = self.request.recovery_point
        if end_offset < recovery_point:
            # records that were on disk are gone; the checkpoint is written anew soon
            logger.error(
                "records are lost directory=%s end_offset=%d were_on_disk_to=%d",
                self.directory,
                end_offset,
                recovery_point,
            )
        start_offset = max(self.checkpointed_start, self.segments[0].base_offset)
        self.segments[-1].open_for_append()
        self._load_producers(start_offset, end_offset)
        snapshot_offset = max(self.producers.snapshots, default=0)
        epoch_file = EpochFile(self.epochs)
        log = Log(
            LogParts(
                self.request.topic,
                self.request.partition,
                self.config,
                Segments(
                    self.directory, self.cache, self.segments, snapshot_offset=snapshot_offset
                ),
                self.epochs,
                epoch_file,
                self.producers.state,
                start_offset,
                end_offset,
                end_offset if was_trusted else min(recovery_point, end_offset),
                self.now_ms,
            )
        )
        # Not before: the log has to know the newest epoch, even if no batch is of that epoch.
        epoch_file.fit(self.directory, start_offset, end_offset, saved_epochs)
        return log

    # -- S-42: which segments there are

    def _open_segments(self) -> None:
        files: dict[int, dict[str, int]] = {}
        for name, size_bytes in finish_interrupted_changes(self.directory).items():
            parsed = parse_segment_file(name)
            if parsed is not None:
                files.setdefault(parsed[0], {})[parsed[1]] = size_bytes
        for base_offset, sizes in sorted(files.items()):
            if SNAPSHOT_SUFFIX in sizes:
                self.producers.snapshots.append(base_offset)
            if LOG_SUFFIX in sizes:
                self.segments.append(self._open_segment(base_offset, sizes))
            else:
                self._remove_indexes(base_offset)

    def _open_segment(self, base_offset: int, sizes: dict[str, int]) -> LogSegment:
        segment = self._new_segment(base_offset, sizes)
        segment.forget_max_timestamp()
        if TIME_INDEX_SUFFIX not in sizes:
            segment.time_index.create()
            segment.time_index.close()
        if INDEX_SUFFIX not in sizes:
            self.incomplete.add(base_offset)
        return segment

    def _new_segment(self, base_offset: int, sizes: dict[str, int]) -> LogSegment:
        return LogSegment(
            self.directory,
            base_offset,
            self.cache,
            created_ms=self.now_ms,
            jitter_ms=draw_jitter_ms(self.config),
            size_bytes=sizes.get(LOG_SUFFIX, 0),
            index_bytes=sizes.get(INDEX_SUFFIX, 0),
            time_index_bytes=sizes.get(TIME_INDEX_SUFFIX, 0),
            has_transaction_index=TRANSACTION_INDEX_SUFFIX in sizes,
        )

    def _remove_indexes(self, base_offset: int) -> None:
        stem = segment_stem(self.directory, base_offset)
        for suffix in (INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX):
            with suppress(FileNotFoundError):
                os.unlink(stem + suffix)

    # -- S-15, S-44: what has to be recovered

    def _recover_suspects(self) -> None:
        """Recover each segment whose indexes show that it cannot be trusted.

        After an unclean stop, all segments from the recovery point on are recovered anyway.

        Rule: S-15, S-42 (LogLoader.loadSegmentFiles).
        """
        for index, segment in enumerate(self.segments[: self._first_unflushed()]):
            is_complete = segment.base_offset not in self.incomplete
            if (
                not is_complete
                or not self._fits(index)
                or not txn_index_checks.is_true(self.segments, index)
            ):
                logger.warning("segment recovered for its indexes path=%s", segment.path)
                self.watch.expect(1, segment.size_bytes)
                self._recover(index)

    def _fits(self, index: int) -> bool:
        """Tell whether all offsets of a segment are within 31 bits of its base offset.

        That is rarely in doubt. The end of the last segment is found by _end_offset() anyway.

        Rule: S-42 (LogSegment.hasOverflow).
        """
        following = self.segments[index + 1 : index + 2]
        if not following or _is_within(self.segments[index], following[0].base_offset):
            return True
        end_offset = find_end(self.segments[index])
        return end_offset is None or _is_within(self.segments[index], end_offset)

    def _first_unflushed(self) -> int:
        """Find the first segment that may not be on disk: after a clean stop, there is none.

        Returns:
            The index of the segment with the recovery point; after a clean stop, of the end.
        """
        if self.request.is_clean:
            return len(self.segments)
        bases = [segment.base_offset for segment in self.segments]
        return max(bisect_right(bases, self.request.recovery_point) - 1, 0)

    def _recover_unflushed(self) -> None:
        """Recover the segments from the recovery point on; one that is cut becomes the last.

        Rule: S-44 (LogLoader.recoverLog).
        """
        first = self._first_unflushed()
        unflushed = self.segments[first:]
        self.watch.expect(len(unflushed), sum(segment.size_bytes for segment in unflushed))
        for index in range(first, len(self.segments)):
            if self._recover(index):
                self._remove_segments(index + 1)
                return

    def _recover(self, index: int) -> int:
        """Recover one segment.

        Returns:
            How many bytes were cut off.

        See: S-43 (LogLoader.recoverSegment).
        """
        segment = self.segments[index]
        before = self.segments[index - 1] if index else None
        if before is None or self.replayed is not before:
            self.producers.load(self.segments[:index], segment.base_offset)
        self.producers.write_snapshot(segment.base_offset)
        following = self.segments[index + 1] if index < len(self.segments) - 1 else None
        end_offset, cut_bytes = recover_segment(
            segment,
            self.config,
            self.epochs,
            self.producers.state,
            limit=following.base_offset if following is not None else None,
            tell=self.watch.read,
        )
        if following is not None:
            segment.close()
        self.producers.write_snapshot(end_offset)
        self.replayed = segment
        self.recovered[segment.base_offset] = end_offset
        self.watch.finish_segment()
        return cut_bytes

    def _end_offset(self) -> int:
        """Find the log end offset; recover the last segment if its files contradict each other.

        Rule: S-44 (LogSegment.readNextOffset).
        """
        if not self.segments:
            return 0
        last = self.segments[-1]
        if last.base_offset not in self.recovered:
            end_offset = find_end(last)
            if end_offset is not None and _is_within(last, end_offset):
                return end_offset
            logger.warning("segment recovered for what it ends with path=%s", last.path)
            self.watch.expect(1, last.size_bytes)
            self._recover(len(self.segments) - 1)
        return self.recovered[last.base_offset]

    def _remove_segments(self, first: int = 0) -> None:
        for segment in self.segments[first:]:
            logger.warning("segment deleted path=%s", segment.path)
            self.cache.discard(segment.path)
            os.unlink(segment.path)
            self._remove_indexes(segment.base_offset)
        del self.segments[first:]

    def _begin_anew(self) -> int:
        """Replace all segments by an empty one.

        Rule: S-46 (LogLoader.load).
        """
        self._remove_segments()
        self.epochs.clear()
        segment = self._new_segment(self.checkpointed_start, {})
        segment.create()
        self.segments.append(segment)
        return self.checkpointed_start

    # -- S-18, S-45: producer state

    def _load_producers(self, start_offset: int, end_offset: int) -> None:
        """Make the producer state as of the log end offset, and write a snapshot of it."""
        bases = [segment.base_offset for segment in self.segments]
        self.producers.drop_strays(bases, start_offset, end_offset)
        if not self.recovered and not self.producers.snapshots:
            return  # a clean stop leaves no snapshot where there are no producers
        if self.replayed is not self.segments[-1]:
            self.producers.load(self.segments, end_offset)
        self.producers.write_snapshot(end_offset)


def _is_within(segment: LogSegment, end_offset: int) -> bool:
    """Tell whether the offsets below an end fit the 31 bits above the segment's base offset."""
    return end_offset - 1 - segment.base_offset <= RELATIVE_OFFSET_MAX
