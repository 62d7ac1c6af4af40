"""Local files that stay what they were when they were first looked at, whatever becomes of them.

A broker deletes, renames and replaces the segments of a log while somebody reads it. A file that is
open outlives all of that, so what is to be read together is opened together and kept open. Other
storage has nothing like it: there a name is looked up with every read.
"""

from contextlib import ExitStack
from typing import Self

from broker_lite.log.files.names import TRANSACTION_INDEX_SUFFIX
from broker_lite.pipeline.files.file_io import FileInfo, LocalFileIO, ReadableFile


class PinnedFiles(LocalFileIO):
    """Files and listings, each as it was at first; a context manager that closes the files.

    Args:
        io: who opens and lists them.
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
        file = self._io.open(path)
        if path.endswith(TRANSACTION_INDEX_SUFFIX):
            # There may be one for each segment of a log, and they are small: no descriptors.
            with file:
                return _Content(file.read_at(0, file.size_bytes))
        return _Borrowed(self._stack.enter_context(file))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


class _Lasting:
    """The end of a `with` does not close it."""

    __slots__ = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class _Borrowed(_Lasting):
    """A file that somebody else closes; its size is that of the moment when it was opened."""

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


class _Content(_Lasting):
    """What a small file had in it."""

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
