"""The testing process's side of the launcher: starts it, asks it for brokers, ends it.

A process that is forked from this one starts its own launcher if it needs one. It closes what it
inherited, so that brokers live exactly as long as the process that started them.
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

from broker_lite.testing.processes.plan import Plan

_START_TIMEOUT_S: Final = 60.0
_END_TIMEOUT_S: Final = 10.0
_RECEIVE_BYTES: Final = 4096


class BrokerFailed(RuntimeError):
    """A broker did not start, or has ended by itself; the text is one line for the user."""


class BrokerDied(BrokerFailed):
    """A broker ended without being stopped; restart() starts it again."""


class ControlRefused(BrokerFailed):
    """The control API refuses a request.

    Attributes:
        status: of HTTP; 408 for a wait whose time is over.
        found: what is there instead, if the answer says so.
    """

    def __init__(self, status: int, body: object) -> None:
        """Take the line of the answer.

        Args:
            status: of HTTP.
            body: of the answer: error, at and found.
        """
        told = body if isinstance(body, dict) else {"error": str(body)}
        at = f"{told['at']}: " if "at" in told else ""
        self.status = status
        self.found = told.get("found")
        is_told = self.found is None or (isinstance(self.found, dict) and "near" in self.found)
        there = "" if is_told else f"; there is {json.dumps(self.found)}"
        super().__init__(f"{at}{told.get('error')}{there}")


class Forks:
    """The launcher's process, and the brokers that it forked."""

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
        command = [sys.executable, "-P", "-m", "broker_lite.testing.processes.launcher"]
        with theirs:
            # its own session: Ctrl-C is for the tests, which still need their brokers
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
        """Whether the launcher can take requests."""
        return self._sock.fileno() >= 0 and self._process.poll() is None

    def new_number(self) -> int:
        """Return a new number."""
        with self._lock:
            self._count += 1
            return self._count

    def start(self, plan: Plan) -> tuple[int, socket.socket]:
        """Fork a broker.

        Returns:
            The process id, and our end of the socket for orders; see server.orders.
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
        """Wait until a broker has ended; return its exit code, None if unknown."""
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
        """Read the answer to the last request; skip those of interrupted requests."""
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
        if not self._errors.closed:  # closed once another launcher has replaced this one
            self._errors.seek(0)
            said = self._errors.read().decode(errors="replace").split("\n")
        reason = next((line for line in reversed(said) if line), "it is gone")
        return BrokerFailed(f"the process that starts brokers: {reason}")

    def close(self) -> None:
        """End the launcher and all brokers, and wait for them."""
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
        """Close the inherited sockets in a forked process; they belong to its parent."""
        for channel in list(self._channels):
            channel.close()
        self._sock.close()
        self._errors.close()
        self._process.returncode = 0  # not this process's child, so Popen must not wait for it


@cache
def _forks() -> list[Forks]:
    """Return a list with the launcher of this process, empty if there is none."""
    return []


def forks_of_process() -> Forks:
    """Return the launcher of this process; start it if there is none.

    Raises:
        BrokerFailed: it does not start.
    """
    held = _forks()
    if held and not held[0].is_alive:
        gone = held.pop()
        gone.close()
        shutil.rmtree(gone.root, ignore_errors=True)  # a killed launcher has not removed it
    if not held:
        held.append(Forks())
        atexit.register(held[0].close)
    return held[0]


def running_forks() -> Forks | None:
    """Return the launcher of this process if it was started."""
    held = _forks()
    return held[0] if held else None


def _after_fork() -> None:
    for one in _forks():
        one.disown()
    _forks().clear()


os.register_at_fork(after_in_child=_after_fork)
