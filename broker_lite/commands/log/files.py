"""The entries of a .log file one after the other, read in pieces, for who looks at it as it is.

The file may be one that a broker writes to: what was appended after it was opened is not looked at,
and who holds it open can go on reading when retention takes its name away.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from broker_lite.errors import CorruptMessage
from broker_lite.record.batch import RECORD_BATCH_OVERHEAD, RecordBatch
from broker_lite.record.framing import CURRENT_MAGIC, HEADER_SIZE_UP_TO_MAGIC, file_entry
from broker_lite.record.legacy.messages import LegacyMessage

READ_BYTES: Final = 1 << 20

_LEGACY_BYTES_MIN: Final = (26, 34)

Progress = Callable[[int], None]
"""Is told how many more bytes were read."""


class FoundEntry(NamedTuple):
    """A batch of any magic, and where it is; the view is good until the next one is asked for."""

    position: int
    batch: RecordBatch | LegacyMessage


class LogFile:
    """Reads a file from its start to the first bytes that are no entry.

    Attributes:
        size_bytes: of the file when it was opened.
        end: behind the last entry that was given.
        fault: what is wrong with the bytes at the end, None when they are only too few.
    """

    def __init__(self, path: Path, progress: Progress) -> None:
        self.path = path
        self.size_bytes = 0
        self.end = 0
        self.fault: str | None = None
        self._progress = progress

    def entries(self) -> Iterator[FoundEntry]:
        """Give each entry.

        Raises:
            OSError: the file cannot be read.

        See: R-04 (FileLogInputStream.nextBatch).
        """
        with self.path.open("rb", buffering=0) as file:
            self.size_bytes = os.fstat(file.fileno()).st_size
            try:
                yield from self._walk(file.fileno())
            except CorruptMessage as error:
                self.fault = str(error)

    def _walk(self, descriptor: int) -> Iterator[FoundEntry]:
        chunk, start = memoryview(b""), 0
        while True:
            at = self.end - start
            if at + HEADER_SIZE_UP_TO_MAGIC > len(chunk):
                chunk, start, at = self._read(descriptor, READ_BYTES), self.end, 0
            found = file_entry(chunk[at:], self.end, self.size_bytes, str(self.path))
            if found is None:
                return
            if at + found.size_bytes > len(chunk):
                size_bytes = max(READ_BYTES, found.size_bytes)
                chunk, start, at = self._read(descriptor, size_bytes), self.end, 0
                if len(chunk) < found.size_bytes:
                    return  # cut off meanwhile
            batch = self._view(chunk, at, found.size_bytes, found.magic)
            if batch is None:
                return
            yield FoundEntry(self.end, batch)
            self.end += found.size_bytes

    def _read(self, descriptor: int, size_bytes: int) -> memoryview:
        self._progress(self.end)
        return memoryview(os.pread(descriptor, size_bytes, self.end))

    def _view(
        self, chunk: memoryview, at: int, size_bytes: int, magic: int
    ) -> RecordBatch | LegacyMessage | None:
        if magic == CURRENT_MAGIC and size_bytes >= RECORD_BATCH_OVERHEAD:
            return RecordBatch(chunk, at, size_bytes)
        if 0 <= magic < CURRENT_MAGIC and size_bytes >= _LEGACY_BYTES_MIN[magic]:
            return LegacyMessage(chunk, at, size_bytes)
        self.fault = f"an entry of magic {magic} and {size_bytes} bytes at position {self.end}"
        return None
