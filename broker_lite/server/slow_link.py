"""Slow networks between clients and the broker, for load tests on one machine.

A connection on a slow link is two: the client's, and one within this host, which the broker serves
as any other. The link moves the bytes between them, after half of the round trip time and at so
many bytes per second. So requests in flight overlap, TLS is not touched, and a client that sends
faster than the link, or the broker that does, finds its socket full, as on a real network. Other
connections have nothing to do with it.

A way takes no byte while the link is busy with those before, so only bytes on their way are in
memory, and not more than WAY_BYTES_MAX.

A difference to Kafka: `broker.lite.pace.*` lets connections be as slow as over a network. Kafka has
only quotas, which tell clients that they are throttled.

Rule: P-17.
"""

import socket
import struct
from asyncio import AbstractEventLoop, TimerHandle
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from enum import Enum, auto
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from broker_lite.server.limits.descriptors import ClientDescriptors
from broker_lite.server.limits.node_limits import Pace
from broker_lite.server.pacing import accept_unpaced
from broker_lite.server.resets import Resets
from broker_lite.stopwatch import Stopwatch

WAY_BYTES_MAX: Final = 1 << 20
"""So many bytes are on their way in each direction, as with a TCP window of that size."""
_CHUNK_BYTES_MIN: Final = 1460
_CHUNK_BYTES_MAX: Final = 64 * 1024
_CHUNKS_PER_S: Final = 100
# A timer that comes late is made up for, up to so much.
_LATE_S_MAX: Final = 0.01
_INNER_BUFFER_BYTES: Final = 64 * 1024
_RESET: Final = struct.pack("ii", 1, 0)
_DESCRIPTORS: Final = 2
# Of a request: size, API key, version, correlation id; then the client id.
_CLIENT_ID: Final = struct.Struct(">ihhih")
_END: Final = b""


class LinkWatches(NamedTuple):
    """How long a link has had something to do.

    Attributes:
        on_way: bytes were on their way, in any direction.
        not_read: answers had arrived for which the client made no room.
        client: the client's socket, of whose window the kernel knows.
    """

    on_way: Stopwatch
    not_read: Stopwatch
    client: socket.socket


class _Ending(Enum):
    """Why a direction of a link has ended."""

    CLOSED = auto()  # the source was closed, and all of its bytes have arrived
    RESET = auto()  # the same, by a reset
    GONE = auto()  # the target takes nothing any more


