"""Makes the producer state of a partition from the newest sound snapshot and the log after it.

Rule: S-18, S-45 (ProducerStateManager, UnifiedLog.rebuildProducerState).
See: S-17.
"""

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from broker_lite.log.config import LogConfig
from broker_lite.log.files.batch_reader import read_valid
from broker_lite.log.files.names import SNAPSHOT_SUFFIX, segment_stem
from broker_lite.log.files.open_file import write_file
from broker_lite.log.files.segment import LogSegment
from broker_lite.log.producers.snapshot import CorruptSnapshot
from broker_lite.log.producers.state import ProducerStateManager
from broker_lite.log.recovery.recover_segment import replay
from broker_lite.record.batch import RecordBatch

logger = logging.getLogger("broker_lite.log")

_SNAPSHOT_SEGMENTS: Final = 2


class ProducerLoader:
    """Makes the producer state as of any offset, and writes and removes snapshot files.

    Attributes:
        state: as of the offset of the last load(), or up to which the user has replayed batches.
        snapshots: the offsets of the snapshot files.
    """

    def __init__(
        self, directory: str, config: LogConfig, checkpointed_start: int, now_ms: int
    ) -> None:
        """Begin with an empty state.

        Args:
            directory: of the partition.
            config: says when producers expire.
            checkpointed_start: the log start offset; snapshots and batches below it do not count.
            now_ms: the time, which decides which producers have expired.
        """
        self.state = ProducerStateManager()
        self.snapshots: list[int] = []
        self._directory = directory
        self._config = config
        self._start_offset = checkpointed_start
        self._now_ms = now_ms

    def load(self, segments: Sequence[LogSegment], end_offset: int) -> None:
        """Make the state as of an offset from the newest snapshot and the batches after it.

        If batches have to be read, the last two of their segments get snapshots.

        Raises:
            OSError: a file cannot be read or written.

        Rule: S-45 (UnifiedLog.rebuildProducerState).
        """
        self.state.clear()
        from_offset = self._load_newest_snapshot(end_offset)
        below = [segment for segment in segments if segment.base_offset < end_offset]
        for index, segment in enumerate(below):
            if index + 1 < len(below) and below[index + 1].base_offset <= from_offset:
                continue
            if index >= len(below) - _SNAPSHOT_SEGMENTS and segment.base_offset > from_offset:
                self.write_snapshot(segment.base_offset)
            for batch in read_valid(segment, limit=end_offset):
                if isinstance(batch, RecordBatch) and batch.last_offset >= from_offset:
                    replay(batch, self.state, None)

    def _load_newest_snapshot(self, end_offset: int) -> int:
        """Load the newest snapshot that is sound and above the log start.

        Returns:
            The snapshot's offset; the log start offset if there is none.
        """
        usable = [offset for offset in self.snapshots if self._start_offset < offset <= end_offset]
        for offset in sorted(usable, reverse=True):
            path = self._path(offset)
            try:
                self.state.load_snapshot(
                    path.read_bytes(), self._now_ms, self._config.producer_id_expiration_ms
                )
            except CorruptSnapshot as error:
                logger.warning("snapshot deleted path=%s reason=%s", path, error)
                self._drop(offset)
            else:
                return offset
        return self._start_offset

    def write_snapshot(self, offset: int) -> None:
        """Write a snapshot of the producer state as of `offset`.

        Raises:
            OSError: the file cannot be read or written.

        Rule: S-18 (ProducerStateManager.takeSnapshot).
        """
        if offset <= self._start_offset:
            return
        path = self._path(offset)
        data = self.state.to_snapshot()
        if offset not in self.snapshots:
            self.snapshots.append(offset)
        elif (
            path.read_bytes() == data
        ):  # the usual case; to read is ten times cheaper than to replace
            return
        write_file(str(path), data)

    def drop_strays(self, bases: Sequence[int], start_offset: int, end_offset: int) -> None:
        """Remove the snapshots that belong to no segment's base offset or lie outside of the log.

        The newest one stays if it is above the last base offset: a clean stop has written it.

        Raises:
            OSError: a file cannot be removed.

        Rule: S-18 (ProducerStateManager.removeStraySnapshots).
        """
        newest = max(self.snapshots, default=-1)
        for offset in list(self.snapshots):
            is_stray = offset not in bases and not offset == newest > bases[-1]
            if is_stray or not start_offset < offset <= end_offset:
                self._drop(offset)

    def _drop(self, offset: int) -> None:
        os.unlink(self._path(offset))
        self.snapshots.remove(offset)

    def _path(self, offset: int) -> Path:
        return Path(segment_stem(self._directory, offset) + SNAPSHOT_SUFFIX)
