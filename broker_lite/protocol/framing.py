"""Sans-IO framing of one connection: split bytes into requests within limits, frame the answers.

Bytes are received straight into one buffer, and a request is a view into it. So a produced batch is
checked, stamped and written to its file where it arrived. The buffer of an idle connection is
small. When 32 KB of a larger frame have arrived, the frame gets a buffer of its size. Such a buffer
is made of pages of the system, which take memory only as bytes are received into them, whatever
size a client announces. Growing makes a new buffer, so views into the old one stay valid. The
memory that all connections take beyond their first small buffers is bounded, see RequestMemory.

Reading ahead makes small requests cheap (one receive call, many requests), but large ones
expensive: the head of the next request has to be moved to the front. So if much of a frame is
missing, the offered space ends with the frame. If the size of the next frame is not known, the
space is as large as the last frame.

A request without records is small, but decoded it may take 50 times its bytes. So only requests
with records may have the size of `socket.request.max.bytes`.

A difference to Kafka: a request that is larger than `broker.lite.control.request.max.bytes` and is
no Produce closes the connection before it is read (P-02).
"""

import mmap
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol, TypeVar

from broker_lite.protocol.request_memory import (
    SMALL_BUFFER_BYTES,
    NoMemory,
    Pool,
    RequestMemory,
)
from broker_lite.wire.primitives import UNDERFLOW, DecodeError, invalid_length, skip_tags

IDLE_BUFFER_BYTES: Final = 4096
READ_AHEAD_BYTES: Final = 128 * 1024
_STEP_BYTES: Final = 64 * 1024
_PAGES: Final = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
RETAINED_BUFFER_BYTES: Final = 16 * 1024 * 1024
_EXACT_READ_BYTES: Final = 32 * 1024
_SIZE_BYTES: Final = 4
_SHORTEST_HEADER_BYTES: Final = 10
_SIZE_AND_KEY_BYTES: Final = 6
_PRODUCE_KEY: Final = 0
_API_VERSIONS_KEY: Final = 18
_NEVER_FLEXIBLE: Final = 32768
"""Above every version."""
_JOINED_BYTES_MAX: Final = 64 * 1024

# tuple.__new__, because a NamedTuple's own constructor is a Python function and takes 100 ns more
_make: Final = tuple.__new__

_READ_SIZE: Final[Callable[[bytearray | mmap.mmap, int], tuple[int]]] = struct.Struct(
    ">i"
).unpack_from
_KEY: Final = struct.Struct(">h")
_SIZE_AND_KEY: Final = struct.Struct(">ih")
# api key, version, correlation id, length of the client id
_READ_HEADER: Final[Callable[[memoryview], tuple[int, int, int, int]]] = struct.Struct(
    ">hhih"
).unpack_from
# size and correlation id; the flexible header adds tagged fields, of which there are none
_PACK_HEAD: Final = struct.Struct(">ii").pack
_PACK_HEAD_FLEXIBLE: Final = struct.Struct(">iix").pack
_HEAD_BYTES: Final = 4
_HEAD_FLEXIBLE_BYTES: Final = 5


class ProtocolError(Exception):
    """The peer broke the framing; the only answer is to close the connection.

    Rule: P-02, P-03.
    """


class Request(NamedTuple):
    """One request: its header is decoded, its body is not.

    `body` is a writable view of the whole frame without its size prefix, header included; the
    request's own fields start at `position`. The view is valid until get_buffer() is called for
    this connection again. `flexible` is set if the request's version is a flexible one.
    """

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body: "memoryview"  # a name that mypyc does not know
    position: int
    flexible: bool


class SizedPart(Protocol):
    """A part of an answer that is not in memory; only its size matters here."""

    @property
    def size_bytes(self) -> int:
        """How many bytes the part adds to the answer."""


PartT = TypeVar("PartT", bound=SizedPart)


