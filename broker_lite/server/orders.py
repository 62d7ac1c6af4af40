"""Orders to a running broker: from signals, or as lines from the process that started it.

The lines come on a connected stream socket: `reset` begins anew with an empty data directory,
`stop` ends the broker, `step MS` moves its clock forward. The broker writes `ready HOST:PORT` there
whenever it is ready, and `stepped` when the work that became due by a step is done. A line that
begins with `{` is a request of the control API, which is answered with one line of JSON; see the
testbench room. The socket is also a lifeline: if its other end closes, because its owner has ended
for any reason, the broker stops.
"""

import asyncio
import enum
import logging
import socket
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple, Self, TypeAlias

import anyio

from broker_lite.control.metadata.topic import Topic

logger = logging.getLogger("broker_lite.server")

_RECEIVE_BYTES: Final = 65_536
# A longer line is no order: then nothing more is read.
_LINE_BYTES_MAX: Final = 64 * 1024 * 1024


class Order(enum.Enum):
    """An order without arguments."""

    RESET = b"reset"
    STOP = b"stop"


class Restore(NamedTuple):
    """The order to begin anew with the content of a snapshot.

    Attributes:
        snapshot: its directory.
    """

    snapshot: Path


class KeepTopics(NamedTuple):
    """The order to begin anew with an empty data directory, in which some topics are made anew.

    Attributes:
        topics: as they are now; the topics and records of the start come on top.
    """

    topics: Sequence[Topic]


LastOrder: TypeAlias = Order | Restore | KeepTopics
"""An order that ends a life of the broker."""


class Step(NamedTuple):
    """The order to move the clock forward, by 0 ms or more."""

    step_ms: int


class Asked(NamedTuple):
    """A request of the control API, as JSON."""

    line: bytes


class Orders:
    """The orders of one broker, one after the other; a context manager inside its event loop."""

    def __init__(self, fd: int | None = None) -> None:
        """Take over a socket; leaving the context closes it.

        Args:
            fd: descriptor of the connected stream socket; None if only signals give orders.
        """
        self._sock = None if fd is None else socket.socket(fileno=fd)
        self._given: deque[LastOrder | Step | Asked] = deque()
        self._parts: list[bytes] = []
        self._unsent = bytearray()
        self._arrived = anyio.Event()

    def __enter__(self) -> Self:
        """Begin to read orders."""
        if self._sock is not None:
            self._sock.setblocking(False)
            asyncio.get_running_loop().add_reader(self._sock, self._on_readable)
        return self

    def __exit__(self, *_: object) -> None:
        """Read no more orders."""
        if self._sock is not None:
            self._deafen()
            self._sock.close()

    def stop(self) -> None:
        """Add the order to stop, before all others."""
        self._given.appendleft(Order.STOP)
        self._arrived.set()

    def give(self, order: LastOrder) -> None:
        """Add an order, after all others."""
        self._given.append(order)
        self._arrived.set()

    async def next(self) -> LastOrder | Step | Asked:
        """Wait for the next order."""
        while not self._given:
            self._arrived = anyio.Event()
            await self._arrived.wait()
        return self._given.popleft()

    def are_waiting(self) -> bool:
        """True if there is an order to stop or begin anew that next() has not returned yet."""
        return any(isinstance(order, LastOrder) for order in self._given)

    def tell_ready(self, address: str) -> None:
        """Write that the broker can be used, at HOST:PORT."""
        self.tell(f"ready {address}")

    def tell_stepped(self) -> None:
        """Write that the clock was stepped, and that the work that became due is done."""
        self.tell("stepped")

    def tell(self, line: str) -> None:
        """Write a line, which answers a request of the control API."""
        if self._sock is None or self._sock.fileno() < 0:
            return
        self._unsent += f"{line}\n".encode()
        self._send()

    def _send(self) -> None:
        """Send what the socket takes now, and the rest when it takes more."""
        assert self._sock is not None
        loop = asyncio.get_running_loop()
        try:
            del self._unsent[: self._sock.send(self._unsent)]
        except BlockingIOError:
            pass
        except OSError:  # a closed other end is noticed when orders are read
            self._unsent.clear()
        if self._unsent:
            loop.add_writer(self._sock, self._send)
        else:
            loop.remove_writer(self._sock)

    def _on_readable(self) -> None:
        assert self._sock is not None
        try:
            data = self._sock.recv(_RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        *ends, rest = data.split(b"\n")
        for end in ends:
            self._take(b"".join((*self._parts, end)))
            self._parts.clear()
        self._parts.append(rest)
        if not data or _RECEIVE_BYTES * len(self._parts) > _LINE_BYTES_MAX:
            logger.info("stopping, because no more orders can come")
            self._deafen()
            self.stop()

    def _take(self, line: bytes) -> None:
        try:
            self._given.append(_parse(line))
        except ValueError:
            logger.warning("unknown order text=%r", line)
        else:
            self._arrived.set()

    def _deafen(self) -> None:
        assert self._sock is not None
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._sock)
        loop.remove_writer(self._sock)


def _parse(line: bytes) -> Order | Step | Asked:
    if line.startswith(b"{"):
        return Asked(line)
    what, _, number = line.partition(b" ")
    if what == b"step" and number.isdigit():
        return Step(int(number))
    return Order(line)
