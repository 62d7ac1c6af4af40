"""Very many connections that wait for the next record of a partition."""

import select
import socket
import time
from typing import Final

_CONNECT_TIMEOUT_S: Final = 60
_RECEIVE_BYTES: Final = 1 << 16


class WaitingFetches:
    """Connections with a Fetch each that the broker has not answered yet."""

    def __init__(self, port: int, count: int, frame: bytes) -> None:
        """Connect, and ask."""
        self._poll = select.epoll()
        self._sockets: dict[int, socket.socket] = {}
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", port), _CONNECT_TIMEOUT_S)
            connection.sendall(frame)
            self._poll.register(connection, select.EPOLLIN)
            self._sockets[connection.fileno()] = connection

    def answered_ms(self) -> list[float]:
        """Wait for all answers; return after how many ms each came, in order."""
        began, found = time.perf_counter(), []
        waiting = set(self._sockets)
        while waiting:
            for fd, _ in self._poll.poll():
                if not self._sockets[fd].recv(_RECEIVE_BYTES):
                    raise ConnectionError("the broker closed a connection")
                if fd in waiting:
                    waiting.discard(fd)
                    found.append((time.perf_counter() - began) * 1000)
        return found

    def close(self) -> None:
        """Close all connections."""
        self._poll.close()
        for connection in self._sockets.values():
            connection.close()
