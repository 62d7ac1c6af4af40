"""Producer state when a partition is loaded: from the newest snapshot that is whole, and the log.

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
    """Makes the producer state as of any offset, and keeps the snapshot files in order.

    Attributes:
        state: as of the offset that was asked for last, or to which its user replayed.
        snapshots: offsets of the snapshot files.
    """

    def __init__(
        self, directory: str, config: LogConfig, checkpointed_start: int, now_ms: int
    ) -> None:
        """Begin without state.

        Args:
            directory: of the partition.
            config: when producers expire.
            checkpointed_start: what is below is of no interest.
            now_ms: for what has expired.
        """
        self.state = ProducerStateManager()
        self.snapshots: list[int] = []
        self._directory = directory
        self._config = config
        self._start_offset = checkpointed_start
        self._now_ms = now_ms

    def load(self, segments: Sequence[LogSegment], end_offset: int) -> None:
        """Bring the state up to an offset: the newest snapshot, then the batches after it.

        Where batches had to be read, the last two segments they are in get their snapshots.

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
        """Give the offset up to which the state is known; what is below the log start is not."""
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
        """Have a snapshot of the state, which is as of that offset.

        Raises:
            OSError: it cannot be read or written.

        Rule: S-18 (ProducerStateManager.takeSnapshot).
        """
        if offset <= self._start_offset:
            return
        path = self._path(offset)
        data = self.state.to_snapshot()
        if offset not in self.snapshots:
            self.snapshots.append(offset)
        elif path.read_bytes() == data:  # as usual; reading is ten times cheaper than replacing
            return
        write_file(str(path), data)

    def drop_strays(self, bases: Sequence[int], start_offset: int, end_offset: int) -> None:
        """Remove the snapshots that are of no segment's base, or outside of the log.

        The newest one stays where it is above the last segment's base: that of a clean stop.

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
