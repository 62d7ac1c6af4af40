"""A connection of a load: it sends the requests of its lane, and hands the answers to it.

The connection is opened and logged in elsewhere, because that blocks. From then on the socket does
not block, with TLS or without.
"""

from __future__ import annotations

import ssl
import struct
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from broker_lite.client.broker_connection import ANSWER_BYTES_MAX, Connection
from broker_lite.client.connecting import reason_of
from broker_lite.client.errors import BadAnswer, NoAnswer, NoConnection
from broker_lite.load.lane import Lane, Request
from broker_lite.wire import DecodeError
from broker_lite.wire.primitives import Buffer

_SIZE: Final = 4
_HEAD: Final = 8  # size and correlation id
_HEAD_STRUCT = struct.Struct(">ii")
_BUFFER_BYTES: Final = 256 << 10
_CORRELATION_ID_MAX: Final = 0x7FFFFFFF
_NOT_NOW: Final = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
_CLOSED: Final = "the other side closed the connection"


class Link:
    """One connection after the other, for one lane.

    Attributes:
        lane: what is sent.
        is_draining: set to send nothing more; the answers on their way still come.
    """

    def __init__(
        self,
        lane: Lane,
        *,
        in_flight_max: int,
        clock: Callable[[], int],
        idle_bytes: int | None = None,
    ) -> None:
        """Begin without a connection.

        Args:
            lane: what is sent.
            in_flight_max: how many requests may be unanswered.
            clock: nanoseconds that only grow.
            idle_bytes: of the buffer while no answer is expected, for very many connections; None
                to keep a large one.
        """
        self.lane = lane
        self.is_draining = False
        self._in_flight_max = in_flight_max
        self._clock = clock
        self._connection: Connection | None = None
        self._in_flight: deque[tuple[int, int, Request]] = deque()  # correlation id, sent_ns
        self._correlation_id = 0
        self._unsent: list[memoryview] = []
        self._idle_bytes = idle_bytes
        self._buffer = memoryview(bytearray(idle_bytes or _BUFFER_BYTES))
        self._filled = 0

    def attach(self, connection: Connection) -> None:
        """Take a connection over, which is logged in.

        Raises:
            NotSupported: the broker has no version of the API that is known here.
        """
        self.lane.speak_to(connection)
        connection.raw_socket.setblocking(False)
        self._connection = connection
        self.is_draining = False

    def detach(self, now_ns: int) -> None:
        """Close the connection; the lane gets back what was not answered."""
        lost = self.in_flight
        self.close()
        if self.lane.is_answered:
            self.lane.on_lost(lost, now_ns)

    def close(self) -> None:
        """Close the connection, if there is one, and forget what was on its way."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._in_flight.clear()
        self._unsent = []
        self._filled = 0

    def fileno(self) -> int:
        """Return the descriptor for select."""
        assert self._connection is not None
        return self._connection.fileno()

    @property
    def is_open(self) -> bool:
        """Whether it has a connection."""
        return self._connection is not None

    @property
    def in_flight(self) -> Sequence[Request]:
        """The requests that are not answered, the oldest first."""
        return [request for _, _, request in self._in_flight]

    @property
    def wants_to_write(self) -> bool:
        """Whether a part of a request waits for room in the socket."""
        return bool(self._unsent)

    @property
    def must_log_in(self) -> bool:
        """Whether the session of the connection ends soon."""
        return self._connection is not None and self._connection.must_log_in

    def next_due_ns(self) -> int | None:
        """Return when there is something to send; None if that is not known."""
        return self.lane.next_due_ns() if self._has_room else None

    def pump(self, now_ns: int) -> None:
        """Send what is due, as far as there is room.

        Raises:
            NoConnection: the connection ended.
        """
        while self._has_room:
            due_ns = self.lane.next_due_ns()
            if due_ns is None or due_ns > now_ns:
                return
            self._correlation_id = (self._correlation_id + 1) & _CORRELATION_ID_MAX
            request = self.lane.take(now_ns, self._correlation_id)
            self._in_flight.append((self._correlation_id, now_ns, request))
            sent = self._write(request.parts)
            if sent < request.size_bytes:
                self._unsent = _after(request.parts, sent)
            elif not self.lane.is_answered:
                self._count_sent()

    def flush(self) -> None:
        """Send more of what waits for room in the socket.

        Raises:
            NoConnection: the connection ended.
        """
        if self._unsent:
            self._unsent = _after(self._unsent, self._write(self._unsent))
            if not self._unsent and not self.lane.is_answered:
                self._count_sent()

    def receive(self) -> None:
        """Read what has arrived, and hand over complete answers; nothing without a connection.

        Raises:
            NoConnection: the connection ended.
            BadAnswer: an answer cannot be read.
        """
        if self._connection is None:
            return
        sock = self._connection.raw_socket
        is_more = True
        while is_more:
            room = self._buffer[self._filled :]
            try:
                count = sock.recv_into(room)
            except _NOT_NOW:
                return
            except OSError as error:
                raise self._ended(error) from error
            if count == 0:
                raise NoConnection(f"{self._connection.address}: {_CLOSED}")
            self._filled += count
            self._take_answers()
            # what TLS has decrypted already makes no socket readable
            is_more = isinstance(sock, ssl.SSLSocket) or count == len(room)

    def check_age(self, now_ns: int, timeout_ns: int) -> None:
        """Raise if an answer does not come.

        Raises:
            NoAnswer: the oldest request was sent longer ago than that.
        """
        if self._in_flight and now_ns - self._in_flight[0][1] > timeout_ns:
            assert self._connection is not None
            raise NoAnswer(f"{self._connection.address}: no answer within {timeout_ns / 1e9:g} s")

    @property
    def _has_room(self) -> bool:
        return (
            self._connection is not None
            and not self._unsent
            and not self.is_draining
            and len(self._in_flight) < self._in_flight_max
        )

    def _write(self, parts: Sequence[Buffer]) -> int:
        """Send as much as fits into the socket; return how many bytes that is."""
        assert self._connection is not None
        sock = self._connection.raw_socket
        try:
            if isinstance(sock, ssl.SSLSocket):
                return _write_encrypted(sock, parts)
            return sock.sendmsg(parts)
        except _NOT_NOW:
            return 0
        except OSError as error:
            raise self._ended(error) from error

    def _count_sent(self) -> None:
        _, _, request = self._in_flight.popleft()
        self.lane.on_sent(request, self._clock())

    def _ended(self, error: OSError) -> NoConnection:
        assert self._connection is not None
        return NoConnection(f"{self._connection.address}: {reason_of(error)}")

    def _take_answers(self) -> None:
        buffer, filled, position = self._buffer, self._filled, 0
        size = 0
        while filled - position >= _HEAD:
            size, correlation_id = _HEAD_STRUCT.unpack_from(buffer, position)
            if not _SIZE <= size <= ANSWER_BYTES_MAX:
                raise self._bad(f"an answer of {size} bytes")
            end = position + _SIZE + size
            if end > filled:
                break
            self._take(correlation_id, buffer[position + _HEAD : end])
            position, size = end, 0
        rest = filled - position
        if self._idle_bytes and not rest and len(buffer) > self._idle_bytes:
            self._buffer = memoryview(bytearray(self._idle_bytes))
        if size + _SIZE > len(buffer):
            self._buffer = memoryview(bytearray(size + _SIZE))
        if position or buffer is not self._buffer:
            self._buffer[:rest] = buffer[position:filled]
        self._filled = rest

    def _take(self, correlation_id: int, body: memoryview) -> None:
        if not self._in_flight or self._in_flight[0][0] != correlation_id:
            raise self._bad(f"an answer to request {correlation_id}, which is not the next one")
        _, _, request = self._in_flight[0]
        try:
            self.lane.on_answer(request, body, self._clock())
        except DecodeError as error:
            raise self._bad(str(error)) from error
        self._in_flight.popleft()

    def _bad(self, reason: str) -> BadAnswer:
        assert self._connection is not None
        return BadAnswer(f"{self._connection.address}: not a Kafka broker's answer: {reason}")


def _write_encrypted(sock: ssl.SSLSocket, parts: Sequence[Buffer]) -> int:
    """Send as much as fits; each call of OpenSSL takes one record of 16 KiB at most."""
    data, sent = memoryview(b"".join(parts)), 0
    try:
        while sent < len(data):
            sent += sock.send(data[sent:])
    except _NOT_NOW:
        pass
    return sent


def _after(parts: Sequence[Buffer], sent: int) -> list[memoryview]:
    """Return what is left of a sequence of bytes after the first ones."""
    left = []
    for part in parts:
        view = memoryview(part)
        if sent < len(view):
            left.append(view[sent:])
        sent = max(sent - len(view), 0)
    return left
