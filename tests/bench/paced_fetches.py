"""Very many connections that each fetch at a rate, served by one thread of the bench.

Requests are due at even times. A connection has one request at a time, as a consumer has: one that
is due before the last is answered leaves right after that answer. Its latency counts from when it
was due.
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


class PacedFetches:
    """Connections that fetch; they stay open between the runs."""

    def __init__(self, port: int, count: int, frame: bytes) -> None:
        """Connect; each answer to `frame` has the same size."""
        self._frame = frame
        self._poll = select.epoll()
        self._sockets: dict[int, socket.socket] = {}
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", port), _CONNECT_TIMEOUT_S)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._poll.register(connection, select.EPOLLIN)
            self._sockets[connection.fileno()] = connection
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
        data = self._sockets[fd].recv(_RECEIVE_BYTES)
        if not data:
            raise ConnectionError("the broker closed a connection")
        self._missing[fd] -= len(data)
        if self._missing[fd]:
            return
        waiting = self._due[fd]
        self._latencies.append(time.perf_counter() - waiting.pop(0))
        if waiting:
            self._missing[fd] = self._answer_bytes
            self._sockets[fd].send(self._frame)

    def close(self) -> None:
        """Close all connections."""
        self._poll.close()
        for connection in self._sockets.values():
            connection.close()
