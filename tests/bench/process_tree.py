"""What a process takes with all that it starts: CPU time, and memory and disk at their peaks.

Spark's driver is such a process: it starts a Java, which starts workers of Python.
"""

import contextlib
import os
import re
import time
from pathlib import Path
from threading import Event, Thread
from typing import Final, NamedTuple, Self

import psutil

PERIOD_S: Final = 0.5
"""A look takes about 20 ms, most of it to find the processes among all those of the machine."""
JAVA: Final = "java"

# Pages that are shared count once. Those of files are left out: the system can take them back.
_OWN: Final = re.compile(r"^Pss_(?:Anon|Shmem): +(\d+) kB$", re.MULTILINE)
_BLOCK_BYTES: Final = 512
_GONE: Final = (psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError)


class Taken(NamedTuple):
    """What a process and those that it started have taken.

    Attributes:
        seconds: by the wall.
        cpu_s: of all of them; up to a period of each that ended is missing.
        java_bytes: the most memory that Java had at a time, without pages of files.
        python_bytes: the same of all others together.
        disk_bytes: how much more the folder took at its peak than at the beginning.
    """

    seconds: float
    cpu_s: float
    java_bytes: int
    python_bytes: int
    disk_bytes: int


class ProcessTree:
    """Looks at a process twice a second, as a context manager around its life.

    Args:
        pid: of the process.
        folder: where it writes, temporary files too.
    """

    def __init__(self, pid: int, folder: Path) -> None:
        self._root, self._folder = psutil.Process(pid), folder
        self._cpu_s: dict[int, float] = {}
        self._java_bytes = self._python_bytes = 0
        self._before_bytes = self._disk_bytes = size_on_disk(folder)
        self._is_over = Event()
        self._thread = Thread(target=self._watch)
        self._began_s = self._ended_s = 0.0

    def __enter__(self) -> Self:
        self._began_s = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended_s = time.monotonic()
        self._is_over.set()
        self._thread.join()

    @property
    def taken(self) -> Taken:
        """What was seen in the life of the process."""
        return Taken(
            seconds=self._ended_s - self._began_s,
            cpu_s=sum(self._cpu_s.values()),
            java_bytes=self._java_bytes,
            python_bytes=self._python_bytes,
            disk_bytes=self._disk_bytes - self._before_bytes,
        )

    def _watch(self) -> None:
        while not self._is_over.wait(PERIOD_S):
            self._look()

    def _look(self) -> None:
        java_bytes = python_bytes = 0
        for process in self._alive():
            with contextlib.suppress(*_GONE):
                is_java, own_bytes = process.name() == JAVA, memory_bytes(process.pid)
                times = process.cpu_times()
                self._cpu_s[process.pid] = times.user + times.system
                java_bytes += own_bytes if is_java else 0
                python_bytes += 0 if is_java else own_bytes
        self._java_bytes = max(self._java_bytes, java_bytes)
        self._python_bytes = max(self._python_bytes, python_bytes)
        self._disk_bytes = max(self._disk_bytes, size_on_disk(self._folder))

    def _alive(self) -> list[psutil.Process]:
        with contextlib.suppress(*_GONE):
            return [self._root, *self._root.children(recursive=True)]
        return []


def memory_bytes(pid: int) -> int:
    """Return the memory of a process that is no file's; its share of what processes share."""
    rolled_up = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii")
    return sum(int(kib) << 10 for kib in _OWN.findall(rolled_up))


def size_on_disk(folder: Path) -> int:
    """Return how much the files below a folder take; some may vanish meanwhile."""
    total = 0
    for directory, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += os.lstat(os.path.join(directory, name)).st_blocks * _BLOCK_BYTES
    return total
