"""Open files of the log room, and ranges of them as plain data.

A FileSlice names bytes of an open file; its owner keeps that file open. So the cache may evict a
file, or a topic may be deleted, while a slice of it is still being sent: the descriptor closes when
the last reference to its OpenFile goes.
"""

import errno
import os
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from broker_lite.log.files.reserve import reserve_room

CREATE: Final = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
OPEN: Final = os.O_RDWR | os.O_CLOEXEC


class SyncError(OSError):
    """The disk did not take what was written, and it cannot be known what of it is there.

    The kernel may have dropped the pages that it could not write: the next fsync would succeed.
    """


class FileSlice(NamedTuple):
    """A fixed range of an open file; what is appended later does not change it.

    See: F-15 (FileRecords.slice).
    """

    fd: int
    position: int
    size_bytes: int
    owner: object


class ReadsAt(Protocol):
    """A file that is read at positions, wherever it lies: all that a walk over batches asks for."""

    def read_at(self, position: int, size_bytes: int) -> bytes:
        """Read bytes from a position on, fewer at the end of the file.

        Raises:
            OSError: the file cannot be read.
        """


class OpenFile:
    """A descriptor for reading and writing that closes with the last reference to this object.

    Attributes:
        fd: the descriptor.
        on_close: called when it is closed.
    """

    __slots__ = ("__weakref__", "fd", "on_close")

    def __init__(self, path: str, flags: int = OPEN) -> None:
        self.fd = -1
        self.on_close: Callable[[], object] | None = None
        self.fd = os.open(path, flags, 0o644)

    def __del__(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            if self.on_close is not None:
                self.on_close()

    def read_at(self, position: int, size_bytes: int) -> bytes:
        """Read bytes from a position on, fewer at the end of the file.

        Raises:
            OSError: the file cannot be read.
        """
        return os.pread(self.fd, size_bytes, position)

    def read_into(self, buffer: memoryview, position: int) -> int:
        """Read bytes from a position on until the buffer is full; give how many there were.

        Raises:
            OSError: the file cannot be read.
        """
        filled = 0
        # A call that meets a bad sector gives what comes before it, and only the next one fails.
        while filled < len(buffer):
            count = os.preadv(self.fd, [buffer[filled:]], position + filled)
            if count == 0:
                break
            filled += count
        return filled

    def write(self, data: bytes | bytearray | memoryview, position: int) -> None:
        """Write everything at a position; after a short write, as on a full disk, the rest.

        Raises:
            OSError: part of the data may have been written.
        """
        view = memoryview(data)
        written = os.pwrite(self.fd, view, position)
        while written < len(view):
            count = os.pwrite(self.fd, view[written:], position + written)
            if count == 0:
                raise OSError(errno.EIO, "nothing more could be written")
            written += count

    def reserve(self, position: int, size_bytes: int) -> bool:
        """Reserve room on disk; what the file holds, and its size, stay as they are.

        Returns:
            False where that cannot be had: no room, or not on this system.
        """
        return reserve_room(self.fd, position, size_bytes)

    def cut(self, size_bytes: int) -> None:
        """Set the size of the file.

        Raises:
            OSError: it has the size it had.
        """
        os.ftruncate(self.fd, size_bytes)

    def sync(self) -> None:
        """Make the content durable.

        Raises:
            SyncError: it may not be on disk.
        """
        synchronize(self.fd, os.fsync)

    def sync_data(self) -> None:
        """Make the content and the size durable, not the file's times.

        Raises:
            SyncError: it may not be on disk.
        """
        synchronize(self.fd, os.fdatasync)


def synchronize(fd: int, system_call: Callable[[int], None]) -> None:
    """Call fsync or fdatasync.

    Raises:
        SyncError: it failed.
    """
    try:
        system_call(fd)
    except OSError as error:
        raise SyncError(error.errno, error.strerror) from error


def write_file(path: str, data: bytes) -> None:
    """Replace a file that recovery can make again: at once, but without fsync.

    Raises:
        OSError: the file is as before.
    """
    temporary = path + ".tmp"
    OpenFile(temporary, CREATE).write(data, 0)
    os.replace(temporary, path)


def create_file(path: str, data: bytes) -> None:
    """Write a file that was not there, and that nobody misses if a crash leaves a part of it.

    Raises:
        OSError: nothing, or a part, was written.
    """
    OpenFile(path, CREATE).write(data, 0)


def sync_file(path: str) -> None:
    """Make a file's content durable; a file that is gone needs nothing.

    Raises:
        OSError: the data may not be on disk.
    """
    try:
        file = OpenFile(path)
    except FileNotFoundError:
        return
    file.sync()


def modified_ms(path: str, *, may_lack: bool = False) -> int:
    """Give when a file was changed last; of one that may lack, when its directory was.

    Raises:
        OSError: it cannot be told.
    """
    try:
        status = os.stat(path)
    except FileNotFoundError:
        if not may_lack:
            raise
        status = os.stat(os.path.dirname(path))
    return status.st_mtime_ns // 1_000_000
