"""Loading a partition from its directory, after a clean stop or an unclean one.

Rule: S-41 to S-46 (LogLoader).
"""

import logging
import os
from bisect import bisect_right
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from broker_lite.errors import CorruptMessage, KafkaStorageError
from broker_lite.log.checkpoints import CorruptCheckpoint, read_file
from broker_lite.log.config import LogConfig
from broker_lite.log.files import FileCache, write_file
from broker_lite.log.leader_epochs import FILE_NAME as EPOCH_FILE
from broker_lite.log.leader_epochs import LeaderEpochCache
from broker_lite.log.local_log import LocalLog, LogParts
from broker_lite.log.log import Log
from broker_lite.log.names import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    parse_segment_file,
    segment_stem,
)
from broker_lite.log.producer_snapshot import CorruptSnapshot
from broker_lite.log.producer_state import ProducerStateManager
from broker_lite.log.recovery import read_batches, recover_segment, replay
from broker_lite.log.roll import draw_jitter_ms
from broker_lite.log.segment import LogSegment
from broker_lite.log.temporary_files import finish_interrupted_changes
from broker_lite.log.txn_index import CorruptTransactionIndex
from broker_lite.log.walk import walk

logger = logging.getLogger("broker_lite.log")


class LoadRequest(NamedTuple):
    """What is known of a partition before its directory is read.

    Attributes:
        log_start_offset: of the checkpoint, None when it names none.
        is_clean: the last stop was clean, so that nothing is walked.
    """

    topic: str
    partition: int
    directory: str
    config: LogConfig
    recovery_point: int = 0
    log_start_offset: int | None = None
    is_clean: bool = True


def load_log(request: LoadRequest, cache: FileCache, *, now_ms: int) -> Log:
    """Load a partition; an unclean one is recovered from the recovery point on.

    Raises:
        KafkaStorageError: a file cannot be read or written.
    """
    try:
        return _Loader(request, cache, now_ms).load()
    except OSError as error:
        raise KafkaStorageError from error


