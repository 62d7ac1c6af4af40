"""FileIO, the small interface to the files of a log directory, and its form for local files.

A FileIO can be pickled and holds no open file, so the driver can make one and send it to tasks on
other machines. open_file_io.py finds the one for a path or URI.

Rename replaces a file that has the new name. It is atomic on a local file system; on most object
stores it is a copy followed by a removal. So a commit that renames must survive being interrupted.
"""

import errno
import os
import re
from contextlib import AbstractContextManager
from typing import Final, NamedTuple, Protocol, Self

REMOTE_READ_BYTES: Final = 4 << 20
"""For storage where each read costs a round trip."""
_LOCAL_READ_BYTES: Final = 1 << 18
"""A larger read would leave the processor's cache before it is checked."""


class UnknownFileSystem(ValueError):
    """No installed package opens this URI; the text is one line for the user."""


class FileInfo(NamedTuple):
    """An entry of a directory: the last part of its path; size_bytes is 0 for a directory."""

    name: str
    size_bytes: int
    is_directory: bool


class ReadableFile(AbstractContextManager["ReadableFile", None], Protocol):
    """A file for positional reads; leaving the context closes it."""

    @property
    def size_bytes(self) -> int:
        """Size when the file was opened; it may have grown since."""

    def read_at(self, position: int, size_bytes: int) -> bytes:
        """Read bytes from a position; fewer at the end of the file.

        Raises:
            OSError: the file cannot be read.
        """

    def next_data(self, position: int) -> int:
        """Return the first position, from the given one on, that may hold a byte other than zero.

        Storage that knows the holes of a sparse file skips them without reading.
        """


class WritableFile(AbstractContextManager["WritableFile", None], Protocol):
    """A new file, written from start to end; it is complete once it is closed."""

    def write(self, data: bytes | bytearray | memoryview, /) -> object:
        """Append all of the data."""

    def close(self) -> None:
        """Hand everything to the storage."""


class FileIO(Protocol):
    """The files of one storage, by paths with "/" between their parts; picklable."""

    @property
    def read_bytes(self) -> int:
        """How much to read at once of a file that is read from its start to its end."""

    def list(self, path: str) -> list[FileInfo]:
        """List a directory, sorted by name; entries that vanish meanwhile are left out.

        Raises:
            FileNotFoundError: there is no such directory.
            NotADirectoryError: it is a file.
        """

    def size(self, path: str) -> int:
        """Return the size of a file in bytes.

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
        """Create a file, or truncate an existing one; its directory must exist."""

    def rename(self, old: str, new: str) -> None:
        """Rename a file; a file with the new name is replaced."""

    def delete(self, path: str) -> None:
        """Remove a file.

        Raises:
            FileNotFoundError: there is none.
        """

    def make_directory(self, path: str) -> None:
        """Create a directory and its parents; an existing one stays as it is."""

    def sync(self, path: str) -> None:
        """Call fsync for a closed file or a directory; a no-op where the storage has no fsync."""


def read_whole(io: FileIO, path: str) -> bytes:
    """Read a small file.

    Raises:
        FileNotFoundError: there is none.
        OSError: it cannot be read.
    """
    with io.open(path) as file:
        return file.read_at(0, file.size_bytes)


def join(*parts: str) -> str:
    """Join the parts of a path; empty parts are dropped."""
    return re.sub("(?<!:)//+", "/", "/".join(part for part in parts if part))


class LocalFileIO:
    """FileIO over local and mounted files."""

    __slots__ = ()

    @property
    def read_bytes(self) -> int:
        """See FileIO."""
        return _LOCAL_READ_BYTES

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


class Lasting:
    """A file that stays open at the end of a `with`, or that needs no closing."""

    __slots__ = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class _LocalFile:
    """A local file, read by os.pread, so threads may share it."""

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
