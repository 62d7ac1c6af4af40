"""What a Python worker of Spark does once, before its first task."""

import gc
from functools import cache


@cache
def settle_worker() -> None:
    """Take what was imported out of the garbage collector's sight.

    Spark collects after each task of a worker that it uses again, which takes 0.1 s over all that
    pandas and Arrow consist of: measured, 40 % of the CPU of a worker that reads 128 MB a task.
    """
    gc.freeze()