class _Way:
    """One direction of a link.

    Attributes:
        delay_s: of each byte.
        bytes_per_s: 0 for no limit.
        is_full: whether the target has no room for those that have arrived.
    """

    def __init__(
        self,
        loop: AbstractEventLoop,
        source: socket.socket,
        target: socket.socket,
        ended: Callable[[_Ending], None],
        changed: Callable[[], None],
        look_at: Callable[[bytes], None] | None = None,
    ) -> None:
        """Begin without reading.

        Args:
            loop: the running loop.
            source: is read.
            target: is written to.
            ended: called once, when this direction is closed.
            changed: called when is_full or is_carrying may have changed.
            look_at: gets the first bytes before they count.
        """
        self.delay_s = 0.0
        self.bytes_per_s = 0
        self._loop = loop
        self._source = source
        self._target = target
        self._ended = ended
        self._changed = changed
        self.is_full = False
        self._look_at = look_at
        # Bytes with the time at which they arrive; no bytes are the end, None is a reset.
        self._queue: deque[tuple[float, bytes | None]] = deque()
        self._queued_bytes = 0
        self._free_at = 0.0
        self._is_over = False
        self._is_reading = False
        self._arrival: TimerHandle | None = None
        self._waking: TimerHandle | None = None

    @property
    def is_carrying(self) -> bool:
        """Whether bytes are on their way."""
        return bool(self._queue) and not self.is_full

    def close(self) -> None:
        """Stop reading and writing; what is on its way is lost."""
        self._is_over = True
        self._queue.clear()
        if self.is_full:
            self._loop.remove_writer(self._target.fileno())
            self.is_full = False
        self._read_or_not()
        for timer in (self._arrival, self._waking):
            if timer is not None:
                timer.cancel()

    # -- reading

    def read(self) -> None:
        """Read when the link is free."""
        self._waking = None
        self._read_or_not()

    def source_was_reset(self) -> None:
        """Let the reset arrive behind the bytes before it."""
        if not self._is_over:
            self._take(None)

    def _read_or_not(self) -> None:
        has_room = not self._is_over and self._queued_bytes < WAY_BYTES_MAX
        is_free = self._free_at <= self._loop.time()
        if has_room and not is_free and self._waking is None:
            self._waking = self._loop.call_at(self._free_at, self.read)
        wants = has_room and is_free
        if wants and not self._is_reading:
            self._loop.add_reader(self._source.fileno(), self._on_readable)
        elif self._is_reading and not wants:
            self._loop.remove_reader(self._source.fileno())
        self._is_reading = wants
        self._changed()

    def _on_readable(self) -> None:
        chunk_bytes = _CHUNK_BYTES_MAX
        if self.bytes_per_s:
            chunk_bytes = min(chunk_bytes, self.bytes_per_s // _CHUNKS_PER_S)
        try:
            data = self._source.recv(max(chunk_bytes, _CHUNK_BYTES_MIN))
        except BlockingIOError:
            return
        except OSError:
            self._take(None)
            return
        if self._look_at is not None:
            self._look_at(data)
            self._look_at = None
        self._take(data)

    def _take(self, data: bytes | None) -> None:
        now = self._loop.time()
        if data and self.bytes_per_s:
            begin = max(self._free_at, now - _LATE_S_MAX)
            self._free_at = begin + len(data) / self.bytes_per_s
        self._is_over = not data
        self._queued_bytes += len(data or _END)
        self._queue.append((max(self._free_at, now) + self.delay_s, data))
        self._read_or_not()
        if self._arrival is None and not self.is_full:
            self._arrive()

    # -- writing

    def _arrive(self) -> None:
        """Write what has arrived by now, and come back for the rest."""
        self._arrival = None
        while self._queue:
            due, data = self._queue[0]
            if due > self._loop.time():
                self._arrival = self._loop.call_at(due, self._arrive)
                break
            if not data:
                self._end(_Ending.RESET if data is None else _Ending.CLOSED)
                return
            try:
                sent_bytes = self._target.send(data)
            except BlockingIOError:
                sent_bytes = 0
            except OSError:
                self._end(_Ending.GONE)
                return
            self._queued_bytes -= sent_bytes
            if sent_bytes < len(data):
                self._queue[0] = due, data[sent_bytes:]
                self.is_full = True
                self._loop.add_writer(self._target.fileno(), self._on_writable)
                break
            self._queue.popleft()
        self._read_or_not()

    def _on_writable(self) -> None:
        self._loop.remove_writer(self._target.fileno())
        self.is_full = False
        self._arrive()

    def _end(self, ending: _Ending) -> None:
        self.close()
        if ending is _Ending.CLOSED:
            with suppress(OSError):
                self._target.shutdown(socket.SHUT_WR)
        self._ended(ending)


class _Link:
    """One slow connection: the client's socket, and this end of the one within the host.

    Attributes:
        watches: run while it has something to do.
    """

    def __init__(
        self,
        loop: AbstractEventLoop,
        client: socket.socket,
        inner: socket.socket,
        pace: Pace,
        ended: Callable[["_Link"], None],
    ) -> None:
        self.client = client
        self._inner = inner
        self._pace = pace
        self._ended = ended
        self.watches = LinkWatches(Stopwatch(), Stopwatch(), client)
        self._in = _Way(loop, client, inner, self._in_ended, self._note, self._look_at_client)
        self._out = _Way(loop, inner, client, self._out_ended, self._note)
        self._in.bytes_per_s, self._out.bytes_per_s = pace.in_bytes_per_s, pace.out_bytes_per_s
        for way in (self._in, self._out):
            way.delay_s = pace.rtt_ms / 2000
            way.read()

    def _note(self) -> None:
        """Let the watches run, or stop, as it is now."""
        self.watches.on_way.run(self._in.is_carrying or self._out.is_carrying)
        self.watches.not_read.run(self._out.is_full)

    def client_was_reset(self) -> None:
        """Tell the broker, after what came before."""
        self._in.source_was_reset()

    def _look_at_client(self, data: bytes) -> None:
        """Let a client pass whose id is not that of a slow one.

        A TLS client is slow: it begins with 0x16, which no first request is large enough for.
        """
        if len(data) < _CLIENT_ID.size or data[0]:
            return
        *_, size_bytes = _CLIENT_ID.unpack_from(data)
        name = data[_CLIENT_ID.size : _CLIENT_ID.size + max(size_bytes, 0)]
        if not fnmatchcase(name.decode(errors="replace"), self._pace.client_ids):
            for way in (self._in, self._out):
                way.delay_s, way.bytes_per_s = 0.0, 0

    def _in_ended(self, ending: _Ending) -> None:
        """Go on with what the broker sends, unless the client was reset."""
        if ending is _Ending.RESET:
            self.close(is_reset=True)

    def _out_ended(self, ending: _Ending) -> None:
        self.close(is_reset=ending is not _Ending.CLOSED)

    def close(self, *, is_reset: bool) -> None:
        """Close both sockets; what is on its way is lost."""
        self._in.close()
        self._out.close()
        self._ended(self)
        for sock in (self.client, self._inner):
            if is_reset:
                with suppress(OSError):
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            sock.close()


class SlowLinks:
    """The slow connections of a node."""

    def __init__(
        self, loop: AbstractEventLoop, resets: Resets, descriptors: ClientDescriptors
    ) -> None:
        """Begin without any.

        Args:
            loop: the running loop.
            resets: of the node.
            descriptors: of clients; a slow connection takes two more.
        """
        self._loop = loop
        self._resets = resets
        self._descriptors = descriptors
        self._links: set[_Link] = set()

    def join(self, client: socket.socket, pace: Pace) -> tuple[socket.socket, LinkWatches]:
        """Put a client behind a slow link.

        Args:
            client: connected and non-blocking; the link closes it.
            pace: of the link.

        Returns:
            The socket that the broker serves in its place, and what tells how busy it is.

        Raises:
            OSError: there is no descriptor left.
        """
        inner, served = _connected_pair()
        link = _Link(self._loop, client, inner, pace, self._forget)
        self._resets.watch(client.fileno(), link.client_was_reset)
        self._links.add(link)
        for _ in range(_DESCRIPTORS):
            self._descriptors.take()
        return served, link.watches

    def close(self) -> None:
        """Close all connections."""
        for link in tuple(self._links):
            link.close(is_reset=False)

    def _forget(self, link: _Link) -> None:
        self._resets.forget(link.client.fileno())
        self._links.discard(link)
        for _ in range(_DESCRIPTORS):
            self._descriptors.give_back()


def _connected_pair() -> tuple[socket.socket, socket.socket]:
    """Connect two sockets of this host by TCP, whose options and states a connection uses.

    Raises:
        OSError: there is no descriptor left.
    """
    with socket.socket() as listener:
        accept_unpaced(listener)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _INNER_BUFFER_BYTES)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _INNER_BUFFER_BYTES)
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        near = socket.create_connection(listener.getsockname())
        while True:
            far, address = listener.accept()
            if address == near.getsockname():
                break
            far.close()  # somebody else was faster
    near.setblocking(False)
    near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return near, far
