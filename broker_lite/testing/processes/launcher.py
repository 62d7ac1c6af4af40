"""The process that forks brokers: `python -m broker_lite.testing.processes.launcher`.

It has imported everything and filled all caches, so a fork is ready after milliseconds. It runs no
thread and no event loop. Its standard input is a socket to the testing process, which sends one
request per line and waits for the answer, a line as well, both JSON:

    {"do": "start", "plan": {...}}    with the broker's end of its orders -> {"pid": 123}
    {"do": "kill", "pid": 123}        -> {}
    {"do": "wait", "pid": 123}        -> {"code": 0}, when it has ended

Requests and answers are numbered: if the testing process was interrupted while waiting, it finds
the old answer before the next one.

When the testing process ends in any way, the sockets close, and the brokers stop. The launcher
waits for them and removes their files.
"""

import gc
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import Any, Final, NamedTuple

from broker_lite.testing.processes.plan import Plan

_RECEIVE_BYTES: Final = 1 << 16
# How long a broker may take to stop before it is killed.
_END_TIMEOUT_S: Final = 5.0
_POLL_S: Final = 0.005
# Temporary data goes to memory if so much of it is free.
_MEMORY_FREE_BYTES_MIN: Final = 1 << 30
_MEMORY: Final = "/dev/shm"  # noqa: S108 - only a directory with a random name is created there


class Job(NamedTuple):
    """The job of a forked process: run the broker of a plan, with a descriptor for orders."""

    plan: Plan
    orders: int


class Launcher:
    """Forks brokers on request."""

    def __init__(self, sock: socket.socket, root: Path) -> None:
        """Keep the arguments; run() serves requests.

        Args:
        sock: connected to the testing process.
        root: the directory for temporary data and logs.
        """
        self._sock = sock
        self._root = root
        self._children: set[int] = set()
        self._unread = b""
        self._fds: deque[int] = deque()

    def run(self) -> Job | None:
        """Answer requests until the socket ends.

        Returns:
            None at the end of the socket; the job in a forked process.
        """
        self._answer(0, {"root": str(self._root)})
        while (request := self._receive()) is not None:
            match request["do"]:
                case "start":
                    orders = self._fds.popleft()
                    job = self._fork(request["number"], Plan(**request["plan"]), orders)
                    if job is not None:
                        return job
                case "kill":
                    if request["pid"] in self._children:
                        os.kill(request["pid"], signal.SIGKILL)
                    self._answer(request["number"], {})
                case "wait":
                    self._answer(request["number"], {"code": self._wait(request["pid"])})
        return None

    def _receive(self) -> dict[str, Any] | None:
        """Read the next request, None at the end; passed descriptors arrive in order."""
        while b"\n" not in self._unread:
            received, fds, _, _ = socket.recv_fds(self._sock, _RECEIVE_BYTES, 1)
            self._fds += fds
            if not received:
                return None
            self._unread += received
        line, _, self._unread = self._unread.partition(b"\n")
        request: dict[str, Any] = json.loads(line)
        return request

    def _answer(self, number: int, answer: dict[str, object]) -> None:
        self._sock.sendall(json.dumps({"number": number, **answer}).encode() + b"\n")

    def _fork(self, number: int, plan: Plan, orders: int) -> Job | None:
        pid = os.fork()
        if not pid:
            self._sock.close()
            return Job(plan, orders)
        os.close(orders)
        self._children.add(pid)
        self._answer(number, {"pid": pid})
        return None

    def _wait(self, pid: int) -> int | None:
        if pid not in self._children:
            return None
        self._children.remove(pid)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def end(self) -> None:
        """Wait for the brokers, which end by themselves, and remove their files."""
        deadline_s = time.monotonic() + _END_TIMEOUT_S
        while self._children:
            self._children -= {pid for pid in self._children if os.waitpid(pid, os.WNOHANG)[0]}
            if self._children and time.monotonic() > deadline_s:
                for pid in self._children:
                    os.kill(pid, signal.SIGKILL)
            time.sleep(_POLL_S if self._children else 0)
        shutil.rmtree(self._root, ignore_errors=True)


def temporary_place(
    memory: str = _MEMORY, free_bytes_min: int = _MEMORY_FREE_BYTES_MIN
) -> str | None:
    """Return the directory for temporary data: in memory if there is plenty, else None.

    On a disk, a start and a reset take up to ten times as long, for data that is not kept.

    Args:
        memory: a directory of a file system in memory, if the machine has one.
        free_bytes_min: the least free space to use it.
    """
    if "TMPDIR" in os.environ:
        return None
    try:
        status = os.statvfs(memory)
    except OSError:
        return None
    is_good = status.f_bavail * status.f_frsize >= free_bytes_min
    return memory if is_good and os.access(memory, os.W_OK | os.X_OK) else None


def main() -> int:
    """Run the launcher; in a fork, the broker."""
    gc.disable()  # imported objects stay
    from broker_lite.testing.processes.child import run_broker, warm_up

    root = Path(tempfile.mkdtemp(prefix="broker-lite-", dir=temporary_place()))
    warm_up(root)
    gc.freeze()  # frozen objects stay shared with the forks
    gc.enable()
    launcher = Launcher(socket.socket(fileno=os.dup(0)), root)
    try:
        job = launcher.run()
    except ConnectionError:
        job = None
    if job is not None:
        return run_broker(job.plan, job.orders)
    launcher.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
