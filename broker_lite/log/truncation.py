"""Cutting the end of a log, when a replica that lacks it becomes the leader.

Only the files are cut. The log has to be loaded anew, as after a crash: that rebuilds the indexes,
the producers' state and the leader epochs.
"""

import os
from pathlib import Path

from broker_lite.errors import CorruptMessage, KafkaStorageError
from broker_lite.log.files.checkpoints import sync_directory
from broker_lite.log.files.copying import unshare
from broker_lite.log.files.names import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    segment_stem,
)
from broker_lite.log.files.open_file import sync_file
from broker_lite.log.log import Log

_INDEXES = (INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)


def cut_files(log: Log, offset: int) -> None:
    """Cut the files of a log in front of the first batch that reaches an offset.

    The segment that holds the offset loses its indexes, so the log has to be recovered from the
    base offset of that segment on.

    Args:
        log: is not used any more afterwards.
        offset: at least the log start offset.

    Raises:
        KafkaStorageError: the files are cut in part; to cut them again is safe.

    Rule: C-52 (UnifiedLog.truncateTo).
    """
    segments = log.segments
    kept = segments.holding(offset)
    try:
        for segment in reversed(segments.all):  # the newest first: a crash leaves no gap
            if segment.base_offset > kept.base_offset:
                _remove(segments.directory, segment.base_offset, (LOG_SUFFIX, *_INDEXES))
        found = kept.find(offset)
        if found is not None:
            unshare(kept.path)
            os.truncate(kept.path, found[0])
            sync_file(kept.path)
        _remove(segments.directory, kept.base_offset, _INDEXES)
        for path in Path(segments.directory).glob(f"*{SNAPSHOT_SUFFIX}"):
            if path.stem.isdigit() and int(path.stem) > kept.base_offset:
                path.unlink()
        sync_directory(Path(segments.directory))
    except (OSError, CorruptMessage) as error:
        raise KafkaStorageError from error


def size_below(log: Log, offset: int) -> int:
    """Return how many bytes of the .log files cut_files() would leave.

    Raises:
        KafkaStorageError: a file cannot be read.
    """
    segments = log.segments
    if offset >= log.log_end_offset:
        return segments.size_bytes  # of an empty log there is no file yet
    last = segments.holding(offset)
    try:
        found = last.find(offset)
    except (OSError, CorruptMessage) as error:
        raise KafkaStorageError from error
    older = (each.size_bytes for each in segments.all if each.base_offset < last.base_offset)
    return sum(older) + (last.size_bytes if found is None else found[0])


def _remove(directory: str, base_offset: int, suffixes: tuple[str, ...]) -> None:
    for suffix in suffixes:
        Path(segment_stem(directory, base_offset) + suffix).unlink(missing_ok=True)
