"""Notice connections that were reset, even if the event loop does not report them.

The kernel reports a reset to an event loop as an error of the descriptor. Then uvloop calls the
reader once and forgets the descriptor: a reader that finds bytes at that moment is never called
again, and a connection without a reader is never reported. So the node has a second epoll, which
watches each connection only for its end. It costs one system call per connection and none per
request.
"""

import select
from asyncio import AbstractEventLoop
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

_EVENTS_MAX: Final = 64


class Resets:
    """Calls one function per connection, once, when that connection is dead in both directions.

    It does not call if a client only closes its own direction: the bytes that the client sent are
    still to be read, and the client may wait for an answer.
    """

    def __init__(self, loop: AbstractEventLoop) -> None:
        """Begin without connections; close() frees the descriptor of the epoll.

        Args:
            loop: the running loop, in which the functions are called.
        """
        self._loop = loop
        self._epoll = select.epoll()
        self._callbacks: dict[int, Callable[[], object]] = {}
        loop.add_reader(self._epoll.fileno(), self._on_events)

    def watch(self, fd: int, callback: Callable[[], object]) -> None:
        """Call a function when the connection of this descriptor is reset.

        Args:
            fd: of a connected socket; call forget() before the socket is closed.
            callback: called at most once; it must not close this or another descriptor.
        """
        self._callbacks[fd] = callback
        # errors and hang-ups are always reported
        self._epoll.register(fd, select.EPOLLONESHOT)

    def forget(self, fd: int) -> None:
        """Call nothing for this descriptor any more; closing it takes it out of the epoll."""
        self._callbacks.pop(fd, None)

    def close(self) -> None:
        """Free the descriptor of the epoll."""
        self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _on_events(self) -> None:
        for fd, _ in self._epoll.poll(0, _EVENTS_MAX):
            callback = self._callbacks.get(fd)
            if callback is not None:
                callback()
