"""The lines of a seed file, one after the other, and errors that name them."""

import os
import stat
from collections.abc import Iterator
from typing import Final

from broker_lite.errors import SettingsError

LINE_BYTES_MAX: Final = 32 * 1024 * 1024
_BYTE_ORDER_MARK: Final = "\ufeff"


class Lines:
    """An iterable over the lines of a file, as text with their ends.

    Attributes:
        path: as it was given.
        number: of the line that was read last, from 1 on.
        bytes_read: how far in the file that is.
        size_bytes: of the file, once it is being read.
    """

    def __init__(self, path: str) -> None:
        """Open nothing yet."""
        self.path = path
        self.number = 0
        self.bytes_read = 0
        self.size_bytes = 0

    def __iter__(self) -> Iterator[str]:
        """Read the file from its beginning.

        Raises:
            SettingsError: it cannot be read, or a line is no UTF-8 text or too long.
        """
        try:
            status = os.stat(self.path)
            if stat.S_ISFIFO(
                status.st_mode
            ):  # who opens one waits for its writer, and hears nothing
                raise SettingsError(f"{self.path}: cannot be read: it is a pipe, not a file")
            self.size_bytes = status.st_size
            with open(self.path, "rb") as file:
                while line := file.readline(LINE_BYTES_MAX + 1):
                    self.number += 1
                    self.bytes_read += len(line)
                    yield self._text(line)
        except OSError as error:
            raise SettingsError(f"{self.path}: cannot be read: {error.strerror}") from error

    def _text(self, line: bytes) -> str:
        if len(line) > LINE_BYTES_MAX:
            raise self.error(f"the line is longer than {LINE_BYTES_MAX} bytes")
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            raise self.error(f"not UTF-8 text, at byte {error.start + 1} of the line") from error
        return text.removeprefix(_BYTE_ORDER_MARK) if self.number == 1 else text

    def error(self, reason: str, number: int | None = None) -> SettingsError:
        """The error that a line is; the last one that was read unless another is named."""
        return SettingsError(f"{self.path}:{number or self.number}: {reason}")
