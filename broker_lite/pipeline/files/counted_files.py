"""A FileIO that counts the bytes that are read, and may read less at once."""

import sys

from broker_lite.pipeline.files.file_io import FileInfo, FileIO, ReadableFile, WritableFile


class CountedFileIO:
    """Passes everything on to another FileIO.

    Args:
        io: the other one.
        read_bytes_max: the most to read at once of a file that is read from its start to its end.

    Attributes:
        counted_bytes: how much was read so far.
    """

    def __init__(self, io: FileIO, read_bytes_max: int = sys.maxsize) -> None:
        self.counted_bytes = 0
        self._io = io
        self._read_bytes_max = read_bytes_max

    @property
    def read_bytes(self) -> int:
        """See FileIO."""
        return min(self._io.read_bytes, self._read_bytes_max)

    def list(self, path: str) -> list[FileInfo]:
        """See FileIO."""
        return self._io.list(path)

    def size(self, path: str) -> int:
        """See FileIO."""
        return self._io.size(path)

    def exists(self, path: str) -> bool:
        """See FileIO."""
        return self._io.exists(path)

    def open(self, path: str) -> ReadableFile:
        """See FileIO."""
        return _CountedFile(self, self._io.open(path))

    def create(self, path: str) -> WritableFile:
        """See FileIO."""
        return self._io.create(path)

    def rename(self, old: str, new: str) -> None:
        """See FileIO."""
        self._io.rename(old, new)

    def delete(self, path: str) -> None:
        """See FileIO."""
        self._io.delete(path)

    def make_directory(self, path: str) -> None:
        """See FileIO."""
        self._io.make_directory(path)

    def sync(self, path: str) -> None:
        """See FileIO."""
        self._io.sync(path)


class _CountedFile:
    __slots__ = ("_count", "_file")

    def __init__(self, count: CountedFileIO, file: ReadableFile) -> None:
        self._count = count
        self._file = file

    @property
    def size_bytes(self) -> int:
        return self._file.size_bytes

    def read_at(self, position: int, size_bytes: int) -> bytes:
        data = self._file.read_at(position, size_bytes)
        self._count.counted_bytes += len(data)
        return data

    def next_data(self, position: int) -> int:
        return self._file.next_data(position)

    def __enter__(self) -> "_CountedFile":
        self._file.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._file.__exit__(None, None, None)