def new_log(
    request: LoadRequest,
    cache: FileCache,
    first_use: Callable[[LocalLog], None],
    *,
    now_ms: int,
) -> Log:
    """Make the log of a partition that nothing was ever written to; its directory is not looked at.

    Args:
        request: without offsets.
        cache: of open files.
        first_use: see LogParts; the files are made by the first append.
        now_ms: as in load_log.

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
    return Log(
        LogParts(
            request.topic,
            request.partition,
            request.directory,
            request.config,
            cache,
            [segment],
            LeaderEpochCache(),
            ProducerStateManager(),
            log_start_offset=0,
            log_end_offset=0,
            recovery_point=0,
            snapshot_offset=0,
            loaded_ms=now_ms,
            first_use=first_use,
        )
    )


class _Loader:
    """The steps of loading one partition, in order, with what they hand on."""

    def __init__(self, request: LoadRequest, cache: FileCache, now_ms: int) -> None:
        self.request = request
        self.config = request.config
        self.directory = request.directory
        self.cache = cache
        self.now_ms = now_ms
        self.end_offset = 0
        self.incomplete: set[int] = set()
        self.snapshots: list[int] = []
        self.state = ProducerStateManager()
        self.epochs = LeaderEpochCache()

    def load(self) -> Log:
        """Rule: S-42 to S-46 (LogLoader.load)."""
        checkpointed_start = self.request.log_start_offset or 0
        segments = self._open_segments()
        self._read_epochs()
        saved_epochs = self.epochs.entries
        first = self._first_to_recover(segments)
        end_offset = self.end_offset if first is None else self._recover_from(segments, first)
        if not segments or end_offset < checkpointed_start:
            end_offset = self._begin_anew(segments, checkpointed_start)
        start_offset = max(checkpointed_start, segments[0].base_offset)
        segments[-1].open_for_append()
        self._drop_snapshots(segments, start_offset, end_offset)
        if first is None and self.snapshots:
            # A clean log without any is one whose producers are of no interest any more.
            self._load_producers(segments, end_offset)
        recovery_point = self.request.recovery_point
        log = Log(
            LogParts(
                self.request.topic,
                self.request.partition,
                self.directory,
                self.config,
                self.cache,
                segments,
                self.epochs,
                self.state,
                start_offset,
                end_offset,
                end_offset if first is None else min(recovery_point, end_offset),
                max(self.snapshots, default=0),
                self.now_ms,
            )
        )
        log.fit_epochs(saved_epochs)
        if first is not None:
            log.take_snapshot(end_offset)
        return log

    # -- S-42: which segments there are

    def _open_segments(self) -> list[LogSegment]:
        files: dict[int, dict[str, int]] = {}
        for name, size_bytes in finish_interrupted_changes(self.directory).items():
            parsed = parse_segment_file(name)
            if parsed is not None:
                files.setdefault(parsed[0], {})[parsed[1]] = size_bytes
        segments = []
        for base_offset, sizes in sorted(files.items()):
            if SNAPSHOT_SUFFIX in sizes:
                self.snapshots.append(base_offset)
            if LOG_SUFFIX in sizes:
                segments.append(self._open_segment(base_offset, sizes))
            else:
                self._remove_indexes(base_offset)
        return segments

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

    def _read_epochs(self) -> None:
        try:
            text = read_file(Path(self.directory, EPOCH_FILE))
            self.epochs = LeaderEpochCache.from_text(text or "")
        except CorruptCheckpoint as error:
            logger.warning("leader epochs dropped directory=%s reason=%s", self.directory, error)

    # -- S-15, S-44: what has to be recovered

    def _first_to_recover(self, segments: list[LogSegment]) -> int | None:
        """Give the index of the first segment that cannot be trusted; None sets end_offset."""
        if not segments:
            return None
        candidates = [i for i, segment in enumerate(segments) if self._is_suspect(segment)]
        if not self.request.is_clean:
            bases = [segment.base_offset for segment in segments]
            candidates.append(max(bisect_right(bases, self.request.recovery_point) - 1, 0))
        elif not candidates and not self._find_end(segments[-1]):
            candidates.append(len(segments) - 1)
        return min(candidates, default=None)

    def _is_suspect(self, segment: LogSegment) -> bool:
        """Rule: S-15 (LogSegment.sanityCheck)."""
        if segment.base_offset in self.incomplete:
            return True
        try:
            segment.transaction_index.check(segment.base_offset)
        except CorruptTransactionIndex:
            return True
        return False

    def _find_end(self, segment: LogSegment) -> bool:
        """Find the log end offset by the last segment; False if its files contradict each other."""
        entry = segment.offset_index.last_entry()
        position, end_offset = 0, segment.base_offset
        if entry is not None:
            position = entry.value
            # The first batch has no entry, so zeros are room that a crashed server left (S-12).
            if entry.key <= 0 or position >= segment.size_bytes:
                return False
        try:
            for place in walk(segment.file(), position, segment.size_bytes):
                position, end_offset = place.position + place.size_bytes, place.last_offset + 1
        except CorruptMessage:
            return False
        self.end_offset = end_offset
        return position == segment.size_bytes

    def _recover_from(self, segments: list[LogSegment], first: int) -> int:
        """Recover the segments from an index on; give the log end offset.

        Rule: S-44 (LogLoader.recoverLog).
        """
        self._load_producers(segments, segments[first].base_offset)
        end_offset = segments[first].base_offset
        for index in range(first, len(segments)):
            segment = segments[index]
            end_offset, cut_bytes = recover_segment(segment, self.config, self.epochs, self.state)
            if cut_bytes and end_offset == segment.base_offset:
                # What was replayed before it turned out to be unusable must not count.
                self._load_producers(segments, end_offset)
            if index < len(segments) - 1 and not cut_bytes:
                segment.close()
            self._write_snapshot(end_offset)
            if cut_bytes:
                self._remove_segments(segments[index + 1 :])
                del segments[index + 1 :]
                break
        return end_offset

    def _remove_segments(self, segments: list[LogSegment]) -> None:
        for segment in segments:
            logger.warning("segment deleted path=%s", segment.path)
            self.cache.discard(segment.path)
            os.unlink(segment.path)
            self._remove_indexes(segment.base_offset)

    def _begin_anew(self, segments: list[LogSegment], start_offset: int) -> int:
        """Replace everything by one empty segment.

        Rule: S-46 (LogLoader.load).
        """
        self._remove_segments(segments)
        self.epochs.clear()
        self.state.clear()
        segment = self._new_segment(start_offset, {})
        segment.create()
        segments[:] = [segment]
        return start_offset

    # -- S-18, S-45: producer state

    def _drop_snapshots(
        self, segments: list[LogSegment], start_offset: int, end_offset: int
    ) -> None:
        bases = {segment.base_offset for segment in segments}
        newest = max(self.snapshots, default=-1)
        for offset in list(self.snapshots):
            is_stray = offset not in bases and not offset == newest > segments[-1].base_offset
            if is_stray or not start_offset < offset <= end_offset:
                self._drop_snapshot(offset)

    def _drop_snapshot(self, offset: int) -> None:
        os.unlink(segment_stem(self.directory, offset) + SNAPSHOT_SUFFIX)
        self.snapshots.remove(offset)

    def _write_snapshot(self, offset: int) -> None:
        if offset == 0:
            return
        path = Path(segment_stem(self.directory, offset) + SNAPSHOT_SUFFIX)
        data = self.state.to_snapshot()
        if offset not in self.snapshots:
            self.snapshots.append(offset)
        elif path.read_bytes() == data:  # as usual; reading is ten times cheaper than replacing
            return
        write_file(str(path), data)

    def _load_producers(self, segments: list[LogSegment], end_offset: int) -> None:
        """Bring the producer state up to an offset: the newest snapshot, then the batches after it.

        Rule: S-45 (UnifiedLog.rebuildProducerState).
        """
        self.state.clear()
        from_offset = self._load_newest_snapshot(end_offset)
        for segment, following in zip(segments, [*segments[1:], None], strict=True):
            if segment.base_offset >= end_offset:
                return
            if following is not None and following.base_offset <= from_offset:
                continue
            found = segment.find(from_offset) if from_offset > segment.base_offset else (0, 0)
            for batch in read_batches(segment, found[0] if found else segment.size_bytes):
                replay(batch, self.state, None)

    def _load_newest_snapshot(self, end_offset: int) -> int:
        """Give the offset up to which the state is known; what is below the log start is not."""
        start_offset = self.request.log_start_offset or 0
        usable = [offset for offset in self.snapshots if start_offset < offset <= end_offset]
        for offset in sorted(usable, reverse=True):
            path = Path(segment_stem(self.directory, offset) + SNAPSHOT_SUFFIX)
            try:
                self.state.load_snapshot(
                    path.read_bytes(), self.now_ms, self.config.producer_id_expiration_ms
                )
            except CorruptSnapshot as error:
                logger.warning("snapshot deleted path=%s reason=%s", path, error)
                self._drop_snapshot(offset)
            else:
                return offset
        return start_offset
