"""The process of one broker, and the socket for its orders."""

import json
import os
import select
import signal
import time
from collections import deque
from typing import Final, NamedTuple

from broker_lite.testing.forks import BrokerDied, BrokerFailed, Forks
from broker_lite.testing.plan import Plan

_RECEIVE_BYTES: Final = 4096
_END_TIMEOUT_S: Final = 10.0
_LAST_LINES: Final = 3
_OK: Final = 200


class _Answer(NamedTuple):
    status: int
    body: object


class BrokerProcess:
    """A broker's process, from its start until its end is noticed.

    Attributes:
        pid: the process id.
        address: HOST:PORT of its first listener, as last reported.
    """

    def __init__(self, forks: Forks, plan: Plan, timeout_s: float) -> None:
        """Start it, and wait until it is ready.

        Raises:
            BrokerFailed: it does not start.
        """
        self._forks = forks
        self._owner_pid = os.getpid()
        self._log_path = plan.log_path
        self.pid, self._orders = forks.start(plan)
        self._unread = b""
        self._lives_due = 1
        self._asked = 0
        try:
            self.address = self._ready(timeout_s)
        except BaseException:
            self._orders.close()
            raise

    @property
    def is_inherited(self) -> bool:
        """Whether it was started by a process from which this one was forked."""
        return self._owner_pid != os.getpid()

    @property
    def is_closed(self) -> bool:
        """Whether no more orders can be given, because it has ended or was killed."""
        return self._orders.fileno() < 0

    @property
    def has_ended(self) -> bool:
        """Whether the process is gone in any way: the other end of its socket is closed."""
        poll = select.poll()
        poll.register(self._orders, 0)  # POLLHUP is always reported
        return bool(poll.poll(0))

    def death(self) -> BrokerDied:
        """Wait for the exit code of an ended process; return an error that says how it ended."""
        try:
            how = _how(self._end())
        except BrokerFailed as error:  # only the launcher knows, and it is gone, too
            how = f"has ended ({error})"
        return self._died(how)

    def reset(self, timeout_s: float) -> None:
        """Reset it, and wait until it is ready.

        Raises:
            BrokerDied: it has ended.
            BrokerFailed: the reset failed.
        """
        self._order(b"reset\n")
        self._lives_due += 1
        self.address = self._ready(timeout_s)

    def step(self, step_ms: int, timeout_s: float) -> None:
        """Move its clock, and wait until the triggered work is done.

        Raises:
            BrokerDied: it has ended.
        """
        self._order(b"step %d\n" % step_ms)
        deadline_s = time.monotonic() + timeout_s
        while self._line(deadline_s, timeout_s) != "stepped":
            self._lives_due -= 1  # the answer to an interrupted reset

    def control(self, method: str, path: str, body: object, timeout_s: float) -> object:
        """Carry out a request of the control API, and return the answer's body.

        Args:
            method: of HTTP.
            path: with percent-encoded names.
            body: what becomes JSON; None for none.
            timeout_s: for the answer.

        Raises:
            BrokerDied: it has ended.
            BrokerFailed: the request is refused.
        """
        self._asked += 1
        request = {"id": self._asked, "method": method, "path": path}
        if body is not None:
            request["body"] = body
        self._order(json.dumps(request).encode() + b"\n")
        answer = self._answer(self._asked, time.monotonic() + timeout_s, timeout_s)
        if answer.status != _OK:
            assert isinstance(answer.body, dict)
            text = str(answer.body["error"])
            if "found" in answer.body:  # a wait timed out: what is there now
                text += f"; there is {json.dumps(answer.body['found'])}"
            raise BrokerFailed(text)
        return answer.body

    def _answer(self, number: int, deadline_s: float, timeout_s: float) -> _Answer:
        """Wait for an answer; those to interrupted requests are skipped."""
        while True:
            line = self._line(deadline_s, timeout_s)
            if not line.startswith("{"):
                self._lives_due -= 1  # the answer to an interrupted reset
                continue
            answer = json.loads(line)
            if answer["id"] == number:
                return _Answer(answer["status"], answer["body"])

    def stop(self) -> None:
        """Stop it, and wait for its end.

        Raises:
            BrokerDied: it had ended before.
            BrokerFailed: it did not stop in time, or failed.
        """
        self._order(b"stop\n")
        self._orders.settimeout(_END_TIMEOUT_S)
        try:
            while self._orders.recv(_RECEIVE_BYTES):
                pass
        except TimeoutError:
            self.kill()
            raise self._failure(f"it did not stop within {_END_TIMEOUT_S:.0f} s") from None
        except ConnectionError:  # it ended without reading the order
            pass
        self._orders.close()
        code = self._forks.wait(self.pid)
        if code is not None and code < 0:  # it was killed before it read the order
            raise self._died(_how(code))
        if code:
            raise self._failure(f"its exit code is {code}")

    def kill(self) -> None:
        """End it with SIGKILL, and wait until it is gone."""
        self._forks.kill(self.pid)
        self._orders.close()
        self._forks.wait(self.pid)

    def _order(self, line: bytes) -> None:
        try:
            self._orders.sendall(line)
        except OSError:
            raise self.death() from None

    def _ready(self, timeout_s: float) -> str:
        """Wait until it is ready; return HOST:PORT.

        Each start or reset sends one line; those of interrupted calls are skipped.
        """
        deadline_s = time.monotonic() + timeout_s
        while True:
            what, _, rest = self._line(deadline_s, timeout_s).partition(" ")
            if what != "ready":
                self._end()
                raise BrokerFailed(rest)
            self._lives_due -= 1
            if not self._lives_due:
                return rest

    def _line(self, deadline_s: float, timeout_s: float) -> str:
        while b"\n" not in self._unread:
            self._orders.settimeout(max(deadline_s - time.monotonic(), 0.001))
            try:
                received = self._orders.recv(_RECEIVE_BYTES)
            except TimeoutError:
                self.kill()
                raise self._failure(f"it was not ready within {timeout_s:g} s") from None
            except OSError:
                received = b""
            if not received:
                raise self.death()
            self._unread += received
        line, _, self._unread = self._unread.partition(b"\n")
        return line.decode()

    def _end(self) -> int | None:
        self._orders.close()
        return self._forks.wait(self.pid)

    def _died(self, how: str) -> BrokerDied:
        return BrokerDied(f"the broker (pid {self.pid}) {how}{self._last_lines()}")

    def _failure(self, what: str) -> BrokerFailed:
        return BrokerFailed(f"the broker: {what}{self._last_lines()}")

    def _last_lines(self) -> str:
        """Return the last lines of its log, to append to an error."""
        try:
            with open(self._log_path, encoding="utf-8", errors="replace") as log:
                said = deque((line.strip() for line in log if line.strip()), _LAST_LINES)
        except OSError:
            return ""
        return f"; it logged last: {' | '.join(said)}" if said else ""


def _how(code: int | None) -> str:
    if code is None:
        return "has ended"
    return (
        f"was killed by {signal.Signals(-code).name}"
        if code < 0
        else f"ended with exit code {code}"
    )
