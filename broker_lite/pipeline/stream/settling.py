"""Looking at logs whose segments are being exchanged: again, until what is seen belongs together.

A cleaner renames its new segment to `.swap`, removes the old ones, and renames the new one once
more. A listing in between shows a log with a hole in it, or with a later start; so does a listing
that runs into one of the renames. Nothing but a second look tells that from a log that lost them.
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
    """The segments of a log are being exchanged, and that does not come to an end."""


def settled(look: Callable[[], _Result | None], subject: str) -> _Result:
    """Look until there is a result, for some seconds.

    Args:
        look: gives None, or raises FileNotFoundError, when what it saw does not belong together.
        subject: path of what is looked at.

    Raises:
        UnsettledLog: there is none.
        FileNotFoundError: the same file is missing twice in a row, so it is not one that vanished.
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
        f"{subject}: segments are being exchanged for others, or were when a broker or a job was"
        " killed; the next start of the broker finishes that"
    )


def is_swapping(io: FileIO, directory: str) -> bool:
    """Tell whether segments are being exchanged in the directory of a partition."""
    try:
        names = [info.name for info in io.list(directory)]
    except FileNotFoundError:
        return False
    return any(name.endswith(LOG_SUFFIX + SWAP_SUFFIX) for name in names)
