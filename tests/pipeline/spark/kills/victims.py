"""The processes of a driver that Spark can do without: which they are, and how they are held.

A driver has one Java, which starts a daemon of Python that forks a worker for each task at a time.
With local-cluster[…] as its master it has executors, each a Java with workers of its own.
"""

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import psutil

MASTERS: Final = {"worker": "local[2,4]", "executor": "local-cluster[2,1,1024]"}
"""Where a job runs whose victim is of this kind: masters that let Spark try a lost task again."""

_DAEMON: Final = ["-m", "pyspark.daemon", "pyspark.worker"]
_EXECUTOR: Final = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


def victims(kind: str) -> list[psutil.Process]:
    """Return the workers, or the executors, of this process's session; some may be idle.

    Args:
        kind: `worker` or `executor`.
    """
    below = psutil.Process().children(recursive=True)
    if kind == "worker":
        return _workers(below)
    return [one for one in below if _EXECUTOR in _words(one)]


@contextmanager
def standing_still(processes: Sequence[psutil.Process]) -> Iterator[None]:
    """Let processes run on only after the block: what they have begun does not end in it."""
    try:
        for one in processes:
            signalled(one, signal.SIGSTOP)
        yield
    finally:
        for one in processes:
            signalled(one, signal.SIGCONT)


def signalled(process: psutil.Process, number: signal.Signals) -> bool:
    """Send a signal, and return whether the process was still there."""
    try:
        process.send_signal(number)
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
