"""Reads the complete entries of a .log file in order, of any magic, with all their bytes.

The file is read in large pieces into one buffer, and nothing is copied out of it, so an entry's
bytes are valid only until the next entry is requested. A caller that needs only headers uses
walk.frames, which reads less.
"""

from collections.abc import Callable, Iterator
from typing import Final

from broker_lite.log.files.open_file import OpenFile
from broker_lite.log.files.walk import FRAME_MIN, checked_size

# Large enough that the cost of a system call does not matter, small enough for the processor's
# cache.
BUFFER_BYTES: Final = 1 << 21


class Window:
    """The part of a file that is in memory; it always begins at the start of an entry.

    Args:
        file: a .log file.
        position: where an entry starts.
        end: where reading ends: the size of the file, or less.
        tell: called with the number of bytes after each read; an exception from it ends the
            reading.
    """

    __slots__ = ("_end", "_file", "_filled", "_position", "_tell", "buffer")

    def __init__(
        self, file: OpenFile, position: int, end: int, tell: Callable[[int], None]
    ) -> None:
        self._file = file
        self._position = position
        self._end = end
        self._tell = tell
        self._filled = 0
        self.buffer = memoryview(bytearray(min(BUFFER_BYTES, max(end - position, 0))))

    def entries(self) -> Iterator[tuple[int, int, int]]:
        """Go through the complete entries.

        Yields:
            The entry's position in the file, its size, and its position in the buffer.

        Raises:
            CorruptMessage: an entry's length is below 14.
            OSError: the file cannot be read.

        Rule: R-04 (FileLogInputStream.nextBatch).
        """
        position, end = self._position, self._end
        while position < end - FRAME_MIN:
            start = self._find(position, FRAME_MIN)
            if start < 0:
                return  # the file is shorter than it was
            length = int.from_bytes(self.buffer[start + 8 : start + 12], "big", signed=True)
            size_bytes = checked_size(length, position)
            if size_bytes > end - position:
                return
            if start + size_bytes > self._filled:
                start = self._find(position, size_bytes)
                if start < 0:
                    return
            yield position, size_bytes, start
            position += size_bytes

    def _find(self, position: int, size_bytes: int) -> int:
        """Return the buffer position of a range of the file; -1 if the file ends before it."""
        start = position - self._position
        if start + size_bytes <= self._filled:
            return start
        if size_bytes > len(self.buffer):
            self.buffer = memoryview(bytearray(size_bytes))
        self._position = position
        self._filled = self._file.read_into(self.buffer[: self._end - position], position)
        self._tell(self._filled)
        return 0 if size_bytes <= self._filled else -1
