"""Set-up of a Python worker of Spark."""

import gc
from typing import Final

# Twice, because the first task imports modules while it runs.
_TASKS: Final = iter(range(2))


def settle_worker() -> None:
    """Exclude the imported modules from garbage collection; called before each task.

    Spark collects garbage after each task of a reused worker. Over the objects of pandas and Arrow
    that takes 0.1 s: 40 % of the CPU of a worker that reads 128 MB per task.
    """
    if next(_TASKS, None) is not None:
        gc.freeze()
