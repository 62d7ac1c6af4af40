"""What retention needs to know about a log that is not loaded, read without loading it."""

import os
from contextlib import suppress
from typing import Final, NamedTuple

from broker_lite.log.config import LogConfig
from broker_lite.log.files.index import TimeIndex
from broker_lite.log.files.names import (
    DELETED_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    parse_segment_file,
    segment_stem,
)
from broker_lite.log.files.open_file import OpenFile

_ENTRY_BYTES: Final = TimeIndex.ENTRY.size
_INT64_MAX: Final = (1 << 63) - 1


class IdleSegment(NamedTuple):
    """What retention needs to know about a segment, or about several segments together."""

    base_offset: int
    size_bytes: int
    timestamp_ms: int

    def largest_timestamp(self) -> int:
        """Return the largest timestamp of the records; the file's time if they have none.

        See: S-23 (LogSegment.largestTimestamp).
        """
        return self.timestamp_ms


# The oldest segment, and all others as one. That is enough, because retention only asks whether the
# oldest one is due.
IdleSegments = tuple[IdleSegment, ...]


class IdleLog(NamedTuple):
    """A log that is not loaded. All of it is committed, so no offset limits retention."""

    segments: IdleSegments
    config: LogConfig
    log_start_offset: int
    high_watermark: int = _INT64_MAX
    log_end_offset: int = _INT64_MAX


def read_idle_segments(directory: str) -> IdleSegments:
    """Read sizes and timestamps of a log that was stopped cleanly.

    Also removes .deleted files that the broker did not remove before it stopped.

    Returns:
        The oldest segment, and the others as one; empty if there is no segment.

    Raises:
        OSError: the directory or a file cannot be read.

    See: S-41, S-50.
    """
    sizes: dict[int, int] = {}
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.endswith(DELETED_SUFFIX):
                with suppress(FileNotFoundError):
                    os.unlink(entry.path)
                continue
            parsed = parse_segment_file(entry.name)
            if parsed is not None and parsed[1] == LOG_SUFFIX:
                sizes[parsed[0]] = entry.stat().st_size
    if not sizes:
        return ()
    base_offset, *others = sorted(sizes)
    first = IdleSegment(base_offset, sizes[base_offset], _largest_timestamp(directory, base_offset))
    if not others:
        return (first,)
    size_bytes = sum(sizes[base] for base in others)
    return first, IdleSegment(others[0], size_bytes, first.timestamp_ms)


def _largest_timestamp(directory: str, base_offset: int) -> int:
    """Read the largest timestamp from the time index's last entry.

    A clean stop writes that entry when it closes the segment (S-14).
    """
    stem = segment_stem(directory, base_offset)
    with suppress(FileNotFoundError):
        file = OpenFile(stem + TIME_INDEX_SUFFIX, os.O_RDONLY | os.O_CLOEXEC)
        count = os.fstat(file.fd).st_size // _ENTRY_BYTES
        if count:
            timestamp: int
            data = file.read_at((count - 1) * _ENTRY_BYTES, _ENTRY_BYTES)
            timestamp, _ = TimeIndex.ENTRY.unpack(data)
            if timestamp >= 0:
                return timestamp
    return os.stat(stem + LOG_SUFFIX).st_mtime_ns // 1_000_000
