"""What retention has to know of a log that nobody uses: read without loading it."""

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
    """A segment, or several as one, as retention sees it."""

    base_offset: int
    size_bytes: int
    timestamp_ms: int

    def largest_timestamp(self) -> int:
        """Of its records, or the file's age where they have none.

        See: S-23 (LogSegment.largestTimestamp).
        """
        return self.timestamp_ms


# The oldest segment, and all others as one: whether the first is due is all that is asked.
IdleSegments = tuple[IdleSegment, ...]


class IdleLog(NamedTuple):
    """A log that nobody uses; all of it can be read."""

    segments: IdleSegments
    config: LogConfig
    log_start_offset: int
    high_watermark: int = _INT64_MAX
    log_end_offset: int = _INT64_MAX


def read_idle_segments(directory: str) -> IdleSegments:
    """Read what decides about the oldest segment of a log that was stopped cleanly.

    Files that were to be deleted before the broker stopped are deleted.

    Returns:
        Nothing when there is no segment.

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
    """The time index's last entry tells it; after a clean stop that is the closing one (S-14)."""
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