class RequestFraming:
    """The receiving half of one connection, without its socket."""

    __slots__ = (
        "_buffer",
        "_capacity",
        "_control_bytes_max",
        "_end",
        "_flexible_from",
        "_frame_bytes",
        "_last_frame_bytes",
        "_memory",
        "_pool",
        "_request_bytes_max",
        "_start",
        "_view",
    )

    def __init__(
        self,
        request_bytes_max: int,
        flexible_from: Mapping[int, int],
        *,
        control_bytes_max: int | None = None,
        memory: RequestMemory | None = None,
    ) -> None:
        """Start with an empty buffer.

        Args:
            request_bytes_max: the largest size a frame may announce, its prefix not counted.
            flexible_from: API key to its first flexible version; a missing key has none.
            control_bytes_max: the same for a request that is not a Produce; None for the same size.
            memory: shared by all connections; None for no limit.
        """
        self._request_bytes_max = request_bytes_max
        if control_bytes_max is None:
            control_bytes_max = request_bytes_max
        self._control_bytes_max = min(control_bytes_max, request_bytes_max)
        self._flexible_from = flexible_from
        self._memory = memory if memory is not None else RequestMemory()
        # The pool that the buffer's memory was taken from; None for the small first buffer.
        self._pool: Pool | None = None
        self._buffer: bytearray | mmap.mmap = bytearray(IDLE_BUFFER_BYTES)
        self._capacity = IDLE_BUFFER_BYTES
        self._view = memoryview(self._buffer)
        # buffer[start:end] holds the bytes that were received but not returned as a request yet.
        self._start = 0
        self._end = 0
        # The size of the frame at start, prefix included; 0 while it is not known.
        self._frame_bytes = 0
        self._last_frame_bytes = 0

    @property
    def buffer_bytes(self) -> int:
        """The size of this connection's buffer."""
        return self._capacity

    @property
    def has_taken_memory(self) -> bool:
        """True if the buffer is larger than the small one that every connection has."""
        return self._pool is not None

    @property
    def pending_bytes(self) -> int:
        """How many bytes were received but not returned as a request yet."""
        return self._end - self._start

    def get_buffer(self) -> memoryview:
        """Return space to receive into, never empty; it makes views of earlier requests invalid.

        Raises:
            NoMemory: nothing can be received now; bytes that were received before stay.
        """
        if self._start == self._end:
            self._start = self._end = 0
            if self._capacity > RETAINED_BUFFER_BYTES:
                self.release_idle_memory()
        capacity = self._capacity
        if self._end == capacity or self._start + self._frame_bytes > capacity:
            self._make_room()
        end = self._end
        missing_bytes = self._start + self._frame_bytes - end
        if missing_bytes < _EXACT_READ_BYTES:
            missing_bytes = max(self._last_frame_bytes, READ_AHEAD_BYTES)
            if end == 0 and missing_bytes >= self._capacity:
                return self._view
        return self._view[end : end + missing_bytes]

    def bytes_received(self, count: int) -> None:
        """Note that the first `count` bytes of the space from get_buffer() have been filled."""
        self._end += count

    def next_request(self) -> Request | None:
        """Return the next whole request.

        Returns:
            None if more bytes are needed.

        Raises:
            ProtocolError: the announced size is negative, too large for the API, or too small for
                a header.
            DecodeError: the header cannot be decoded.

        Rule: P-01 to P-03.
        See: P-08, P-40, P-41.
        """
        start = self._start
        available_bytes = self._end - start
        if available_bytes < _SIZE_BYTES:
            return None
        (size_bytes,) = _READ_SIZE(self._buffer, start)
        if not _SHORTEST_HEADER_BYTES <= size_bytes <= self._request_bytes_max:
            raise ProtocolError(f"a frame of {size_bytes} bytes is announced")
        if size_bytes > self._control_bytes_max and available_bytes >= _SIZE_AND_KEY_BYTES:
            self._check_large(size_bytes)
        frame_bytes = size_bytes + _SIZE_BYTES
        if available_bytes < frame_bytes:
            self._frame_bytes = frame_bytes
            return None
        self._frame_bytes = 0
        self._last_frame_bytes = frame_bytes
        self._start = start + frame_bytes
        frame = self._view[start + _SIZE_BYTES : start + frame_bytes]
        return decode_header(frame, self._flexible_from)

    def has_whole_produce(self) -> bool:
        """True if next_request() would return a Produce request."""
        start = self._start
        available_bytes = self._end - start
        if available_bytes < _SIZE_AND_KEY_BYTES:
            return False
        size_bytes: int
        key: int
        size_bytes, key = _SIZE_AND_KEY.unpack_from(self._buffer, start)
        return 0 < size_bytes <= available_bytes - _SIZE_BYTES and key == _PRODUCE_KEY

    def rest(self) -> None:
        """Note that the request is answered; free a grown buffer if others need its memory."""
        if self._pool is not None and self._pool.is_short:
            self.release_idle_memory()

    def release_idle_memory(self) -> None:
        """Free a grown buffer if it holds no received bytes; views into it stay valid."""
        if self._start == self._end and self._pool is not None:
            self._use(bytearray(IDLE_BUFFER_BYTES), IDLE_BUFFER_BYTES, None)
            self._start = self._end = 0

    def close(self) -> None:
        """Give back all memory; nothing is received any more."""
        self._start = self._end
        self.release_idle_memory()

    def _check_large(self, size_bytes: int) -> None:
        """Refuse a frame above control_bytes_max that is not a Produce.

        Rule: P-02.
        See: P-34.
        """
        key = _KEY.unpack_from(self._buffer, self._start + _SIZE_BYTES)[0]
        if key != _PRODUCE_KEY:
            raise ProtocolError(f"a request of API {key} with {size_bytes} bytes is announced")

    def _make_room(self) -> None:
        """Move the received bytes to the front, of a larger buffer if the frame needs one.

        Raises:
            NoMemory: a larger buffer is needed, and there is no memory for it.
        """
        start = self._start
        pending = self._view[start : self._end]
        capacity = self._wanted_capacity(len(pending))
        if capacity > self._capacity:
            buffer = _allocate(capacity)
            pool = self._memory.of(capacity)
            try:
                pool.take(capacity)
            except NoMemory:
                if start == 0:
                    raise
            else:
                self._use(buffer, capacity, pool)
        elif start == 0:  # there is room for the beginning of a large frame
            return
        self._view[: len(pending)] = pending
        self._start, self._end = 0, len(pending)

    def _wanted_capacity(self, pending_bytes: int) -> int:
        """Return the size that the buffer should have.

        It is the size of a large frame only once some of the frame has arrived, because announcing
        a large frame costs the client nothing.
        """
        frame_bytes = self._frame_bytes
        if frame_bytes > _STEP_BYTES and (
            pending_bytes >= _STEP_BYTES // 2 or frame_bytes <= 2 * self._capacity
        ):
            return frame_bytes
        return max(self._capacity, _STEP_BYTES)

    def _use(self, buffer: bytearray | mmap.mmap, capacity: int, pool: Pool | None) -> None:
        """Change to a new buffer, whose memory is already taken; give back the old one's memory."""
        before, before_bytes = self._pool, self._capacity
        self._buffer, self._capacity, self._pool = buffer, capacity, pool
        self._view = memoryview(buffer)
        if before is not None:
            before.give_back(before_bytes)


