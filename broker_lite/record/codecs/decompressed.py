"""What a codec's reader may do, and what it gives."""

import sys
from typing import Final, NamedTuple

from broker_lite.record.stopping import NEVER, Stop


class Decompressed(NamedTuple):
    """What a codec gave.

    Attributes:
        data: the bytes, up to the failure or the limit if there was one.
        failed: the codec stopped with an error after these bytes.
        limit_exceeded: there would have been more bytes or parts than allowed; the rest was not
            looked at.
    """

    data: bytes | bytearray | memoryview
    failed: bool
    limit_exceeded: bool


class Bounds(NamedTuple):
    """What a reader may do with one stream.

    Attributes:
        output_bytes_max: where to stop; the result is never longer.
        parts_max: of how many frames, members, chunks and blocks the stream may consist. Each takes
            some microseconds, also when it has next to nothing in it.
        stop: asked before each part.
    """

    output_bytes_max: int = sys.maxsize
    parts_max: int = sys.maxsize
    stop: Stop = NEVER


UNBOUNDED: Final = Bounds()


class TooManyParts(Exception):
    """A stream has more parts than its reader is allowed to look at."""


class Parts:
    """Counts the parts of a stream."""

    __slots__ = ("_left", "_stop")

    def __init__(self, bounds: Bounds) -> None:
        self._left = bounds.parts_max
        self._stop = bounds.stop

    def take(self) -> None:
        """Begin with another part.

        Raises:
            TooManyParts: it is one too many.
            WorkStopped: the work is to stop.
        """
        self._stop.check()
        if self._left <= 0:
            raise TooManyParts
        self._left -= 1
