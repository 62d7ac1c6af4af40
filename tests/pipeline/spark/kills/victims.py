"""The processes of a driver that Spark can do without: which they are, and how one is killed.

A driver has one Java, which starts a daemon of Python that forks a worker for each task at a time.
With local-cluster[…] as its master it has executors, each a Java with workers of its own.
"""

import random
import signal
from typing import Final

import psutil

MASTERS: Final = {"worker": "local[2,4]", "executor": "local-cluster[2,1,1024]"}
"""Where a job runs whose victim is of this kind: masters that let Spark try a lost task again."""

_DAEMON: Final = ["-m", "pyspark.daemon", "pyspark.worker"]
_EXECUTOR: Final = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


def kill_one(kind: str, choice: random.Random) -> bool:
    """Kill a worker or an executor of this process's session with SIGKILL.

    Args:
        kind: `worker` or `executor`.
        choice: which one.

    Returns:
        Whether there was one.
    """
    below = psutil.Process().children(recursive=True)
    if kind == "worker":
        found = _workers(below)
    else:
        found = [one for one in below if _EXECUTOR in _words(one)]
    if not found:
        return False
    try:
        choice.choice(found).send_signal(signal.SIGKILL)
    except psutil.NoSuchProcess:
        return False
    return True


def _workers(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Return the workers: what a daemon has forked has its command line."""
    alike = {one.pid: one for one in processes if _words(one)[1:] == _DAEMON}
    return [one for one in alike.values() if _parent(one) in alike]


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def _parent(process: psutil.Process) -> int:
    try:
        return process.ppid()
    except psutil.NoSuchProcess:
        return 0
