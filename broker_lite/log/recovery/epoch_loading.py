"""Reads the leader epochs of a partition that is loaded.

See: S-60, S-61.
"""

import logging
from collections.abc import Sequence
from pathlib import Path

from broker_lite.log.files.checkpoints import CorruptCheckpoint, read_file
from broker_lite.log.files.leader_epochs import FILE_NAME, LeaderEpochCache
from broker_lite.log.files.segment import LogSegment
from broker_lite.record.framing import CURRENT_MAGIC, MAGIC_OFFSET

logger = logging.getLogger("broker_lite.log")


def load_epochs(directory: str, trusted: Sequence[LogSegment]) -> LeaderEpochCache:
    """Read the file of the leader epochs; log it if epochs are lost.

    Args:
        directory: of the partition.
        trusted: the segments that recovery does not read, where it would find the epochs again.

    Returns:
        No epochs if the file is damaged or missing.

    Raises:
        OSError: a file cannot be read.
    """
    try:
        text = read_file(Path(directory, FILE_NAME))
        if not text and _hold_batches(trusted):
            raise CorruptCheckpoint(f"{FILE_NAME} is {'missing' if text is None else 'empty'}")
        return LeaderEpochCache.from_text(text or "")
    except CorruptCheckpoint as error:
        logger.warning("leader epochs dropped directory=%s reason=%s", directory, error)
        return LeaderEpochCache()


def _hold_batches(segments: Sequence[LogSegment]) -> bool:
    """Tell whether segments hold batches; messages of older formats have no leader epoch."""
    filled = [segment for segment in segments if segment.size_bytes]
    if not filled:
        return False
    return filled[-1].file().read_at(MAGIC_OFFSET, 1) == bytes([CURRENT_MAGIC])
