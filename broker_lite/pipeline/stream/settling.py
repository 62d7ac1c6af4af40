"""Repeats a listing of logs until it does not fall into a swap of segments.

A cleaner renames its new segment to `.swap`, removes the old ones, and renames the new one again. A
listing in between shows a log with a hole or a later start. Only a second listing can tell that
from a log that lost segments.
"""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from broker_lite.log.files.names import LOG_SUFFIX, SWAP_SUFFIX
from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.read.ranges import PlanError

ATTEMPTS: Final = 200
PAUSE_S: Final = 0.05

_Result = TypeVar("_Result")


class UnsettledLog(PlanError):
    """A swap of segments has not ended in time."""


def settled(look: Callable[[], _Result | None], subject: str) -> _Result:
    """Call a function until it returns a result, for at most ten seconds.

    Args:
        look: returns None or raises FileNotFoundError if what it saw is not consistent.
        subject: the path, for the error.

    Raises:
        UnsettledLog: there was no result in time.
        FileNotFoundError: the same file is missing twice in a row, so no swap explains it.
    """
    missing: list[object] = []
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE_S)
        try:
            result = look()
        except FileNotFoundError as error:
            if [error.filename] == missing:
                raise
            missing = [error.filename]
        else:
            if result is not None:
                return result
            missing = []
    raise UnsettledLog(
        f"{subject}: segments are being swapped, or were when a broker or a job was"
        " killed; the next start of the broker finishes that"
    )


def is_swapping(io: FileIO, directory: str) -> bool:
    """Tell whether segments of a partition are being swapped."""
    try:
        names = [info.name for info in io.list(directory)]
    except FileNotFoundError:
        return False
    return any(name.endswith(LOG_SUFFIX + SWAP_SUFFIX) for name in names)
