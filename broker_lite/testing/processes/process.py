"""The process of one broker, and the socket for its orders."""

import base64
import os
import signal
from collections import deque
from threading import Lock
from typing import Final

from broker_lite.testing.processes.channel import Channel, Ended, NoAnswer
from broker_lite.testing.processes.forks import BrokerDied, BrokerFailed, ControlRefused, Forks
from broker_lite.testing.processes.plan import Plan

_END_TIMEOUT_S: Final = 10.0
_LAST_LINES: Final = 3
_OK: Final = 200


class BrokerProcess:
    """A broker's process, from its start until its end is noticed.

    Attributes:
        pid: the process id.
    """

    def __init__(self, forks: Forks, plan: Plan, timeout_s: float) -> None:
        """Start it, and wait until it is ready.

        Raises:
            BrokerFailed: it does not start.
        """
        self._forks = forks
        self._owner_pid = os.getpid()
        self._log_path = plan.log_path
        self.pid, orders = forks.start(plan)
        self._channel = Channel(orders)
        self._end_lock = Lock()
        self._code: int | None = None
        try:
            self._wait_for("ready", 1, timeout_s)
        except BaseException:
            self._channel.close()
            raise

    @property
    def address(self) -> str:
        """HOST:PORT of the first listener of each broker, as last reported."""
        return self._channel.address

    @property
    def is_inherited(self) -> bool:
        """Whether it was started by a process from which this one was forked."""
        return self._owner_pid != os.getpid()

    @property
    def is_closed(self) -> bool:
        """Whether no more orders can be given, because it has ended or was killed."""
        return self._channel.is_closed

    @property
    def was_asked(self) -> bool:
        """Whether it was sent a request of the control API."""
        return self._channel.was_asked

    @property
    def has_ended(self) -> bool:
        """Whether the process is gone in any way: the other end of its socket is closed."""
        return self._channel.is_hung_up

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
        self._wait_for("ready", self._order(b"reset", "ready"), timeout_s)

    def step(self, step_ms: int, timeout_s: float) -> None:
        """Move its clock, and wait until the triggered work is done.

        Raises:
            BrokerDied: it has ended.
        """
        self._wait_for("stepped", self._order(b"step %d" % step_ms, "stepped"), timeout_s)

    def control(self, method: str, path: str, body: object, timeout_s: float) -> object:
        """Carry out a request of the control API, and return the answer's body.

        Args:
            method: of HTTP.
            path: with percent-encoded names.
            body: what becomes JSON; bytes are sent as they are; None for none.
            timeout_s: for the answer.

        Raises:
            BrokerDied: it has ended.
            BrokerFailed: the request is refused.
        """
        __tracebackhide__ = True
        request: dict[str, object] = {"method": method, "path": path}
        if isinstance(body, bytes):
            request["base64"] = base64.b64encode(body).decode()
        elif body is not None:
            request["body"] = body
        try:
            answer = self._channel.ask(request, timeout_s)
        except Ended:
            raise self.death() from None
        except TimeoutError:
            raise self._failure(f"no answer to {method} {path} in {timeout_s:g} s") from None
        except NoAnswer as error:
            raise self._failure(f"{method} {path}: {error}") from None
        if answer.status != _OK:
            raise ControlRefused(answer.status, answer.body)
        return answer.body

    def stop(self) -> None:
        """Stop it, and wait for its end.

        Raises:
            BrokerDied: it had ended before.
            BrokerFailed: it did not stop in time, or failed.
        """
        try:
            self._channel.send(b"stop")
            self._channel.wait_for_end(_END_TIMEOUT_S)
        except TimeoutError:
            self.kill()
            raise self._failure(f"it did not stop within {_END_TIMEOUT_S:.0f} s") from None
        except Ended:
            raise self.death() from None
        code = self._end()
        if code is not None and code < 0:  # it was killed before it read the order
            raise self._died(_how(code))
        if code:
            raise self._failure(f"its exit code is {code}")

    def kill(self) -> None:
        """End it with SIGKILL, and wait until it is gone."""
        self._forks.kill(self.pid)
        self._end()

    def _order(self, line: bytes, answer: str) -> int:
        try:
            return self._channel.order(line, answer)
        except Ended:
            raise self.death() from None

    def _wait_for(self, answer: str, number: int, timeout_s: float) -> None:
        """Wait for the answer to a start, a reset or a step."""
        try:
            self._channel.wait_for(answer, number, timeout_s)
        except TimeoutError:
            self.kill()
            raise self._failure(f"it was not ready within {timeout_s:g} s") from None
        except Ended:
            raise self.death() from None
        if self._channel.failure is not None:
            self._end()
            raise BrokerFailed(self._channel.failure)

    def _end(self) -> int | None:
        """Wait for its end; return its exit code, None if unknown."""
        self._channel.close()
        with self._end_lock:  # the exit code is told once
            if self._code is None:
                self._code = self._forks.wait(self.pid)
            return self._code

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
