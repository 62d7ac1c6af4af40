"""Files of a log directory, wherever it lies: a small interface, and its form for local files.

Every FileIO can be pickled; it opens nothing by itself, so a task on another machine works with
what the driver made. open_file_io.py finds the one for a path or URI.

Rename replaces a file that has the new name. It is atomic on a local file system, and a copy
followed by a removal on most object stores: who commits by it must stand a half-made commit.
"""

import errno
import os
import re
from types import TracebackType
from typing import NamedTuple, Protocol, Self


class UnknownFileSystem(ValueError):
    """A URI that nothing here opens; the text is one line for a person."""


class FileInfo(NamedTuple):
    """An entry of a directory; name is its last part, size_bytes is 0 for a directory."""

    name: str
    size_bytes: int
    is_directory: bool


class ReadableFile(Protocol):
    """A file that is read at positions, closed by the context manager's end."""

    @property
    def size_bytes(self) -> int:
        """Size when it was opened; a live file may have grown since."""

    def read_at(self, position: int, size_bytes: int) -> bytes:
        """Read bytes from a position on, fewer at the end of the file.

        Raises:
            OSError: the file cannot be read.
        """

    def next_data(self, position: int) -> int:
        """Give the first position from the given one on that can hold other bytes than zeros.

        Where the storage knows holes in a file, they are passed over without being read.
        """

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...


class WritableFile(Protocol):
    """A new file that is written from its start to its end, whole once it is closed."""

    def write(self, data: bytes | bytearray | memoryview, /) -> object:
        """Write all of the data behind what was written before."""

    def close(self) -> None:
        """Hand everything to the storage."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...


class FileIO(Protocol):
    """The files of one storage, by paths with "/" between their parts; picklable."""

    def list(self, path: str) -> list[FileInfo]:
        """List a directory by rising name; what vanishes meanwhile is left out.

        Raises:
            FileNotFoundError: nothing has this path.
            NotADirectoryError: a file has it.
        """

    def size(self, path: str) -> int:
        """Give the size of a file in bytes.

        Raises:
            FileNotFoundError: there is none.
        """

    def exists(self, path: str) -> bool:
        """Tell whether a file or a directory has this path."""

    def open(self, path: str) -> ReadableFile:
        """Open a file for reading.

        Raises:
            FileNotFoundError: there is none.
        """

    def create(self, path: str) -> WritableFile:
        """Make a file, or empty the one that is there; its directory must exist."""

    def rename(self, old: str, new: str) -> None:
        """Give a file another path; a file that has it is replaced."""

    def delete(self, path: str) -> None:
        """Remove a file.

        Raises:
            FileNotFoundError: there is none.
        """

    def make_directory(self, path: str) -> None:
        """Make a directory with those above it; one that is there stays as it is."""

    def sync(self, path: str) -> None:
        """Put a closed file, or the names in a directory, on disk, where that means something."""


def join(*parts: str) -> str:
    """Put the parts of a path together; an empty part counts for nothing."""
    return re.sub("(?<!:)//+", "/", "/".join(part for part in parts if part))


class LocalFileIO:
    """Files of this machine, or of a share that is mounted on it."""

    __slots__ = ()

    def list(self, path: str) -> list[FileInfo]:
        """See FileIO."""
        found = []
        with os.scandir(path) as entries:
            for entry in entries:
                try:
                    is_directory = entry.is_dir()
                    size_bytes = 0 if is_directory else entry.stat().st_size
                except FileNotFoundError:
                    continue  # retention was faster, or a link leads nowhere
                found.append(FileInfo(entry.name, size_bytes, is_directory))
        found.sort()
        return found

    def size(self, path: str) -> int:
        """See FileIO."""
        return os.stat(path).st_size

    def exists(self, path: str) -> bool:
        """See FileIO."""
        return os.path.exists(path)

    def open(self, path: str) -> ReadableFile:
        """See FileIO."""
        return _LocalFile(path)

    def create(self, path: str) -> WritableFile:
        """See FileIO."""
        return open(path, "wb")

    def rename(self, old: str, new: str) -> None:
        """See FileIO."""
        os.replace(old, new)

    def delete(self, path: str) -> None:
        """See FileIO."""
        os.unlink(path)

    def make_directory(self, path: str) -> None:
        """See FileIO."""
        os.makedirs(path, exist_ok=True)

    def sync(self, path: str) -> None:
        """See FileIO."""
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class _LocalFile:
    """A descriptor that is read by os.pread, so threads may share it."""

    __slots__ = ("_descriptor", "_size_bytes")

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._size_bytes = os.fstat(self._descriptor).st_size

    @property
    def size_bytes(self) -> int:
        return self._size_bytes

    def read_at(self, position: int, size_bytes: int) -> bytes:
        return os.pread(self._descriptor, size_bytes, position)

    def next_data(self, position: int) -> int:
        try:
            return os.lseek(self._descriptor, position, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # nothing but a hole, or the end
                return max(position, os.fstat(self._descriptor).st_size)
            return position  # a file system that knows no holes

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)
