"""The system calls that write batches and make them durable, where a test bench may replace them.

A caller looks the call up here each time, as it would in `os`. So a disk whose calls are not
replaced costs nothing. A compiled caller says `import ... as disk_calls`: mypyc then finds the
module as fast as it finds `os`; for `from ... import disk_calls` it searches a dictionary.
"""

import os
from collections.abc import Callable
from typing import TypeAlias

Write: TypeAlias = Callable[[int, bytes | bytearray | memoryview, int], int]
"""As os.pwrite: takes descriptor, data and position; returns how many bytes were written."""

Sync: TypeAlias = Callable[[int], None]
"""As os.fsync."""

pwrite: Write = os.pwrite
fsync: Sync = os.fsync
fdatasync: Sync = os.fdatasync


def take_over(write: Write, sync: Sync, sync_data: Sync) -> None:
    """Have other functions called from now on, in all threads.

    No function of `os` has this name: tests that change `os` change what has the same name here.

    Args:
        write: in place of os.pwrite.
        sync: in place of os.fsync.
        sync_data: in place of os.fdatasync.
    """
    global pwrite, fsync, fdatasync
    pwrite, fsync, fdatasync = write, sync, sync_data


def give_back() -> None:
    """Have the calls of the operating system made again."""
    take_over(os.pwrite, os.fsync, os.fdatasync)
