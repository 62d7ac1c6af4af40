"""Very many connections that fetch, served by one thread of the bench.

They fetch at a rate, or all wait for the same record. A connection has one request at a time, as a
consumer has.
"""

import select
import socket
import time
from typing import Final, NamedTuple

_CONNECT_TIMEOUT_S: Final = 60
_RECEIVE_BYTES: Final = 1 << 16
_POLL_S_MAX: Final = 0.01


class Pace(NamedTuple):
    """What became of the requests of some seconds; the latencies are those of the answered ones."""

    due_per_s: float
    answered_per_s: float
    median_ms: float
    slowest_ms: float


class _Connections:
    """Connections to a broker, which stay open until close()."""

    def __init__(self, port: int, count: int) -> None:
        """Connect."""
        self._poll = select.epoll()
        self._sockets: dict[int, socket.socket] = {}
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", port), _CONNECT_TIMEOUT_S)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._poll.register(connection, select.EPOLLIN)
            self._sockets[connection.fileno()] = connection

    def _take(self, fd: int) -> bytes:
        """Take what has come on a connection."""
        data = self._sockets[fd].recv(_RECEIVE_BYTES)
        if not data:
            raise ConnectionError("the broker closed a connection")
        return data

    def close(self) -> None:
        """Close all connections."""
        self._poll.close()
        for connection in self._sockets.values():
            connection.close()


class WaitingFetches(_Connections):
    """Connections with a Fetch each that the broker has not answered yet."""

    def __init__(self, port: int, count: int, frame: bytes) -> None:
        """Connect, and ask."""
        super().__init__(port, count)
        self.ask(frame)

    def ask(self, frame: bytes) -> None:
        """Send a request on each connection; the ones before have all been answered."""
        for connection in self._sockets.values():
            connection.sendall(frame)

    def answered_ms(self) -> list[float]:
        """Wait for all answers; return after how many ms each came, in order."""
        began, found = time.perf_counter(), []
        waiting = set(self._sockets)
        while waiting:
            for fd, _ in self._poll.poll():
                self._take(fd)
                if fd in waiting:
                    waiting.discard(fd)
                    found.append((time.perf_counter() - began) * 1000)
        return found


class PacedFetches(_Connections):
    """Connections that fetch at even times, at a rate that each run has.

    A request that is due before the last is answered leaves right after that answer. Its latency
    counts from when it was due.
    """

    def __init__(self, port: int, count: int, frame: bytes) -> None:
        """Connect; each answer to `frame` has the same size."""
        super().__init__(port, count)
        self._frame = frame
        self._due: dict[int, list[float]] = {fd: [] for fd in self._sockets}
        self._missing = dict.fromkeys(self._sockets, 0)
        self._latencies: list[float] = []
        first = next(iter(self._sockets.values()))
        first.sendall(frame)
        self._answer_bytes = 4 + int.from_bytes(first.recv(4, socket.MSG_WAITALL), "big")
        first.recv(self._answer_bytes - 4, socket.MSG_WAITALL)

    def run(self, rate: float, seconds: float) -> Pace:
        """Ask `rate` times a second on each connection; what is too late to be asked is dropped."""
        order, self._latencies = list(self._sockets), []
        total = int(len(order) * rate * seconds)
        step_s = seconds / total
        began = time.perf_counter()
        sent = 0
        while (now := time.perf_counter()) < began + seconds:
            while sent < total and (due := began + sent * step_s) <= now:
                self._ask(order[sent % len(order)], due)
                sent += 1
            wait_s = min(began + sent * step_s - now, _POLL_S_MAX)
            for fd, _ in self._poll.poll(max(wait_s, 0)):
                self._receive(fd)
        answered = len(self._latencies)
        for waiting in self._due.values():
            del waiting[1:]
        while any(self._missing.values()):
            for fd, _ in self._poll.poll():
                self._receive(fd)
        found = sorted(self._latencies)
        median_ms, slowest_ms = found[len(found) // 2] * 1000, found[-1] * 1000
        return Pace(total / seconds, answered / seconds, median_ms, slowest_ms)

    def _ask(self, fd: int, due: float) -> None:
        waiting = self._due[fd]
        waiting.append(due)
        if len(waiting) == 1:
            self._missing[fd] = self._answer_bytes
            self._sockets[fd].send(self._frame)

    def _receive(self, fd: int) -> None:
        self._missing[fd] -= len(self._take(fd))
        if self._missing[fd]:
            return
        waiting = self._due[fd]
        self._latencies.append(time.perf_counter() - waiting.pop(0))
        if waiting:
            self._missing[fd] = self._answer_bytes
            self._sockets[fd].send(self._frame)
