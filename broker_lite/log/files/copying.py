"""Copies of files, and hard links that must not be written through."""

import os
import shutil
from contextlib import suppress
from typing import Final

_READ: Final = os.O_RDONLY | os.O_CLOEXEC
_WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_AT_ONCE_BYTES: Final = 64 * 1024
_UNSHARED_SUFFIX: Final = ".unshared"


def copy_file(source: str, target: str) -> None:
    """Copy a file's content, without fsync; the file system shares the blocks where it can.

    Args:
        source: path of a file.
        target: path of a file that does not exist.

    Raises:
        OSError: it is not copied, or only in part.
    """
    reading = os.open(source, _READ)
    try:
        writing = os.open(target, _WRITE, 0o644)
        try:
            _copy(reading, writing, os.fstat(reading).st_size)
        finally:
            os.close(writing)
    finally:
        os.close(reading)


def _copy(reading: int, writing: int, size_bytes: int) -> None:
    if size_bytes <= _AT_ONCE_BYTES:
        if size_bytes:
            os.write(writing, os.read(reading, size_bytes))
        return
    copied = 0
    with suppress(OSError):  # not all file systems can do it
        while copied < size_bytes:
            count = os.copy_file_range(reading, writing, size_bytes - copied, copied, copied)
            if count == 0:
                break
            copied += count
    if copied < size_bytes:
        os.lseek(reading, copied, os.SEEK_SET)
        os.lseek(writing, copied, os.SEEK_SET)
        with (
            open(reading, "rb", closefd=False) as source,
            open(writing, "wb", closefd=False) as target,
        ):
            shutil.copyfileobj(source, target)


def link_or_copy(source: str, target: str) -> None:
    """Give a file that is not written any more a second name; copy it where that is not possible.

    Raises:
        OSError: the copy was not made.
    """
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        copy_file(source, target)


def unshare(path: str) -> None:
    """Make sure that a file that is about to be changed has no second name, such as in a snapshot.

    Raises:
        OSError: the file is as it was.
    """
    if os.stat(path).st_nlink > 1:
        temporary = path + _UNSHARED_SUFFIX
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        copy_file(path, temporary)
        os.replace(temporary, path)
