"""The answers of one connection to slow topics, which wait until a network would have brought them.

While a network carries the records of a request, nothing more is read from the client: it finds its
socket full, as on a real network. The answer is then late by the round trip time. Meanwhile further
requests are read and carried out, so requests in flight overlap. Other answers of the connection
wait behind the late ones, because clients get answers in the order of their requests.

See: P-18.
"""

import socket
from asyncio import AbstractEventLoop, TimerHandle
from collections import deque
from typing import Final, cast

import anyio

from broker_lite.control.topics.slow_topics import Passage
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.protocol.framing import framed

LATE_BYTES_MAX: Final = 64 * 1024
"""When so many bytes of answers wait, no more requests are read."""

# The client does not read; it is tried again after so long.
_RETRY_S: Final = 0.01


class SlowAnswers:
    """What a connection has still to send, and when; used by the event loop."""

    def __init__(
        self, loop: AbstractEventLoop, sock: socket.socket, context: HandlerContext
    ) -> None:
        """Begin with nothing to send.

        Args:
            loop: the running loop.
            sock: of the client; nobody else sends while answers wait.
            context: of the connection.
        """
        self._loop = loop
        self._sock = sock
        self._context = context
        self._late: deque[tuple[float, bytes]] = deque()
        self._late_bytes = 0
        self._timer: TimerHandle | None = None
        self._changed = anyio.Event()

    async def take(self, request: Request, body: Parts | None) -> Parts | None:
        """Wait until the records of a request are carried; return what is to leave right now.

        Args:
            request: that was handled.
            body: its answer; None for no answer. A short one is kept for close() when this is
                cancelled, because what it tells is done.
        """
        passage, self._context.passage = self._context.passage, None
        short = None
        if body is not None and _is_short(body):
            short = b"".join(cast("list[bytes]", framed(request, body)))
        rtt_s = 0.0
        if passage is not None:
            rtt_s = passage.rtt_s
            await self._carry(passage, short)
        if body is None or not (rtt_s or self._late):
            return body
        if short is not None:
            self._keep(short, rtt_s)
            await self._wait_below(LATE_BYTES_MAX)
            return None
        await anyio.sleep(rtt_s)
        await self._wait_below(0)
        return body

    async def _carry(self, passage: Passage, short: bytes | None) -> None:
        self._context.throttled.start()
        try:
            await passage.carry()
        except anyio.get_cancelled_exc_class():
            if short is not None:
                self._keep(short, 0.0)
            raise
        finally:
            self._context.throttled.stop()

    def _keep(self, data: bytes, rtt_s: float) -> None:
        due_s = self._loop.time() + rtt_s
        if self._late:
            due_s = max(due_s, self._late[-1][0])
        self._late.append((due_s, data))
        self._late_bytes += len(data)
        if self._timer is None:
            self._timer = self._loop.call_at(due_s, self._send)

    def _send(self) -> None:
        """Send what is due by now, and come back for the rest."""
        self._timer = None
        while self._late:
            due_s, data = self._late[0]
            if due_s > self._loop.time():
                self._timer = self._loop.call_at(due_s, self._send)
                break
            if not self._send_first(data):
                self._timer = self._loop.call_later(_RETRY_S, self._send)
                break
        self._changed.set()
        self._changed = anyio.Event()

    def _send_first(self, data: bytes) -> bool:
        """Send the first answer; return False if the socket is full."""
        try:
            sent_bytes = self._sock.send(data)
        except BlockingIOError:
            return False
        except OSError:  # the connection finds it out when it reads
            self._late.clear()
            self._late_bytes = 0
            return True
        self._late_bytes -= sent_bytes
        if sent_bytes < len(data):
            self._late[0] = self._late[0][0], data[sent_bytes:]
            return False
        self._late.popleft()
        return True

    async def _wait_below(self, size_bytes: int) -> None:
        while self._late and self._late_bytes > size_bytes:
            await self._changed.wait()

    def close(self) -> None:
        """Send what waits as far as the socket takes it: the connection ends."""
        if self._timer is not None:
            self._timer.cancel()
        while self._late:
            if not self._send_first(self._late[0][1]):
                break


def _is_short(body: Parts) -> bool:
    """Whether an answer may wait. That of a fault or a throttled client is more than a list."""
    return (
        type(body) is list
        and all(isinstance(part, bytes) for part in body)
        and sum(map(len, cast("list[bytes]", body))) <= LATE_BYTES_MAX
    )
