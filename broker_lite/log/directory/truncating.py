"""Cuts the ends of partitions' logs; the next use loads a log anew."""

from broker_lite.log.directory.offset_checkpoints import OffsetCheckpoints
from broker_lite.log.directory.partitions import Partition
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.log import Log
from broker_lite.log.truncation import cut_files


def cut_end(
    log: Log, entry: Partition, offset: int, *, checkpoints: OffsetCheckpoints, cache: FileCache
) -> None:
    """Cut the end of a log, and forget the log.

    The checkpoint is written first: whenever a crash comes, the next start recovers all that the
    cut may have touched, and what is appended after it.

    Args:
        log: of the partition; is not used any more afterwards.
        entry: of the partition.
        offset: at least the log start offset, and below the log end offset.
        checkpoints: of all partitions.
        cache: the open files.

    Raises:
        KafkaStorageError: the files are cut in part; the next use recovers what is left.

    See: C-52 (LogManager.truncateTo).
    """
    base_offset = log.segments.holding(offset).base_offset
    entry.note_offsets()
    entry.log, entry.is_clean, entry.is_new = None, False, False
    entry.recovery_point = min(entry.recovery_point, base_offset)
    entry.high_watermark = min(entry.high_watermark, offset)
    try:
        checkpoints.write()
        cut_files(log, offset)
    finally:
        cache.discard_directory(log.directory)
        log.delete()
