"""Room on disk ahead of what is written, by Linux's fallocate.

Python knows only posixfallocate, which makes the file longer; readers and recovery would then meet
zeros behind the last batch.
"""

import sys
from collections.abc import Callable
from functools import cache
from typing import Final

_KEEP_SIZE: Final = 1  # FALLOC_FL_KEEP_SIZE of linux/falloc.h


def reserve_room(fd: int, position: int, size_bytes: int) -> bool:
    """Reserve room for a range of a file that may reach behind its end; the size stays.

    Returns:
        False where that cannot be had: no room, another system, a file system that cannot.
    """
    return fallocate()(fd, _KEEP_SIZE, position, size_bytes) == 0


@cache
def fallocate() -> Callable[[int, int, int, int], int]:
    """The system call, or a function that always fails where there is none."""
    # Needed by busy logs only: the import is not for the start.
    import ctypes

    if not sys.platform.startswith("linux"):
        return _unsupported
    function = ctypes.CDLL(None).fallocate
    function.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    return function


def _unsupported(_fd: int, _mode: int, _position: int, _size_bytes: int) -> int:
    return -1
