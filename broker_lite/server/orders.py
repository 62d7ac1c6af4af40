"""Orders to a running broker: from signals, or as lines from the process that started it.

The lines come on a connected stream socket: `reset` begins anew with an empty data directory,
`stop` ends the broker, `step MS` moves its clock forward. The broker writes `ready HOST:PORT` there
whenever it is ready, and `stepped` when the work that became due by a step is done. A line that
begins with `{` is a command in JSON, which is answered with one line of JSON; see commands.py. The
socket is also a lifeline: if its other end closes, because its owner has ended for any reason, the
broker stops.
"""

import asyncio
import enum
import json
import logging
import socket
from collections import deque
from contextlib import suppress
from typing import Final, NamedTuple, Self

import anyio

logger = logging.getLogger("broker_lite.server")

_RECEIVE_BYTES: Final = 4096
# A longer line is no order: then nothing more is read.
_LINE_BYTES_MAX: Final = 65_536


class Order(enum.Enum):
    """An order without arguments."""

    RESET = b"reset"
    STOP = b"stop"


class Step(NamedTuple):
    """The order to move the clock forward, by 0 ms or more."""

    step_ms: int


class Command(NamedTuple):
    """A command about the cluster, as JSON."""

    text: bytes


class Orders:
    """The orders of one broker, one after the other; a context manager inside its event loop."""

    def __init__(self, fd: int | None = None) -> None:
        """Take over a socket; leaving the context closes it.

        Args:
            fd: descriptor of the connected stream socket; None if only signals give orders.
        """
        self._sock = None if fd is None else socket.socket(fileno=fd)
        self._given: deque[Order | Step | Command] = deque()
        self._line = b""
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

    async def next(self) -> Order | Step | Command:
        """Wait for the next order."""
        while not self._given:
            self._arrived = anyio.Event()
            await self._arrived.wait()
        return self._given.popleft()

    def are_waiting(self) -> bool:
        """True if there is an order to stop or reset that next() has not returned yet."""
        return any(isinstance(order, Order) for order in self._given)

    def tell_ready(self, address: str) -> None:
        """Write that the broker can be used, at HOST:PORT."""
        self._tell(f"ready {address}")

    def tell_stepped(self) -> None:
        """Write that the clock was stepped, and that the work that became due is done."""
        self._tell("stepped")

    def tell_result(self, result: object) -> None:
        """Answer a command."""
        self._tell(json.dumps(result))

    def _tell(self, line: str) -> None:
        if self._sock is not None:
            with suppress(OSError):  # a closed other end is noticed when orders are read
                self._sock.send(f"{line}\n".encode())

    def _on_readable(self) -> None:
        assert self._sock is not None
        try:
            data = self._sock.recv(_RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        *lines, self._line = (self._line + data).split(b"\n")
        for line in lines:
            self._take(line)
        if not data or len(self._line) > _LINE_BYTES_MAX:
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
        asyncio.get_running_loop().remove_reader(self._sock)


def _parse(line: bytes) -> Order | Step | Command:
    if line.startswith(b"{"):
        return Command(line)
    what, _, number = line.partition(b" ")
    if what == b"step" and number.isdigit():
        return Step(int(number))
    return Order(line)
