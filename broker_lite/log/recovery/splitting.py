"""Splits a segment, while it is loaded, if its offsets do not fit the 31 bits above its base.

No broker of today writes such a segment, but the cleaner of Kafka before 1.0 did. The part that
does not fit becomes a segment of its own. Then the log is loaded again; that makes the indexes of
both segments, and splits the new one if it does not fit either.

See: S-42 (LogLoader.retryOnOffsetOverflow, LocalLog.splitOverflowedSegment).
"""

import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from broker_lite.log.files.batch_reader import SegmentOverflow
from broker_lite.log.files.checkpoints import sync_directory
from broker_lite.log.files.names import CLEANED_SUFFIX, LOG_SUFFIX, SWAP_SUFFIX, segment_stem
from broker_lite.log.files.open_file import CREATE, OpenFile

logger = logging.getLogger("broker_lite.log")

_COPY_BYTES: Final = 1 << 20


def split_segment(directory: str, overflow: SegmentOverflow) -> None:
    """Write both parts beside the segment; the next load puts them into its place (S-41).

    A crash at any point leaves either the segment or both parts. The part that begins the range is
    renamed last, and from then on a load replaces the segment.

    Args:
        directory: of the partition; nobody may read the segment meanwhile.
        overflow: says where to split the segment.

    Raises:
        OSError: a file cannot be read or written; the next load finds the segment, or both parts.
    """
    source, position = overflow.segment, overflow.position
    logger.warning(
        "segment split path=%s position=%d offset=%d", source.path, position, overflow.first_offset
    )
    head = segment_stem(directory, source.base_offset) + LOG_SUFFIX
    tail = segment_stem(directory, overflow.first_offset) + LOG_SUFFIX
    try:
        _copy(source.path, 0, position, head + CLEANED_SUFFIX)
        _copy(source.path, position, source.size_bytes, tail + CLEANED_SUFFIX)
        os.rename(tail + CLEANED_SUFFIX, tail + SWAP_SUFFIX)
        # If only the next name got to the disk, the head alone would replace the segment.
        sync_directory(Path(directory))
        os.rename(head + CLEANED_SUFFIX, head + SWAP_SUFFIX)
    except BaseException:
        # The head is removed last. While it exists, a load removes the tail under either name.
        for path in (tail + SWAP_SUFFIX, tail + CLEANED_SUFFIX, head + CLEANED_SUFFIX):
            with suppress(FileNotFoundError):
                os.unlink(path)
        raise
    sync_directory(Path(directory))


def _copy(path: str, start: int, end: int, to: str) -> None:
    """Copy a range of a file into a new file with the same times, and make that durable."""
    source, target = OpenFile(path), OpenFile(to, CREATE)
    for position in range(start, end, _COPY_BYTES):
        data = source.read_at(position, min(_COPY_BYTES, end - position))
        target.write(data, position - start)
    status = os.fstat(source.fd)
    os.utime(target.fd, ns=(status.st_atime_ns, status.st_mtime_ns))
    target.sync()
