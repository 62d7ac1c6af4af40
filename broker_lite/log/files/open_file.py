"""Open files, and ranges of them as plain data.

A FileSlice is a range of bytes of an open file, and holds a reference to its OpenFile. The
descriptor closes when the last reference goes. So the cache may drop a file, or a topic may be
deleted, while a slice of the file is still being sent.
"""

import errno
import os
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from broker_lite.log.files import disk_calls
from broker_lite.log.files.reserve import reserve_room

CREATE: Final = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
OPEN: Final = os.O_RDWR | os.O_CLOEXEC


class SyncError(OSError):
    """An fsync failed, and it is unknown which of the written data is on disk.

    To call fsync again does not help: the kernel may have dropped the pages that it could not
    write, so the next fsync would succeed without them.
    """


class FileSlice(NamedTuple):
    """A fixed range of an open file; later appends do not change it.

    See: F-15 (FileRecords.slice).
    """

    fd: int
    position: int
    size_bytes: int
    owner: object


class ReadsAt(Protocol):
    """A file that can be read at a position; walks over batches need nothing else."""

    def read_at(self, position: int, size_bytes: int) -> bytes:
        """Read bytes from a position on, fewer at the end of the file.

        Raises:
            OSError: the file cannot be read.
        """


class OpenFile:
    """A file descriptor that is closed when the last reference to this object goes.

    Attributes:
        fd: the descriptor.
        on_close: called after the descriptor was closed.
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
        """Read bytes from a position on until the buffer is full; return how many were read.

        Fewer bytes are read only at the end of the file.

        Raises:
            OSError: the file cannot be read.
        """
        filled = 0
        # A call that meets a bad sector returns the bytes before it; only the next call fails.
        while filled < len(buffer):
            count = os.preadv(self.fd, [buffer[filled:]], position + filled)
            if count == 0:
                break
            filled += count
        return filled

    def write(self, data: bytes | bytearray | memoryview, position: int) -> None:
        """Write all data at a position; after a short write, go on with the rest.

        Raises:
            OSError: part of the data may have been written.
        """
        view = memoryview(data)
        written = disk_calls.pwrite(self.fd, view, position)
        while written < len(view):
            count = disk_calls.pwrite(self.fd, view[written:], position + written)
            if count == 0:
                raise OSError(errno.EIO, "nothing more could be written")
            written += count

    def reserve(self, position: int, size_bytes: int) -> bool:
        """Reserve space on disk; the file's contents and its size stay as they are.

        Returns:
            False if the disk is full, or the system cannot do it.
        """
        return reserve_room(self.fd, position, size_bytes)

    def cut(self, size_bytes: int) -> None:
        """Set the size of the file.

        Raises:
            OSError: the size did not change.
        """
        os.ftruncate(self.fd, size_bytes)

    def sync(self) -> None:
        """Make the content durable.

        Raises:
            SyncError: the content may not be on disk.
        """
        synchronize(self.fd, disk_calls.fsync)

    def sync_data(self) -> None:
        """Make the content and the size durable, not the file's times.

        Raises:
            SyncError: the content may not be on disk.
        """
        synchronize(self.fd, disk_calls.fdatasync)


def synchronize(fd: int, system_call: Callable[[int], None]) -> None:
    """Call fsync or fdatasync.

    Raises:
        SyncError: the call failed.
    """
    try:
        system_call(fd)
    except OSError as error:
        raise SyncError(error.errno, error.strerror) from error


def write_file(path: str, data: bytes) -> None:
    """Replace a file's content in one step, without fsync; for files that recovery can rebuild.

    Raises:
        OSError: the file has its old content.
    """
    temporary = path + ".tmp"
    OpenFile(temporary, CREATE).write(data, 0)
    os.replace(temporary, path)


def create_file(path: str, data: bytes) -> None:
    """Write a new file, without fsync; for files that may be incomplete after a crash.

    Raises:
        OSError: nothing or only a part was written.
    """
    OpenFile(path, CREATE).write(data, 0)


def sync_file(path: str) -> None:
    """Make a file's content durable; do nothing if the file does not exist.

    Raises:
        OSError: the data may not be on disk.
    """
    try:
        file = OpenFile(path)
    except FileNotFoundError:
        return
    file.sync()


def modified_ms(path: str, *, may_lack: bool = False) -> int:
    """Return the time of a file's last change, in milliseconds.

    Args:
        path: the file.
        may_lack: if the file does not exist, return the time of its directory.

    Raises:
        OSError: the time cannot be read.
    """
    try:
        status = os.stat(path)
    except FileNotFoundError:
        if not may_lack:
            raise
        status = os.stat(os.path.dirname(path))
    return status.st_mtime_ns // 1_000_000
