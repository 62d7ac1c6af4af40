"""Starts a further process of the broker: a program of its own, with one end of a socket."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Final

import broker_lite

_MODULE: Final = "broker_lite.commands.worker"
_PACKAGES: Final = str(Path(broker_lite.__file__).parent.parent)
_SUSPENDED: Final = ("T", "t")
"""The states of such a process in /proc."""


class Spawned:
    """A process that was started."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    @property
    def pid(self) -> int:
        """Its number in the system."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    @property
    def is_suspended(self) -> bool:
        """Whether it was stopped by SIGSTOP or a debugger, and goes on when it is let."""
        try:
            stat = Path(f"/proc/{self.pid}/stat").read_text()
        except OSError:  # it has ended, or the system has no such files
            return False
        return stat.rpartition(")")[2].split()[0] in _SUSPENDED

    def wait(self, timeout_s: float) -> int:
        """Wait for the end, and return the exit code; a process that does not end is killed."""
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


def spawn() -> tuple[Spawned, socket.socket]:
    """Start a process, and return it with the socket to it.

    It is no fork, because this process has an event loop and threads. It finds the package where
    this process has found it.

    Raises:
        OSError: the machine has no room for it.
    """
    own, other = socket.socketpair()
    path = os.pathsep.join(filter(None, (_PACKAGES, os.environ.get("PYTHONPATH"))))
    try:
        process = subprocess.Popen(  # noqa: S603 - it is this program
            [sys.executable, "-m", _MODULE, str(other.fileno())],
            stdin=subprocess.DEVNULL,
            pass_fds=(other.fileno(),),
            env={**os.environ, "PYTHONPATH": path},
        )
    except OSError:
        own.close()
        raise
    finally:
        other.close()
    own.setblocking(False)
    return Spawned(process), own


CLEAN_END: Final = "a stop"


def describe_end(code: int) -> str:
    """Return an exit code in words."""
    if code == 0:
        return CLEAN_END
    if code > 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
