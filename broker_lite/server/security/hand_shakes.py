"""The hand-shakes of TLS of all clients of a process: their steps one at a time, and few at once.

OpenSSL takes 45 KB for a hand-shake from its first record on, whether or not the client goes on. So
a client gets it only when its first record has arrived as a whole, and so many clients at a time:
one more takes the place of the one that has been silent for longest.
"""

import socket
import ssl
import time
from typing import Final, NamedTuple

import anyio
from anyio import CancelScope
from anyio.lowlevel import checkpoint

from broker_lite.handler.context import CloseConnection
from broker_lite.server.security.tls_socket import TlsSocket

AT_ONCE_MAX: Final = 500
# A client that is given up for another one has been silent for so long.
_GIVEN_S: Final = 1.0
_POLL_S: Final = 0.01
_HEAD_BYTES: Final = 5
_HAND_SHAKE: Final = b"\x16"
_RECORD_BYTES_MAX: Final = 16_384 + 256


class _Waiting(NamedTuple):
    """A client whose bytes are waited for, and since when."""

    since_s: float
    sock: TlsSocket


class Turns:
    """The steps of hand-shakes, of which the event loop does one in each of its turns.

    A step with a private key takes a millisecond. Many at once would keep everybody waiting.
    """

    def __init__(self, at_once_max: int = AT_ONCE_MAX) -> None:
        """Begin with nobody in the line.

        Args:
            at_once_max: how many clients may be in the middle of it.
        """
        self._line = anyio.Lock()
        self._entrance = anyio.Lock()
        self._at_once_max = at_once_max
        self._begun = 0
        self._waiting: dict[CancelScope, _Waiting] = {}

    async def shake_hands(self, sock: TlsSocket) -> None:
        """Do the steps of one hand-shake as the client's bytes come.

        Raises:
            CloseConnection: other clients wait, and this one has taken too long.
            OSError: see ssl.SSLSocket.do_handshake().
        """
        await _wait_for_first_record(sock)
        await self._enter()
        self._begun += 1
        try:
            with CancelScope() as scope:
                await self._steps(sock, scope)
        finally:
            self._begun -= 1
        if scope.cancelled_caught:
            raise CloseConnection("the TLS hand-shake was given up for that of another client")

    async def _enter(self) -> None:
        """Wait until there is room for one more, and make it if need be."""
        if self._begun < self._at_once_max:
            return
        async with self._entrance:
            while self._begun >= self._at_once_max:
                await self._make_room()

    async def _make_room(self) -> None:
        """Give up the hand-shake whose client has been silent for longest, if that is long."""
        if not self._waiting:
            await anyio.sleep(_POLL_S)
            return
        scope, (since_s, sock) = next(iter(self._waiting.items()))
        missing_s = since_s + _GIVEN_S - time.monotonic()
        if missing_s > 0:
            await anyio.sleep(missing_s)
            return
        del self._waiting[scope]
        if _is_silent(sock):
            scope.cancel()
        await checkpoint()

    async def _steps(self, sock: TlsSocket, scope: CancelScope) -> None:
        while True:
            try:
                async with self._line:
                    try:
                        sock.do_handshake()
                    finally:
                        await checkpoint()
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError) as wanted:
                self._waiting[scope] = _Waiting(time.monotonic(), sock)
                try:
                    await _wait_for(sock, wanted)
                finally:
                    self._waiting.pop(scope, None)
            else:
                return


async def _wait_for(sock: TlsSocket, wanted: ssl.SSLError) -> None:
    if isinstance(wanted, ssl.SSLWantReadError):
        await anyio.wait_readable(sock)
    else:
        await anyio.wait_writable(sock)


def _is_silent(sock: TlsSocket) -> bool:
    """Tell whether a client has sent nothing that this process has not come to read."""
    try:
        return not sock.peek(1)
    except OSError:
        return True


async def _wait_for_first_record(sock: TlsSocket) -> None:
    """Wait until the kernel has the whole first record, or the client something else, or has gone.

    Its bytes stay in the kernel. A socket whose buffer is too small for it is not waited for twice.
    """
    for _ in range(2):
        await anyio.wait_readable(sock)
        head = sock.peek(_HEAD_BYTES)
        if not _HAND_SHAKE.startswith(head[:1]) or not head:
            return
        wanted = _HEAD_BYTES
        if len(head) == _HEAD_BYTES:
            wanted += int.from_bytes(head[3:], "big")
        if wanted > _RECORD_BYTES_MAX or len(sock.peek(wanted)) == wanted > _HEAD_BYTES:
            return
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, wanted)
        try:
            await anyio.wait_readable(sock)
        finally:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
