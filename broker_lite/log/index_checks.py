"""What a segment's indexes say, held against its batches: a wrong index is made anew.

After a clean stop nothing is read through, so a damaged index is found when it is used (S-15).
"""

from broker_lite.errors import CorruptMessage
from broker_lite.log.segment import LogSegment
from broker_lite.log.walk import walk


def find_end(segment: LogSegment) -> int | None:
    """Find the offset behind a segment by its last index entry and the batches after it.

    Returns:
        None if its files contradict each other.

    Raises:
        OSError: a file cannot be read.

    Rule: S-12, S-44 (LogSegment.readNextOffset).
    """
    entry = segment.offset_index.last_entry()
    position, end_offset = 0, segment.base_offset
    if entry is not None:
        position = entry.value
        # The first batch has no entry, so zeros are room that a crashed server left.
        if entry.key <= 0 or not 0 < position < segment.size_bytes:
            return None
    try:
        for place in walk(segment.file(), position, segment.size_bytes):
            if place.base_offset < end_offset:
                return None
            position, end_offset = place.position + place.size_bytes, place.last_offset + 1
    except CorruptMessage:
        return None
    return end_offset if position == segment.size_bytes else None
