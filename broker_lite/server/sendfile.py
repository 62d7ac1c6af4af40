"""Sending a framed response: bytes by send, ranges of files by os.sendfile.

A small response is copied together and sent by one call: up to 64 KB that costs less than sending
a range of a file by itself (3 instead of 7 us for 4 KB, 13 instead of 44 us for 64 KB, where the
client is woken more than once). Nothing is kept of the copy when the client does not take it all.

No byte of a larger FileSlice enters the process. The parts of one response leave together: bytes
that are followed by more are sent with MSG_MORE, and since os.sendfile pushes out what it has sent,
the socket is corked while bytes follow a file (the tagged fields at the end of a fetch response
do). Without the cork those few bytes woke the client a second time; with it, at two cheap calls
more, a fetch of 1 MB costs a third less CPU.
"""

import os
import socket
from collections.abc import Sequence
from typing import Final

from broker_lite.log.files import FileSlice

_HEAD_AND_FILE: Final = 2
_COPIED_BYTES_MAX: Final = 64 * 1024


class TruncatedFile(Exception):
    """A file became shorter than the range that was announced to the client; only closing is left.

    Rule: F-15.
    """


class Outgoing:
    """A response on its way out, and how far it has come.

    It refers to its parts, and so to their files, until it is dropped.
    """

    __slots__ = ("_corked", "_index", "_parts", "_sent_bytes")

    def __init__(
        self, parts: Sequence[bytes | FileSlice], sent_bytes: int = 0, *, corked: bool = False
    ) -> None:
        """Start behind the first `sent_bytes` of all; a corked socket is uncorked at the end."""
        self._parts = parts
        self._corked = corked
        self._index = 0
        for part in parts:
            size_bytes = _size_bytes(part)
            if sent_bytes < size_bytes:
                break
            sent_bytes -= size_bytes
            self._index += 1
        self._sent_bytes = sent_bytes

    def advance(self, sock: socket.socket) -> bool:
        """Send as much as the socket takes without blocking.

        A part that was taken only partly means that the socket is full: nothing is tried again
        before it is reported writable.

        Returns:
            Whether everything has been sent.

        Raises:
            TruncatedFile: a file ends before the range does.
            OSError: the connection is lost.
        """
        parts = self._parts
        try:
            while self._index < len(parts):
                part = parts[self._index]
                if isinstance(part, bytes):
                    whole = self._send_bytes(sock, part)
                else:
                    whole = self._send_file(sock, part)
                if not whole:
                    return False
                self._index += 1
                self._sent_bytes = 0
        except BlockingIOError:
            return False
        if self._corked:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
        return True

    def _send_bytes(self, sock: socket.socket, data: bytes) -> bool:
        more = socket.MSG_MORE if self._index + 1 < len(self._parts) else 0
        rest = memoryview(data)[self._sent_bytes :] if self._sent_bytes else data
        self._sent_bytes += sock.send(rest, more)
        return self._sent_bytes == len(data)

    def _send_file(self, sock: socket.socket, part: FileSlice) -> bool:
        position = part.position + self._sent_bytes
        missing_bytes = part.size_bytes - self._sent_bytes
        if missing_bytes == 0:
            return True
        sent_bytes = os.sendfile(sock.fileno(), part.fd, position, missing_bytes)
        if sent_bytes == 0:
            raise _truncated(missing_bytes, position)
        self._sent_bytes += sent_bytes
        return sent_bytes == missing_bytes


def send_now(sock: socket.socket, parts: Sequence[bytes | FileSlice]) -> Outgoing | None:
    """Send a response as far as it goes without waiting.

    Returns:
        None when all of it is sent, else what is left to do.

    Raises:
        TruncatedFile: a file ends before the range does.
        OSError: the connection is lost.
    """
    data = _in_one_piece(parts)
    if data is not None:
        try:
            sent_bytes = sock.send(data)
        except BlockingIOError:
            sent_bytes = 0
        return None if sent_bytes == len(data) else Outgoing(parts, sent_bytes)
    corked = len(parts) > _HEAD_AND_FILE
    if corked:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    outgoing = Outgoing(parts, corked=corked)
    return None if outgoing.advance(sock) else outgoing


def _in_one_piece(parts: Sequence[bytes | FileSlice]) -> bytes | None:
    """A response that is one piece, or small enough to be made one; None for others.

    Raises:
        TruncatedFile, OSError: see Outgoing.advance().
    """
    first = parts[0]
    if len(parts) == 1 and isinstance(first, bytes):
        return first
    if sum(map(_size_bytes, parts)) > _COPIED_BYTES_MAX:
        return None
    return b"".join([part if isinstance(part, bytes) else _read(part) for part in parts])


def _read(part: FileSlice) -> bytes:
    data = os.pread(part.fd, part.size_bytes, part.position)
    if len(data) < part.size_bytes:
        raise _truncated(part.size_bytes - len(data), part.position + len(data))
    return data


def _size_bytes(part: bytes | FileSlice) -> int:
    return len(part) if isinstance(part, bytes) else part.size_bytes


def _truncated(missing_bytes: int, position: int) -> TruncatedFile:
    return TruncatedFile(f"{missing_bytes} bytes announced at {position} are not there")
