"""The answers of one connection on their way to the client, in the order of its requests."""

import socket
import struct
from contextlib import suppress
from typing import Final

from broker_lite.handler.context import Parts
from broker_lite.protocol.framing import Request, framed
from broker_lite.server.limits.unsent import Holder, UnsentAnswers
from broker_lite.server.sendfile import Outgoing, send_now
from broker_lite.server.stream import Stream

# Answers to Produce requests are kept back and sent together, up to so many bytes.
_HELD_BYTES_MAX: Final = 1024


class Answers:
    """Frames and sends the answers of a connection.

    Attributes:
        held: a framed answer that is kept back to leave together with the next one.
    """

    __slots__ = ("_owner", "_sock", "_stream", "_unsent", "held")

    def __init__(
        self,
        sock: socket.socket,
        stream: Stream,
        unsent: UnsentAnswers,
        owner: Holder,
    ) -> None:
        """Begin with nothing to send.

        Args:
            sock: of the client.
            stream: of the same socket; tells when the client has made room.
            unsent: of the node; knows the answers whose clients do not read them.
            owner: the connection.
        """
        self._sock = sock
        self._stream = stream
        self._unsent = unsent
        self._owner: Holder | None = owner
        self.held = b""

    def put(self, request: Request, body: Parts, *, more: bool) -> Outgoing | None:
        """Send an answer, or keep a short one back to send it together with the next answer.

        If another whole Produce has arrived, it is answered within the same turn, unless it has to
        wait for the disk. So a client that sends several at a time is woken once for all answers.
        One more answer then costs a tenth of what it costs alone.

        Args:
            request: the request.
            body: its answer.
            more: whether the next request is such a Produce.

        Returns:
            None if nothing is left to do; else what send_rest() takes.
        """
        parts = framed(request, body)
        first = parts[0]
        assert isinstance(first, bytes)
        if self.held:
            first = parts[0] = self.held + first
            self.held = b""
        if more and len(parts) == 1 and len(first) < _HELD_BYTES_MAX:
            self.held = first
            return None
        return send_now(self._sock, parts)

    async def send_held(self) -> None:
        """Send the answers that were kept back, if no further request has an answer."""
        outgoing = send_now(self._sock, [self.held])
        self.held = b""
        if outgoing is not None:
            await self.send_rest(outgoing)

    def end(self) -> None:
        """Send what was kept back as far as the client takes it: the connection ends."""
        if self.held:  # the request after it broke the protocol, or failed with acks=0
            with suppress(OSError):
                send_now(self._sock, [self.held])
        # The owner refers to this object. Without the reference back, both are freed at once.
        self._owner = None

    async def send_rest(self, outgoing: Outgoing) -> None:
        """Send the rest of an answer as the client reads it.

        The request is over by then, so its buffer is freed, and the answer counts as unsent.
        """
        owner = self._owner
        assert owner is not None  # it is sending, so it has not ended
        self._stream.framing.rest()
        self._unsent.hold(owner, outgoing.held_bytes)
        try:
            await self._stream.send_rest(outgoing)
        finally:
            self._unsent.release(owner)

    async def send(self, data: bytes) -> None:
        """Send bytes as they are, for a fault; see handler.context.Wire.

        Raises:
            OSError: the connection is lost.
        """
        outgoing = send_now(self._sock, [data])
        if outgoing is not None:
            await self._stream.send_rest(outgoing)

    def reset(self) -> None:
        """Let the close of the connection be a reset; see handler.context.Wire."""
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
