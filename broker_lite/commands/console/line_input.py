"""Reads lines from a descriptor, in chunks as they arrive, with a timeout.

As in Java, a line ends with a line feed, a carriage return, or both.
"""

import os
import select
from typing import Final

from broker_lite.errors import SettingsError

_CHUNK_BYTES: Final = 1 << 16
LINE_BYTES_MAX: Final = 1 << 27


class LineInput:
    """Reads lines; buffers at most one chunk and one unfinished line.

    Attributes:
        ended: whether all lines were returned.
    """

    def __init__(self, descriptor: int, *, line_bytes_max: int = LINE_BYTES_MAX) -> None:
        self.ended = False
        self._descriptor = descriptor
        self._line_bytes_max = line_bytes_max
        self._rest: list[bytes] = []
        self._rest_bytes = 0
        self._after_return = False

    def read(self, timeout_s: float | None = None) -> list[bytes] | None:
        """Return the lines of the next chunk, without line ends; at the end, an unfinished line.

        Args:
            timeout_s: how long to wait for input; None means for ever.

        Returns:
            None if there was no input in time.

        Raises:
            SettingsError: a line is longer than line_bytes_max, or the input cannot be read.
        """
        if timeout_s is not None and not select.select([self._descriptor], (), (), timeout_s)[0]:
            return None
        try:
            chunk = os.read(self._descriptor, _CHUNK_BYTES)
        except OSError as error:
            raise SettingsError(f"standard input: {error.strerror}") from error
        if not chunk:
            self.ended = True
            return [self._take_rest()] if self._rest_bytes else []
        return self._split(chunk)

    def _split(self, chunk: bytes) -> list[bytes]:
        if self._after_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]  # the second half of a \\r\\n
        self._after_return = chunk.endswith(b"\r")
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        first, newline, others = chunk.partition(b"\n")
        self._add_rest(first)
        if not newline:
            return []
        lines = [self._take_rest()]
        *complete, rest = others.split(b"\n")
        lines += complete
        self._add_rest(rest)
        return lines

    def _add_rest(self, part: bytes) -> None:
        self._rest.append(part)
        self._rest_bytes += len(part)
        if self._rest_bytes > self._line_bytes_max:
            text = f"a line is longer than {self._line_bytes_max} bytes"
            raise SettingsError(f"standard input: {text}")

    def _take_rest(self) -> bytes:
        line = b"".join(self._rest)
        self._rest.clear()
        self._rest_bytes = 0
        return line
