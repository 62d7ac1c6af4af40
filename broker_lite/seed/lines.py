"""Iterates over the lines of a seed file, and makes errors that name a line."""

import os
import stat
from collections.abc import Iterator
from typing import Final

from broker_lite.errors import SettingsError

LINE_BYTES_MAX: Final = 32 * 1024 * 1024
_BYTE_ORDER_MARK: Final = "\ufeff"


class Lines:
    """An iterable of the lines of a file, as text with line ends.

    Attributes:
        path: as given.
        number: of the last line that was read, counted from 1.
        bytes_read: position after that line.
        size_bytes: of the file; 0 before the first line.
    """

    def __init__(self, path: str, *, line_bytes_max: int = LINE_BYTES_MAX) -> None:
        """Keep the path; iterating opens the file.

        Args:
            path: of the file.
            line_bytes_max: the longest line, with its end.
        """
        self.path = path
        self._line_bytes_max = line_bytes_max
        self.number = 0
        self.bytes_read = 0
        self.size_bytes = 0

    def __iter__(self) -> Iterator[str]:
        """Read the file from its beginning.

        Raises:
            SettingsError: it cannot be read, or a line is not UTF-8 or too long.
        """
        try:
            status = os.stat(self.path)
            if stat.S_ISFIFO(status.st_mode):  # opening one would wait for its writer
                raise SettingsError(f"{self.path}: cannot be read: it is a pipe, not a file")
            self.size_bytes = status.st_size
            with open(self.path, "rb") as file:
                while line := file.readline(self._line_bytes_max + 1):
                    self.number += 1
                    self.bytes_read += len(line)
                    yield self._text(line)
        except OSError as error:
            raise SettingsError(f"{self.path}: cannot be read: {error.strerror}") from error

    def _text(self, line: bytes) -> str:
        if len(line) > self._line_bytes_max:
            raise self.error(f"the line is longer than {self._line_bytes_max} bytes")
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            raise self.error(f"not UTF-8 text, at byte {error.start + 1} of the line") from error
        return text.removeprefix(_BYTE_ORDER_MARK) if self.number == 1 else text

    def error(self, reason: str, number: int | None = None) -> SettingsError:
        """Make an error about a line; the last line that was read, unless another one is given."""
        return SettingsError(f"{self.path}:{number or self.number}: {reason}")
