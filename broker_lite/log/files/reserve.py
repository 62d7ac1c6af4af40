"""Reserves space on disk in advance, with Linux's fallocate.

Python has only posix_fallocate, which makes the file longer. Then readers and recovery would find
zeros after the last batch.
"""

import sys
from collections.abc import Callable
from functools import cache
from typing import Final

_KEEP_SIZE: Final = 1  # FALLOC_FL_KEEP_SIZE of linux/falloc.h


def reserve_room(fd: int, position: int, size_bytes: int) -> bool:
    """Reserve space for a range of a file, which may lie after its end; the file's size stays.

    Returns:
        False if the disk is full, or the system or the file system cannot do it.
    """
    return fallocate()(fd, _KEEP_SIZE, position, size_bytes) == 0


@cache
def fallocate() -> Callable[[int, int, int, int], int]:
    """Return the system call, or a function that always fails if there is none."""
    # imported here, because only busy logs need it, and the import would slow down the start
    import ctypes

    if not sys.platform.startswith("linux"):
        return _unsupported
    function = ctypes.CDLL(None).fallocate
    function.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    return function


def _unsupported(_fd: int, _mode: int, _position: int, _size_bytes: int) -> int:
    return -1
