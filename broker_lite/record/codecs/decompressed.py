"""The bounds of a codec's reader, and its result."""

import sys
from typing import Final, NamedTuple

from broker_lite.record.stopping import NEVER, Stop


class Decompressed(NamedTuple):
    """The result of a codec's reader.

    Attributes:
        data: the bytes, up to the failure or the limit if there was one.
        failed: the codec stopped with an error after these bytes.
        limit_exceeded: there would have been more bytes or parts than allowed; the rest was not
            read.
    """

    data: bytes | bytearray | memoryview
    failed: bool
    limit_exceeded: bool


class Bounds(NamedTuple):
    """The bounds for reading one stream.

    Attributes:
        output_bytes_max: where to stop; the result is never longer.
        parts_max: of how many frames, members, chunks and blocks the stream may consist. Each takes
            some microseconds, even if it is nearly empty.
        stop: checked before each part.
    """

    output_bytes_max: int = sys.maxsize
    parts_max: int = sys.maxsize
    stop: Stop = NEVER


UNBOUNDED: Final = Bounds()


class TooManyParts(Exception):
    """A stream has more parts than its reader may read."""


class Parts:
    """Counts the parts of a stream."""

    __slots__ = ("_left", "_stop")

    def __init__(self, bounds: Bounds) -> None:
        self._left = bounds.parts_max
        self._stop = bounds.stop

    def take(self) -> None:
        """Count another part before it is read.

        Raises:
            TooManyParts: the bounds do not allow another part.
            WorkStopped: `stop` was set.
        """
        self._stop.check()
        if self._left <= 0:
            raise TooManyParts
        self._left -= 1
