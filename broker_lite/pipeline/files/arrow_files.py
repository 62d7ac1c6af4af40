"""Files that pyarrow opens: s3, gs, abfs, hdfs, and what else its build supports."""

from typing import Self

import pyarrow as pa
from pyarrow import fs

from broker_lite.pipeline.files.file_io import (
    REMOTE_READ_BYTES,
    FileInfo,
    FileIO,
    ReadableFile,
    WritableFile,
)


def open_arrow(uri: str) -> tuple[FileIO, str] | None:
    """Return the file system of a URI and the path inside it; None if Arrow does not support it.

    Raises:
        OSError: the storage cannot be reached.
    """
    try:
        file_system, path = fs.FileSystem.from_uri(uri)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return ArrowFileIO(file_system), path


class ArrowFileIO:
    """FileIO over a file system of pyarrow."""

    __slots__ = ("_file_system",)

    def __init__(self, file_system: fs.FileSystem) -> None:
        self._file_system = file_system

    @property
    def read_bytes(self) -> int:
        """See FileIO."""
        return REMOTE_READ_BYTES

    def list(self, path: str) -> list[FileInfo]:
        """See FileIO."""
        kind = self._file_system.get_file_info(path).type
        if kind is fs.FileType.File:
            raise NotADirectoryError(f"not a directory: {path}")
        infos = self._file_system.get_file_info(fs.FileSelector(path))
        return sorted(
            FileInfo(info.base_name, info.size or 0, info.type is fs.FileType.Directory)
            for info in infos
        )

    def size(self, path: str) -> int:
        """See FileIO."""
        info = self._file_system.get_file_info(path)
        if info.type is not fs.FileType.File:
            raise FileNotFoundError(f"no such file: {path}")
        size_bytes: int = info.size
        return size_bytes

    def exists(self, path: str) -> bool:
        """See FileIO."""
        return self._file_system.get_file_info(path).type is not fs.FileType.NotFound

    def open(self, path: str) -> ReadableFile:
        """See FileIO."""
        return _ArrowFile(self._file_system.open_input_file(path))

    def create(self, path: str) -> WritableFile:
        """See FileIO."""
        stream: WritableFile = self._file_system.open_output_stream(path)
        return stream

    def rename(self, old: str, new: str) -> None:
        """See FileIO."""
        self._file_system.move(old, new)

    def delete(self, path: str) -> None:
        """See FileIO."""
        self._file_system.delete_file(path)

    def make_directory(self, path: str) -> None:
        """See FileIO."""
        self._file_system.create_dir(path, recursive=True)

    def sync(self, path: str) -> None:
        """Do nothing: closing a stream hands it to the storage, which has no fsync."""


class _ArrowFile:
    """An input file of pyarrow."""

    __slots__ = ("_file",)

    def __init__(self, file: pa.NativeFile) -> None:
        self._file = file

    @property
    def size_bytes(self) -> int:
        size_bytes: int = self._file.size()
        return size_bytes

    def read_at(self, position: int, size_bytes: int) -> bytes:
        if position >= self.size_bytes:
            return b""  # object stores refuse such a range
        data: bytes = self._file.read_at(size_bytes, position)
        return data

    def next_data(self, position: int) -> int:
        return position

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
