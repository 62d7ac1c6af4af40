"""Reads the entries of a .log file in order, in pieces.

A broker may write to the file: later appends are ignored, and the open file stays readable if
retention deletes it.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from broker_lite.errors import CorruptMessage
from broker_lite.log.files.entries import Window
from broker_lite.log.files.names import LOG_SUFFIX, parse_segment_file
from broker_lite.log.files.open_file import OpenFile
from broker_lite.record.batch import RECORD_BATCH_OVERHEAD, RecordBatch
from broker_lite.record.framing import CURRENT_MAGIC, MAGIC_OFFSET
from broker_lite.record.legacy.messages import LegacyMessage

_LEGACY_BYTES_MIN: Final = (26, 34)


def log_paths(directory: Path) -> list[Path]:
    """List the .log files of a partition, by base offset."""
    return sorted(
        path
        for path in directory.iterdir()
        if (parsed := parse_segment_file(path.name)) is not None and parsed[1] == LOG_SUFFIX
    )


def base_offset_of(path: Path) -> int:
    """Return the base offset of a .log file."""
    return int(path.name.removesuffix(LOG_SUFFIX))


Progress = Callable[[int], None]
"""Called with the number of bytes that were read."""


class FoundEntry(NamedTuple):
    """A batch of any magic and its position; the view is valid until the next one is read."""

    position: int
    batch: RecordBatch | LegacyMessage


class LogFile:
    """Reads a file from its start to the first bytes that are not an entry.

    Attributes:
        size_bytes: of the file when it was opened.
        end: position after the last entry.
        fault: what is wrong with the bytes at the end; None if the last entry is only incomplete.
    """

    def __init__(self, path: Path, progress: Progress) -> None:
        self.path = path
        self.size_bytes = 0
        self.end = 0
        self.fault: str | None = None
        self._progress = progress

    def entries(self) -> Iterator[FoundEntry]:
        """Yield each entry.

        Raises:
            OSError: the file cannot be read.

        See: R-04 (FileLogInputStream.nextBatch).
        """
        file = OpenFile(str(self.path), os.O_RDONLY | os.O_CLOEXEC)
        self.size_bytes = os.lseek(file.fd, 0, os.SEEK_END)  # a pipe raises here
        window = Window(file, 0, self.size_bytes, lambda _: self._progress(self.end))
        try:
            for position, size_bytes, start in window.entries():
                batch = self._view(window.buffer, start, size_bytes)
                if batch is None:
                    return
                yield FoundEntry(position, batch)
                self.end = position + size_bytes
        except CorruptMessage as error:
            self.fault = str(error)

    def _view(
        self, chunk: memoryview, at: int, size_bytes: int
    ) -> RecordBatch | LegacyMessage | None:
        magic = int.from_bytes(chunk[at + MAGIC_OFFSET : at + MAGIC_OFFSET + 1], "big", signed=True)
        if magic == CURRENT_MAGIC and size_bytes >= RECORD_BATCH_OVERHEAD:
            return RecordBatch(chunk, at, size_bytes)
        if 0 <= magic < CURRENT_MAGIC and size_bytes >= _LEGACY_BYTES_MIN[magic]:
            return LegacyMessage(chunk, at, size_bytes)
        self.fault = f"an entry of magic {magic} and {size_bytes} bytes at position {self.end}"
        return None
