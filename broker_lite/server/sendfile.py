"""Sending a framed response: bytes by send, ranges of files by os.sendfile.

No byte of a FileSlice enters the process. The parts of one response leave together: bytes that are
followed by more are sent with MSG_MORE, and since os.sendfile pushes out what it has sent, the
socket is corked while bytes follow a file (the tagged fields at the end of a fetch response do).
Without the cork those few bytes woke the client a second time; with it, at two cheap calls more, a
fetch of 16 KB costs 10 % less and one of 1 MB a third less CPU.
"""

import os
import socket
from collections.abc import Sequence
from typing import Final

from broker_lite.log.files.open_file import FileSlice

_HEAD_AND_FILE: Final = 2


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
        """Start at `sent_bytes` inside the first part; a corked socket is uncorked at the end."""
        self._parts = parts
        self._corked = corked
        self._index = 0
        self._sent_bytes = sent_bytes

    @property
    def held_bytes(self) -> int:
        """How much memory the parts take that are not on their way yet."""
        parts = self._parts[self._index :]
        return sum(len(part) for part in parts if isinstance(part, bytes))

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
            raise TruncatedFile(f"{missing_bytes} bytes announced at {position} are not there")
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
    first = parts[0]
    if len(parts) == 1 and isinstance(first, bytes):
        # Nearly every response; worth its own way past the bookkeeping.
        try:
            sent_bytes = sock.send(first)
        except BlockingIOError:
            sent_bytes = 0
        return None if sent_bytes == len(first) else Outgoing(parts, sent_bytes)
    corked = len(parts) > _HEAD_AND_FILE
    if corked:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    outgoing = Outgoing(parts, corked=corked)
    return None if outgoing.advance(sock) else outgoing
