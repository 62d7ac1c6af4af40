"""Files that fsspec opens, for storage that pyarrow does not support."""

import fsspec
from fsspec.core import url_to_fs

from broker_lite.pipeline.files.file_io import (
    REMOTE_READ_BYTES,
    FileInfo,
    FileIO,
    Lasting,
    ReadableFile,
    UnknownFileSystem,
    WritableFile,
)


def open_fsspec(uri: str) -> tuple[FileIO, str] | None:
    """Return the file system of a URI and the path inside it; None if fsspec does not support it.

    Raises:
        UnknownFileSystem: fsspec supports the scheme, but a package for it is missing.
        OSError: the storage cannot be reached.
    """
    scheme = uri.partition("://")[0]
    if scheme not in fsspec.available_protocols():
        return None
    try:
        file_system, path = url_to_fs(uri)
    except ImportError as error:
        raise UnknownFileSystem(f"path {uri!r}: {error}") from error
    return FsspecFileIO(file_system), path


class FsspecFileIO:
    """FileIO over a file system of fsspec."""

    __slots__ = ("_file_system",)

    def __init__(self, file_system: fsspec.AbstractFileSystem) -> None:
        self._file_system = file_system

    @property
    def read_bytes(self) -> int:
        """See FileIO."""
        return REMOTE_READ_BYTES

    def list(self, path: str) -> list[FileInfo]:
        """See FileIO."""
        # Some file systems cache listings, which would hide how a live log grows.
        self._file_system.invalidate_cache(path)
        if self._file_system.isfile(path):
            raise NotADirectoryError(f"not a directory: {path}")
        return sorted(
            FileInfo(
                entry["name"].rstrip("/").rpartition("/")[2],
                entry["size"] or 0,
                entry["type"] == "directory",
            )
            for entry in self._file_system.ls(path, detail=True)
        )

    def size(self, path: str) -> int:
        """See FileIO."""
        size_bytes: int = self._file_system.info(path)["size"]
        return size_bytes

    def exists(self, path: str) -> bool:
        """See FileIO."""
        return bool(self._file_system.exists(path))

    def open(self, path: str) -> ReadableFile:
        """See FileIO."""
        return _FsspecFile(self._file_system, path)

    def create(self, path: str) -> WritableFile:
        """See FileIO."""
        stream: WritableFile = self._file_system.open(path, "wb")
        return stream

    def rename(self, old: str, new: str) -> None:
        """See FileIO."""
        self._file_system.mv(old, new)

    def delete(self, path: str) -> None:
        """See FileIO."""
        self._file_system.rm_file(path)

    def make_directory(self, path: str) -> None:
        """See FileIO."""
        self._file_system.makedirs(path, exist_ok=True)

    def sync(self, path: str) -> None:
        """Do nothing: closing a stream hands it to the storage, which has no fsync."""


class _FsspecFile(Lasting):
    """A file that is read by range requests; nothing stays open between them."""

    __slots__ = ("_file_system", "_path", "_size_bytes")

    def __init__(self, file_system: fsspec.AbstractFileSystem, path: str) -> None:
        self._file_system = file_system
        self._path = path
        self._size_bytes: int = file_system.info(path)["size"]

    @property
    def size_bytes(self) -> int:
        return self._size_bytes

    def read_at(self, position: int, size_bytes: int) -> bytes:
        if position >= self._size_bytes:
            return b""  # object stores refuse such a range
        end = min(position + size_bytes, self._size_bytes)
        data: bytes = self._file_system.cat_file(self._path, start=position, end=end)
        return data

    def next_data(self, position: int) -> int:
        return position
