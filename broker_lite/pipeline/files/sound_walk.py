"""A walk over the headers of a segment that goes on behind damage."""

from collections.abc import Iterator

from broker_lite.log.files.headers import BatchHeader, read_batch, walk_headers
from broker_lite.pipeline.files.file_io import ReadableFile
from broker_lite.pipeline.files.layout import Segment
from broker_lite.pipeline.files.sound_search import find_sound, offset_bounds
from broker_lite.record.framing import CURRENT_MAGIC


def walk_past_damage(
    file: ReadableFile, segment: Segment, position: int, end: int
) -> Iterator[BatchHeader]:
    """Yield the headers of the whole batches from a position on, also behind damage.

    A header that does not begin where the previous one ends has damage in front of it. Checksums
    are checked only around damage: of the batch in front, whose length may be wrong, and of the one
    behind.

    Args:
        file: the .log file of the segment.
        segment: bounds the possible offsets.
        position: where a batch starts.
        end: where to stop.

    Raises:
        OSError: the file cannot be read.

    See: R-01, R-02, R-04 (FileLogInputStream).
    """
    offset = segment.base_offset
    with_old = True
    while True:
        last: BatchHeader | None = None
        for header in walk_headers(file, position, end, offset):
            if last is not None:
                yield last
                offset, with_old = last.last_offset + 1, last.magic < CURRENT_MAGIC
            last = header
        stuck = position if last is None else last.end_position
        if last is not None:
            if stuck == end or read_batch(file, last) is not None:
                yield last
                offset, with_old = last.last_offset + 1, last.magic < CURRENT_MAGIC
            else:
                stuck = last.position
        if stuck >= end:
            return
        bounds = offset_bounds(segment.base_offset, offset, segment.limit)
        behind = find_sound(file, stuck + 1, end, bounds, with_old=with_old)
        if behind is None:
            return
        position, offset = behind.position, behind.base_offset
