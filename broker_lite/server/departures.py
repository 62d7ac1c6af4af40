"""Lets connections end a few at a time when very many clients go at the same moment.

To end a connection takes some 15 microseconds. When a program with 10,000 connections ends, all of
them are told of by one look at the sockets, and other clients would wait until the last one is
closed.
"""

from asyncio import AbstractEventLoop, Future
from collections import deque
from typing import Any, Final

AT_A_TIME: Final = 64


class Departures:
    """Wakes the tasks of connections whose clients have gone; used by one thread."""

    __slots__ = ("_gone", "_loop")

    def __init__(self, loop: AbstractEventLoop) -> None:
        """Begin with nobody who has gone.

        Args:
            loop: the running loop.
        """
        self._loop = loop
        self._gone: deque[tuple[Future[Any], OSError | None]] = deque()

    def add(self, waiter: Future[Any], error: OSError | None) -> None:
        """Wake a task soon, before the loop looks at the sockets again unless others go, too.

        Args:
            waiter: what the task waits for. It gets None, or the error.
            error: how the connection was lost; None if the client has closed it.
        """
        if not self._gone:
            self._loop.call_soon(self._wake_some)
        self._gone.append((waiter, error))

    def _wake_some(self) -> None:
        for _ in range(min(len(self._gone), AT_A_TIME)):
            waiter, error = self._gone.popleft()
            if waiter.done():  # its connection was closed meanwhile
                continue
            if error is None:
                waiter.set_result(None)
            else:
                waiter.set_exception(error)
        if self._gone:
            self._loop.call_soon(self._wake_some)
