"""The launcher as the process that tests sees it: started once, asked for brokers, ended.

A process that is forked of this one has a launcher of its own when it needs one; it lets go of what
it inherited, so that the brokers live exactly as long as the process that started them.
"""

import atexit
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, Final
from weakref import WeakSet

from broker_lite.testing.plan import Plan

_START_TIMEOUT_S: Final = 60.0
_END_TIMEOUT_S: Final = 10.0
_RECEIVE_BYTES: Final = 4096


class BrokerFailed(RuntimeError):
    """A broker that did not start or has ended by itself; the text is one line for a person."""


class BrokerDied(BrokerFailed):
    """A broker that ended although nobody here had it stopped; restart() begins it again."""


class Forks:
    """The launcher's process, and the brokers that were forked of it."""

    def __init__(self) -> None:
        """Start the launcher.

        Raises:
            BrokerFailed: it does not start.
        """
        self._lock = Lock()
        self._channels: WeakSet[socket.socket] = WeakSet()
        self._sock, theirs = socket.socketpair()
        self._sock.settimeout(_START_TIMEOUT_S)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as this
        command = [sys.executable, "-P", "-m", "broker_lite.testing.launcher"]
        with theirs:
            # a session of its own: Ctrl-C is for the tests, which still need their brokers
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                command,
                stdin=theirs.fileno(),
                stdout=self._errors,
                stderr=self._errors,
                start_new_session=True,
            )
        self._count = 0
        self._asked = 0
        self._unread = b""
        self.root = self._wait_for_root()
        """Where temporary data and logs are."""

    def _wait_for_root(self) -> Path:
        try:
            return Path(self._answer()["root"])
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The process id of the launcher."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked."""
        return self._sock.fileno() >= 0 and self._process.poll() is None

    def new_number(self) -> int:
        """A number that nothing here has yet."""
        with self._lock:
            self._count += 1
            return self._count

    def start(self, plan: Plan) -> tuple[int, socket.socket]:
        """Fork a broker.

        Returns:
            Its process id, and our end of its orders; see server.orders.
        """
        ours, theirs = socket.socketpair()
        self._channels.add(ours)
        try:
            with theirs:
                answer = self._ask({"do": "start", "plan": plan._asdict()}, theirs)
        except BaseException:
            ours.close()
            raise
        return answer["pid"], ours

    def kill(self, pid: int) -> None:
        """End a broker with SIGKILL."""
        self._ask({"do": "kill", "pid": pid})

    def wait(self, pid: int) -> int | None:
        """Wait for the end of a broker that is ending: its exit code, None when nobody knows it."""
        code: int | None = self._ask({"do": "wait", "pid": pid})["code"]
        return code

    def _ask(self, request: dict[str, object], *passed: socket.socket) -> dict[str, Any]:
        with self._lock:
            self._asked += 1
            line = json.dumps({"number": self._asked, **request}).encode() + b"\n"
            try:
                if passed:
                    sent = socket.send_fds(self._sock, [line], [one.fileno() for one in passed])
                    line = line[sent:]
                self._sock.sendall(line)
            except OSError as error:
                raise self._failure() from error
            return self._answer()

    def _answer(self) -> dict[str, Any]:
        """The answer to what was asked last; who asked before that may have been interrupted."""
        while True:
            answer: dict[str, Any] = json.loads(self._line())
            if answer["number"] == self._asked:
                return answer

    def _line(self) -> bytes:
        while b"\n" not in self._unread:
            try:
                received = self._sock.recv(_RECEIVE_BYTES)
            except OSError as error:
                raise self._failure() from error
            if not received:
                raise self._failure()
            self._unread += received
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _failure(self) -> BrokerFailed:
        said: list[str] = []
        if not self._errors.closed:  # as it is once another launcher took this one's place
            self._errors.seek(0)
            said = self._errors.read().decode(errors="replace").split("\n")
        reason = next((line for line in reversed(said) if line), "it is gone")
        return BrokerFailed(f"the process that starts brokers: {reason}")

    def close(self) -> None:
        """End the launcher and all brokers, and wait until they have ended."""
        if self._sock.fileno() < 0:
            return
        for channel in list(self._channels):
            channel.close()
        self._sock.close()
        self._errors.close()
        try:
            self._process.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()

    def disown(self) -> None:
        """Let go, in a forked process: all this is its parent's."""
        for channel in list(self._channels):
            channel.close()
        self._sock.close()
        self._errors.close()
        self._process.returncode = 0  # nobody's child here: nobody is to ask


@cache
def _forks() -> list[Forks]:
    """What this process has: nothing, or its launcher."""
    return []


def forks_of_process() -> Forks:
    """The launcher of this process, started when there is none.

    Raises:
        BrokerFailed: it does not start.
    """
    held = _forks()
    if held and not held[0].is_alive:
        gone = held.pop()
        gone.close()
        shutil.rmtree(gone.root, ignore_errors=True)  # one that was killed has not done it
    if not held:
        held.append(Forks())
        atexit.register(held[0].close)
    return held[0]


def running_forks() -> Forks | None:
    """The launcher of this process if it has been started."""
    held = _forks()
    return held[0] if held else None


def _after_fork() -> None:
    for one in _forks():
        one.disown()
    _forks().clear()


os.register_at_fork(after_in_child=_after_fork)
