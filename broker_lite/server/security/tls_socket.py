"""A socket with TLS that the connection reads and sends by as by a plain one.

What OpenSSL wants is turned into what a plain non-blocking socket says: BlockingIOError. Two things
differ, and the stream has to ask for them. Bytes that are decrypted already never make the socket
readable again (`has_more`). A read may have to send first, as the answer to a new key of the
client's (`wants_write`).
"""

import errno
import os
import socket
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio.lowlevel import checkpoint

from broker_lite.server.security import kernel_tls
from broker_lite.server.tcp_state import is_closed_by_client

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

# One record. OpenSSL says how much it has sent only when all it was given is sent, so it gets so
# much at a time. It demands the same bytes again after it could not send them: Outgoing does so.
_RECORD_BYTES: Final = 16_384
_SENT_BYTES_MAX: Final = 262_144
# So many small records take a millisecond. As many large ones fill every buffer.
_RECORDS_MAX: Final = 256
# An alert that ends the connection is a short record.
_PEEKED_BYTES: Final = 64
# All connections read files into it, one at a time: a send has copied what it could not send.
_FILE_BUFFER: Final = memoryview(bytearray(_SENT_BYTES_MAX))


class TlsSocket(ssl.SSLSocket):
    """A connected non-blocking socket, made by SSLContext.wrap_socket() of a TLS listener."""

    wants_write = False
    """True if the last read could not go on because the socket takes no bytes."""
    _is_ended = False
    _kernel_encrypts = False
    _kernel_decrypts = False

    def ask_kernel(self) -> None:
        """After the hand-shake, note what the kernel does; it is not asked again."""
        self._kernel_encrypts = kernel_tls.encrypts(self)
        self._kernel_decrypts = kernel_tls.decrypts(self)

    @property
    def has_more(self) -> bool:
        """True if there are bytes, or the end, that no event will tell of."""
        return self._is_ended or self.pending() > 0

    def recv_into(  # type: ignore[explicit-override]
        self, buffer: "WriteableBuffer", nbytes: int | None = None, flags: int = 0
    ) -> int:
        """Fill a buffer as far as there are bytes, from a limited number of records.

        A client that puts each byte into a record would keep the others waiting. What is left
        makes the socket readable again.

        Raises:
            BlockingIOError: there is none yet.
            OSError: the connection is lost, or the client broke the protocol.
        """
        space = memoryview(buffer)
        self.wants_write = False
        count = records = 0
        try:
            while count < len(space) and records < _RECORDS_MAX:
                records += 1
                received = 0 if self._is_ended else super().recv_into(space[count:])
                if received == 0:
                    self._is_ended = count > 0
                    break
                count += received
        except ssl.SSLWantReadError:
            if not count:
                raise BlockingIOError from None
        except ssl.SSLWantWriteError:
            self.wants_write = True
            if not count:
                raise BlockingIOError from None
        return count

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:  # type: ignore[explicit-override]
        """With MSG_PEEK, tell whether the client has gone: then nothing is returned.

        A client that has said goodbye, and sent nothing else, has gone.
        """
        if not flags & socket.MSG_PEEK:
            return super().recv(buflen, flags)
        if self._kernel_decrypts:
            return self._peek_decrypted(buflen, flags)
        found = socket.socket.recv(self, _PEEKED_BYTES, flags)
        if 0 < len(found) < _PEEKED_BYTES and is_closed_by_client(self):
            return b""
        return found[:buflen]

    def _peek_decrypted(self, count: int, flags: int) -> bytes:
        """Return bytes of the next record; nothing if it is a goodbye, or another without data."""
        try:
            return socket.socket.recv(self, count, flags)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            if is_closed_by_client(self):
                return b""
            raise BlockingIOError from None

    def peek(self, count: int) -> bytes:
        """Return up to `count` bytes of the records that wait in the kernel; they stay there.

        Raises:
            OSError: there is none yet, or the connection is lost.
        """
        return socket.socket.recv(self, count, socket.MSG_PEEK)

    def send(self, data: "ReadableBuffer", flags: int = 0) -> int:  # type: ignore[explicit-override]
        """Send as much as the socket takes, up to 256 KB; `flags` have no effect.

        Raises:
            BlockingIOError: it takes nothing. The next bytes must be the same.
            OSError: the connection is lost.
        """
        view = memoryview(data)
        sent_bytes = 0
        try:
            for start in range(0, min(len(view), _SENT_BYTES_MAX), _RECORD_BYTES):
                sent_bytes += super().send(view[start : start + _RECORD_BYTES])
        except ssl.SSLWantWriteError:
            if not sent_bytes:
                raise BlockingIOError from None
        return sent_bytes

    def send_file(self, fd: int, position: int, size_bytes: int) -> int:
        """Send a range of a file as far as the socket takes it, up to 256 KB, or by the kernel.

        Returns:
            The number of sent bytes; 0 if the file ends before the range begins.

        Raises:
            BlockingIOError, OSError: see send().
        """
        if self._kernel_encrypts:
            return os.sendfile(self.fileno(), fd, position, size_bytes)
        count = os.preadv(fd, [_FILE_BUFFER[:size_bytes]], position)
        return self.send(_FILE_BUFFER[:count]) if count else 0

    def close(self) -> None:  # type: ignore[explicit-override]
        """Say goodbye if that needs no waiting, and close."""
        with suppress(OSError, ValueError):
            self.unwrap()
        super().close()


async def receive(sock: TlsSocket, count: int) -> bytes:
    """Wait for bytes and return up to `count` of them, of one record; empty at the end.

    Other connections have their turn in between, as a client may put each byte into a record.

    Raises:
        OSError: the connection is lost, or the client broke the protocol.
    """
    await checkpoint()
    while True:
        try:
            return sock.recv(count)
        except ssl.SSLWantReadError:
            await anyio.wait_readable(sock)
        except ssl.SSLWantWriteError:
            await anyio.wait_writable(sock)


async def send_all(sock: TlsSocket, data: bytes) -> None:
    """Send all of some bytes, as the client reads them.

    Raises:
        OSError: the connection is lost.
    """
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[sock.send(rest) :]
        except BlockingIOError:
            await anyio.wait_writable(sock)


def wrap(context: ssl.SSLContext, sock: socket.socket) -> TlsSocket:
    """Put TLS on an accepted non-blocking socket, which must not be used any more.

    Raises:
        OSError: the client has gone.
    """
    context.sslsocket_class = TlsSocket
    wrapped: Any = context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
    assert isinstance(wrapped, TlsSocket)
    return wrapped
