"""The loop of one client's connection: a request, its answer, the next request.

Requests are handled strictly in order, each in this connection's own task, so what a handler opens
(tasks, timeouts) nests as usual. A handler that does not wait costs no task switch.
"""

import logging
import socket
from asyncio import AbstractEventLoop
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from anyio import CancelScope
from anyio.lowlevel import checkpoint

from broker_lite.handler.context import CloseConnection, HandlerContext, Parts
from broker_lite.handler.dispatch import dispatch
from broker_lite.protocol.framing import ProtocolError, Request, RequestFraming, framed
from broker_lite.server.resets import Resets
from broker_lite.server.sendfile import Outgoing, TruncatedFile, send_now
from broker_lite.server.stream import Stream
from broker_lite.server.unsent import UnsentAnswers
from broker_lite.wire.primitives import DecodeError, EncodeError

logger = logging.getLogger("broker_lite.server")

# One client that sends without a pause lets the others run after so many requests.
_REQUESTS_PER_TURN: Final = 32
# Answers to Produce requests leave together up to here.
_HELD_BYTES_MAX: Final = 1024
# What a thread does for a client that has gone is stopped after this.
_ABANDONED_WORK_S: Final = 1.0


class ClientConnection:
    """One accepted connection, from its first byte to its close."""

    __slots__ = ("_context", "_held", "_loop", "_scope", "_sock", "_stopping", "_stream", "_unsent")

    def __init__(
        self,
        sock: socket.socket,
        framing: RequestFraming,
        context: HandlerContext,
        loop: AbstractEventLoop,
        resets: Resets,
        unsent: UnsentAnswers,
    ) -> None:
        """Take over an accepted, non-blocking socket; run() closes it."""
        self._sock = sock
        self._context = context
        self._scope = CancelScope()
        self._stopping = False
        self._held = b""
        self._loop = loop
        self._unsent = unsent
        self._stream = Stream(sock, framing, loop, self._abandon, resets)

    @property
    def client_ip(self) -> str:
        """The client's address without its port."""
        return self._context.client_address[0]

    @property
    def events(self) -> int:
        """Grows whenever something was received or sent after waiting."""
        return self._stream.events

    @property
    def is_idle(self) -> bool:
        """Whether no request is in progress; an answer that the client does not take is none.

        See: P-11.
        """
        return self._stream.is_waiting or self._stream.is_sending

    def release_idle_memory(self) -> None:
        """Give back the receive buffer of a connection that handles no request."""
        if self.is_idle:
            self._stream.framing.release_idle_memory()

    @property
    def arrived_bytes(self) -> int | None:
        """How much of a request is in taken memory; None when none is being received there."""
        stream = self._stream
        framing = stream.framing
        if not stream.is_waiting or stream.waits_for_memory or not framing.has_taken_memory:
            return None
        return framing.pending_bytes or None

    def stop(self) -> None:
        """Close after the request in progress, at once if there is none."""
        self._stopping = True
        self._stream.finish()

    def drop(self) -> None:
        """Close now, whatever is in progress."""
        self._context.stop.set()
        self._scope.cancel()

    def _abandon(self) -> None:
        """Close for a client that has gone.

        What a thread does for it then is mostly done soon, and counts, as in Kafka.
        """
        self._scope.cancel()
        self._loop.call_later(_ABANDONED_WORK_S, self._context.stop.set)

    def drop_if_abandoned(self) -> None:
        """Close when the client has gone and left bytes that hide its close.

        A long poll would else be held for nobody, for as long as the client cared to ask for.
        """
        if self._stream.handling and self._stream.is_closed_by_client():
            self._abandon()

    async def run(self, ended: "Callable[[ClientConnection], object]") -> None:
        """Serve the client until it goes, breaks the protocol, or stop() is called.

        Args:
            ended: called with this connection when its socket is closed.

        See: P-02, P-03, P-08, P-10 (no response, just the close).
        """
        with self._scope:
            try:
                await self._serve()
            except (ProtocolError, DecodeError, CloseConnection, TruncatedFile) as reason:
                self._note_closing(reason, logging.INFO, "closing %s: %s")
            except EncodeError as unsayable:
                self._note_closing(unsayable, logging.WARNING, "closing %s: no answer: %s")
            except OSError as error:
                logger.debug("lost %s: %s", self._context.client_address, error)
            except Exception as bug:
                self._note_closing(bug, logging.ERROR, "closing %s after an error: %r")
            finally:
                if self._held:  # what came behind it breaks the protocol, or was acks=0 and failed
                    with suppress(OSError):
                        send_now(self._sock, [self._held])
                self._stream.close()
                ended(self)

    def _note_closing(self, reason: Exception, level: int, message: str) -> None:
        """Say why the client is closed; for one that comes again and again, say how often.

        What is no fault of the client is written with its traceback.
        """
        address = self._context.client_address
        key = "closing", type(reason).__name__, address[0]
        self._context.client_log.write(
            logger,
            level,
            key,
            message,
            address,
            reason,
            exc_info=reason if level == logging.ERROR else None,
        )

    async def _serve(self) -> None:
        """Answer one request after the other.

        Rule: P-04, P-05.
        See: P-07.
        """
        stream, framing, context = self._stream, self._stream.framing, self._context
        turn_requests = 0
        while not self._stopping:
            request = framing.next_request()
            if request is None:
                turn_requests = 0
                if self._held:
                    await self._send_held()
                request = await stream.receive_request()
                if request is None:
                    return
            elif (turn_requests := turn_requests + 1) == _REQUESTS_PER_TURN:
                turn_requests = 0
                await checkpoint()
            stream.handling = True
            body = await dispatch(context, request)
            stream.handling = False
            if body is not None:
                outgoing = self._send(
                    request, body, more=not context.has_waited and framing.has_whole_produce()
                )
                if outgoing is not None:
                    await self._send_rest(outgoing)
                # A connection that waits must not keep files open or buffers alive.
                body = outgoing = None

    def _send(self, request: Request, body: Parts, *, more: bool) -> Outgoing | None:
        """Send an answer, or keep a short one back to leave with that of the next request.

        A Produce that has arrived whole is answered within the same turn, unless it has to wait for
        the disk. A client that sends several at a time is woken once for all of them, which is a
        tenth of what each one costs.
        """
        parts = framed(request, body)
        first = parts[0]
        assert isinstance(first, bytes)
        if self._held:
            first = parts[0] = self._held + first
            self._held = b""
        if more and len(parts) == 1 and len(first) < _HELD_BYTES_MAX:
            self._held = first
            return None
        return send_now(self._sock, parts)

    async def _send_held(self) -> None:
        """Send what was kept back, when only requests without an answer came behind it."""
        outgoing = send_now(self._sock, [self._held])
        self._held = b""
        if outgoing is not None:
            await self._send_rest(outgoing)

    async def _send_rest(self, outgoing: Outgoing) -> None:
        """Send on as the client takes it; meanwhile the answer counts, and the request is over."""
        self._stream.framing.rest()
        self._unsent.hold(self, outgoing.held_bytes)
        try:
            await self._stream.send_rest(outgoing)
        finally:
            self._unsent.release(self)
