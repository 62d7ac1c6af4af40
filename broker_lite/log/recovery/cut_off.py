"""Counts the sound batches that are lost when a log is cut at its first bad batch.

Kafka cuts at that place, whatever follows. After a torn write nothing sound follows. If sound
batches follow, the disk or somebody has damaged the file, and a person wants to know that.
"""

from typing import Final

from broker_lite.log.files.open_file import OpenFile
from broker_lite.record.batch import HEADER, RECORD_BATCH_OVERHEAD, RecordBatch
from broker_lite.record.framing import LOG_OVERHEAD
from broker_lite.record.resync import possible_starts

LOOKED_AT_BYTES: Final = 16 << 20
"""How much of the part that is cut off is searched: enough to tell a torn write from damage."""

CHECKED_BYTES_MAX: Final = 1 << 30


def count_sound(
    file: OpenFile,
    position: int,
    end: int,
    lowest_offset: int,
    *,
    looked_at_bytes: int = LOOKED_AT_BYTES,
    checked_bytes_max: int = CHECKED_BYTES_MAX,
) -> int:
    """Count the whole batches with the right checksum in a part of a segment.

    Args:
        file: the segment.
        position: where the part begins.
        end: where the part ends.
        lowest_offset: a batch below it is no part of the log, but the content of some record.
        looked_at_bytes: only so much of the part is searched, from its start on.
        checked_bytes_max: the search ends after checksums of so many bytes.

    Raises:
        OSError: the file cannot be read.

    See: S-43 (LogSegment.recover).
    """
    data = memoryview(file.read_at(position, min(end - position, looked_at_bytes)))
    count = sound_end = checked_bytes = 0
    for at in possible_starts(data):
        if at < sound_end or checked_bytes > checked_bytes_max:
            continue
        if len(data) - at < RECORD_BATCH_OVERHEAD:
            break
        base_offset, length, *_ = HEADER.unpack_from(data, at)
        size_bytes = LOG_OVERHEAD + length
        if base_offset < lowest_offset or not RECORD_BATCH_OVERHEAD <= size_bytes <= len(data) - at:
            continue
        checked_bytes += size_bytes
        if RecordBatch(data, at, size_bytes).crc_is_valid():
            count += 1
            sound_end = at + size_bytes
            lowest_offset = base_offset
    return count
