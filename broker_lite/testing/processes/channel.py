"""Lines to a broker's process, and the lines that come back, for several threads at once.

There is no thread for it. Whichever thread waits for a line reads the socket, and hands the others
what is theirs: an answer by its id, `ready` and `stepped` by their number. So a wait for a fault in
one thread does not keep another one from releasing it.
"""

import base64
import contextlib
import json
import logging
import select
import socket
import time
from collections.abc import Callable
from threading import Condition, Lock
from typing import Final, NamedTuple

logger = logging.getLogger("broker_lite.testing")

_RECEIVE_BYTES: Final = 65_536
_SHOWN_CHARS: Final = 200


class Answer(NamedTuple):
    """The answer of the control API to a request.

    Attributes:
        status: of HTTP.
        body: its JSON, decoded; bytes where it is octets.
    """

    status: int
    body: object


class Ended(Exception):
    """The other end of the socket is closed: no more lines come."""


class NoAnswer(Exception):
    """The line that came back is not what the control API answers."""


class Channel:
    """One end of the socket for a broker's orders.

    Attributes:
        failure: what the broker wrote after `failed`; None if it wrote none.
        address: HOST:PORT of each listener, as last reported; empty before that.
    """

    def __init__(self, sock: socket.socket) -> None:
        """Take over a connected socket, on whose other end a broker starts."""
        self._sock = sock
        self._write = Lock()
        self._changed = Condition()
        self._is_read = False  # a thread is reading
        self._has_ended = False
        self._unread = b""
        self._asked = 0
        self._awaited: set[int] = set()
        self._answers: dict[int, dict[str, object]] = {}
        self._due = {"ready": 1, "stepped": 0}
        self._come = {"ready": 0, "stepped": 0}
        self.failure: str | None = None
        self.address = ""

    @property
    def is_closed(self) -> bool:
        """Whether close() was called, here or for a forked process."""
        return self._sock.fileno() < 0

    @property
    def was_asked(self) -> bool:
        """Whether a request of the control API was sent."""
        return self._asked > 0

    @property
    def is_hung_up(self) -> bool:
        """Whether the other end is closed, or this one."""
        if self.is_closed:
            return True
        poll = select.poll()
        poll.register(self._sock, 0)  # POLLHUP is always reported
        return bool(poll.poll(0))

    def send(self, line: bytes) -> None:
        """Send a line.

        Raises:
            Ended: nobody will read it.
        """
        with self._write:
            try:
                self._sock.sendall(line + b"\n")
            except OSError:
                raise Ended from None

    def order(self, line: bytes, answer: str) -> int:
        """Send an order that is answered by `ready` or `stepped`; return that answer's number.

        Raises:
            Ended: nobody will read it.
        """
        with self._write:
            # one lock around both: answers come in the order of the lines
            with self._changed:
                self._due[answer] += 1
                number = self._due[answer]
            try:
                self._sock.sendall(line + b"\n")
            except OSError:
                raise Ended from None
        return number

    def wait_for(self, answer: str, number: int, timeout_s: float) -> None:
        """Wait until so many `ready` or `stepped` lines have come, or a `failed` one.

        Raises:
            Ended: no more lines come.
            TimeoutError: it takes too long.
        """
        self._wait(
            lambda: self._come[answer] >= number or self.failure is not None,
            time.monotonic() + timeout_s,
        )

    def ask(self, request: dict[str, object], timeout_s: float) -> Answer:
        """Send a request of the control API, and wait for its answer.

        Raises:
            Ended: no more lines come.
            TimeoutError: it takes too long.
            NoAnswer: the line that came is no answer.
        """
        with self._changed:
            self._asked += 1
            number = self._asked
            self._awaited.add(number)
        try:
            self.send(json.dumps({"id": number, **request}).encode())
            self._wait(lambda: number in self._answers, time.monotonic() + timeout_s)
            return _answer(self._answers[number])
        finally:
            with self._changed:
                self._awaited.discard(number)
                self._answers.pop(number, None)

    def wait_for_end(self, timeout_s: float) -> None:
        """Wait until the other end is closed; what comes before is not kept.

        Raises:
            TimeoutError: it takes too long.
        """
        try:
            self._wait(lambda: False, time.monotonic() + timeout_s)
        except Ended:
            return

    def close(self) -> None:
        """Close it; threads that wait get Ended."""
        if self.is_closed:
            return
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads
        with self._changed:
            self._changed.wait_for(lambda: not self._is_read)
            self._has_ended = True
            self._sock.close()
            self._changed.notify_all()

    # -- reading

    def _wait(self, is_there: Callable[[], bool], deadline_s: float) -> None:
        """Read, or let another thread read, until something is there."""
        while not self._is_met(is_there, deadline_s):
            pass

    def _is_met(self, is_there: Callable[[], bool], deadline_s: float) -> bool:
        """Read once, or let another thread read; return whether something is there."""
        received, reads = None, False
        try:
            with self._changed:
                if is_there():
                    return True
                if self._has_ended:
                    raise Ended
                if self._is_read:
                    self._changed.wait(_left_s(deadline_s))
                    return False
                self._is_read = reads = True
            received = self._receive(deadline_s)
        finally:
            if reads:
                self._hand_over(received)
        return False

    def _receive(self, deadline_s: float) -> bytes:
        """Return what comes next; nothing at the end.

        Raises:
            TimeoutError: nothing comes in time.
        """
        poll = select.poll()
        try:
            poll.register(self._sock, select.POLLIN)
            if not poll.poll(_left_s(deadline_s) * 1000):
                raise TimeoutError
            return self._sock.recv(_RECEIVE_BYTES)
        except TimeoutError:
            raise
        except (OSError, ValueError):  # reset by the broker, or closed here
            return b""

    def _hand_over(self, received: bytes | None) -> None:
        """Read no more in this thread; give the lines to those that wait for them."""
        with self._changed:
            self._is_read = False
            if received == b"":
                self._has_ended = True
            *lines, self._unread = (self._unread + (received or b"")).split(b"\n")
            for line in lines:
                try:
                    self._take(line.decode())
                except (ValueError, RecursionError) as error:
                    # The others must get their lines, and nobody knows whose this one was.
                    logger.warning("a line of the broker cannot be read: %s: %.200r", error, line)
            self._changed.notify_all()

    def _take(self, line: str) -> None:
        if line.startswith("{"):
            answer = json.loads(line)
            number = answer.get("id")
            if number in self._awaited:  # nobody waits if the call was interrupted
                self._answers[number] = answer
            return
        what, _, rest = line.partition(" ")
        if what == "failed":
            self.failure = rest
        elif what in self._come:
            if what == "ready":
                self.address = rest
            # A reset by the control API is not an order of this channel.
            self._come[what] = min(self._come[what] + 1, self._due[what])


def _answer(told: dict[str, object]) -> Answer:
    """Return the answer that a line tells; in the thread that asked, which gets the error, too.

    Raises:
        NoAnswer: it tells none.
    """
    status = told.get("status")
    try:
        if isinstance(status, int) and "body" in told:
            return Answer(status, told["body"])
        if isinstance(status, int) and "base64" in told:
            return Answer(status, base64.b64decode(str(told["base64"]), validate=True))
    except ValueError:
        pass  # no base64
    raise NoAnswer(f"it is no answer of the control API: {str(told)[:_SHOWN_CHARS]}")


def _left_s(deadline_s: float) -> float:
    """Return the seconds until a deadline.

    Raises:
        TimeoutError: there are none.
    """
    left_s = deadline_s - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    return left_s
