"""The result of reading a compressed stream."""

from typing import NamedTuple


class Decompressed(NamedTuple):
    """What a codec gave.

    Attributes:
        data: the bytes, up to the failure or the limit if there was one.
        failed: the codec stopped with an error after these bytes.
        limit_exceeded: there would have been more bytes than allowed; the rest was not looked at.
    """

    data: bytes | bytearray | memoryview
    failed: bool
    limit_exceeded: bool
