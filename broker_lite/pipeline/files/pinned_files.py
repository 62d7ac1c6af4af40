"""Local files and listings that stay as they were at the first access.

A broker deletes, renames and replaces segments while somebody reads the log. An open file outlives
all of that, so files that are read together are opened together and kept open. Other storage has no
such thing: there every read looks up the name.
"""

from contextlib import ExitStack
from typing import Self

from broker_lite.log.files.names import TRANSACTION_INDEX_SUFFIX
from broker_lite.pipeline.files.file_io import (
    FileInfo,
    Lasting,
    LocalFileIO,
    ReadableFile,
    read_whole,
)


class PinnedFiles(LocalFileIO):
    """Keeps files open and listings cached; leaving the context closes the files.

    Args:
        io: opens and lists the files.
    """

    __slots__ = ("_files", "_io", "_listings", "_stack")

    def __init__(self, io: LocalFileIO) -> None:
        self._io = io
        self._stack = ExitStack()
        self._files: dict[str, ReadableFile] = {}
        self._listings: dict[str, list[FileInfo]] = {}

    def list(self, path: str) -> list[FileInfo]:  # type: ignore[explicit-override]
        """See FileIO."""
        if path not in self._listings:
            self._listings[path] = self._io.list(path)
        return self._listings[path]

    def open(self, path: str) -> ReadableFile:  # type: ignore[explicit-override]
        """See FileIO."""
        if path not in self._files:
            self._files[path] = self._pin(path)
        return self._files[path]

    def _pin(self, path: str) -> ReadableFile:
        if path.endswith(TRANSACTION_INDEX_SUFFIX):
            # There may be one for each segment, and they are small: keep the bytes, not a
            # descriptor.
            return _Content(read_whole(self._io, path))
        return _Borrowed(self._stack.enter_context(self._io.open(path)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


class _Borrowed(Lasting):
    """A file that PinnedFiles closes; its size stays that of the moment when it was opened."""

    __slots__ = ("_file",)

    def __init__(self, file: ReadableFile) -> None:
        self._file = file

    @property
    def size_bytes(self) -> int:
        return self._file.size_bytes

    def read_at(self, position: int, size_bytes: int) -> bytes:
        return self._file.read_at(position, size_bytes)

    def next_data(self, position: int) -> int:
        return self._file.next_data(position)


class _Content(Lasting):
    """The content of a small file."""

    __slots__ = ("_data",)

    def __init__(self, data: bytes) -> None:
        self._data = data

    @property
    def size_bytes(self) -> int:
        return len(self._data)

    def read_at(self, position: int, size_bytes: int) -> bytes:
        return self._data[position : position + size_bytes]

    def next_data(self, position: int) -> int:
        return position