def _allocate(capacity: int) -> bytearray | mmap.mmap:
    if capacity <= SMALL_BUFFER_BYTES:
        return bytearray(capacity)
    return mmap.mmap(-1, capacity, flags=_PAGES)


def decode_header(frame: memoryview, flexible_from: Mapping[int, int]) -> Request:
    """Decode the header of a request.

    Args:
        frame: one request without its size.
        flexible_from: API key to its first version whose header ends with tagged fields; a missing
            key has none.

    Raises:
        DecodeError: the frame is too short, or a length in the header is wrong.

    Rule: P-15, P-40, P-41 (the client id has an int16 length in both).
    See: P-03.
    """
    length: int
    try:
        api_key, api_version, correlation_id, length = _READ_HEADER(frame)
        position = _SHORTEST_HEADER_BYTES
        client_id = None
        if length >= 0:
            position += length
            if position > len(frame):
                invalid_length("client_id", length)
            client_id = frame[_SHORTEST_HEADER_BYTES:position].tobytes().decode("utf-8", "replace")
        is_flexible = api_version >= flexible_from.get(api_key, _NEVER_FLEXIBLE)
        if is_flexible:
            position = skip_tags(frame, position)
    except UNDERFLOW:
        raise DecodeError("the request header ends too early") from None
    return _make(
        Request, (api_key, api_version, correlation_id, client_id, frame, position, is_flexible)
    )


def _pack_head(body_bytes: int, correlation_id: int, flexible: bool) -> bytes:
    if flexible:
        return _PACK_HEAD_FLEXIBLE(_HEAD_FLEXIBLE_BYTES + body_bytes, correlation_id)
    return _PACK_HEAD(_HEAD_BYTES + body_bytes, correlation_id)


def framed(request: Request, body: Sequence[bytes | PartT]) -> list[bytes | PartT]:
    """Put the size and the header in front of the body of an answer.

    Args:
        request: the request that is answered.
        body: bytes, and parts that know their size.

    Returns:
        The parts of one whole frame; the head is joined to a first part that is in memory.

    Rule: P-42, P-43 (the answer to ApiVersions never has the flexible header).
    See: P-01, P-05.
    """
    flexible = request.flexible and request.api_key != _API_VERSIONS_KEY
    if len(body) == 1:
        only = body[0]
        if isinstance(only, bytes) and len(only) <= _JOINED_BYTES_MAX:  # nearly all are like this
            return [_pack_head(len(only), request.correlation_id, flexible) + only]
    body_bytes = 0
    for part in body:
        body_bytes += len(part) if isinstance(part, bytes) else part.size_bytes
    start = _pack_head(body_bytes, request.correlation_id, flexible)
    if body:
        first = body[0]
        if isinstance(first, bytes) and len(first) <= _JOINED_BYTES_MAX:
            return [start + first, *body[1:]]
    return [start, *body]
