"""Finds where a read continues behind damage."""

from broker_lite.log.files.headers import BatchHeader, header_at
from broker_lite.log.files.walk import HEADER
from broker_lite.pipeline.files.file_io import ReadableFile
from broker_lite.pipeline.files.sound_search import find_sound, offset_bounds
from broker_lite.pipeline.read.split import SegmentRange


class SoundBehind:
    """Finds the next sound batch of a range, and caches the last answer.

    Args:
        file: the .log file of the range.
        part: the range.
    """

    def __init__(self, file: ReadableFile, part: SegmentRange) -> None:
        self._file = file
        self._part = part
        self._found: BatchHeader | None = None
        self._lowest = -1
        self._begin = 0

    def find(self, begin: int, lowest: int, *, with_old: bool) -> BatchHeader | None:
        """Find the first sound batch from a position on; None if there is none.

        Args:
            begin: where to begin; not in front of an earlier search.
            lowest: the lowest possible offset.
            with_old: search for messages of magic 0 and 1, too.

        Raises:
            OSError: the file cannot be read.
        """
        found = self._found
        is_in_front = self._begin <= begin and (found is None or begin <= found.position)
        if lowest != self._lowest or not is_in_front:
            segment, end = self._part.segment, self._part.end_position
            bounds = offset_bounds(segment.base_offset, lowest, segment.limit)
            self._found = find_sound(self._file, begin, end, bounds, with_old=with_old)
            self._begin, self._lowest = begin, lowest
        return self._found

    def follows(self, position: int, offset: int) -> bool:
        """Tell whether a batch with this first offset is at a position, or the range ends there.

        Raises:
            OSError: the file cannot be read.
        """
        if position == self._part.end_position:
            return True
        header = header_at(self._file, position, self._part.end_position, offset)
        return header is not None and header.base_offset == offset

    def offsets_at(self, position: int) -> tuple[int, int]:
        """Return the first offset in the header of a damaged v2 batch, and the offset after it.

        These fields may be right although the length or the magic is damaged.

        Raises:
            OSError: the file cannot be read.
        """
        header = HEADER.unpack(self._file.read_at(position, HEADER.size).ljust(HEADER.size, b"\0"))
        base_offset, last_offset_delta = header[0], header[6]
        return base_offset, base_offset + last_offset_delta + 1
