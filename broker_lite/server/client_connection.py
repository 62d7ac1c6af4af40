"""The loop of one client's connection: a request, its answer, the next request.

The requests of a connection are handled strictly in order, in the connection's own task, so that
tasks and timeouts that a handler opens nest as usual. Only a request that its API answers without
any wait is answered right where it is received. So it costs neither a coroutine nor a switch of
tasks.
"""

import logging
import socket
from asyncio import AbstractEventLoop
from collections.abc import Awaitable, Callable
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final

from anyio import CancelScope, Event
from anyio.lowlevel import checkpoint

from broker_lite.handler.context import (
    CloseConnection,
    HandlerContext,
    MutedAnswer,
    Parts,
    WireAnswer,
)
from broker_lite.handler.dispatch import begin, dispatch
from broker_lite.protocol.framing import Request, RequestFraming
from broker_lite.server.answers import Answers
from broker_lite.server.closings import note_closing
from broker_lite.server.departures import Departures
from broker_lite.server.limits.unsent import UnsentAnswers
from broker_lite.server.resets import Resets
from broker_lite.server.security.tls_socket import TlsSocket
from broker_lite.server.sendfile import Outgoing
from broker_lite.server.slow_answers import SlowAnswers
from broker_lite.server.stream import Received, Stream
from broker_lite.server.upkeep.pauses import Pauses

if TYPE_CHECKING:
    from broker_lite.handler.context import Renew, Rest
    from broker_lite.server.security.tls_listeners import TlsListener
    from broker_lite.server.slow_link import LinkWatches

logger = logging.getLogger("broker_lite.server")

# A client that sends without a pause lets other connections run after so many requests, or so long.
_REQUESTS_PER_TURN: Final = 32
_TURN_S: Final = 0.005
# Work that a thread does for a client that has gone is stopped after so long.
_ABANDONED_WORK_S: Final = 1.0


class ClientConnection:
    """One accepted connection, from its first byte to its close.

    Attributes:
        link: how busy the slow link to the client is; None without one.
        paused: while the node hangs, what ends that; nothing is handled or answered meanwhile.
        since_s: when it was accepted, by the loop's clock.
        requests: how many have been handled, or are.
    """

    __slots__ = (
        "_answers",
        "_authenticating",
        "_context",
        "_is_muted",
        "_loop",
        "_pauses",
        "_scope",
        "_slow",
        "_sock",
        "_stopping",
        "_stream",
        "_tls",
        "link",
        "paused",
        "requests",
        "since_s",
    )

    def __init__(
        self,
        sock: socket.socket,
        framing: RequestFraming,
        context: HandlerContext,
        loop: AbstractEventLoop,
        resets: Resets,
        departures: Departures,
        unsent: UnsentAnswers,
        tls: "TlsListener | None" = None,
        *,
        pauses: Pauses,
    ) -> None:
        """Take over an accepted, non-blocking socket; run() closes it.

        With `tls`, the client has not shaken hands yet. Throttled clients wait by `pauses`.
        """
        self._sock = sock
        self._context = context
        self._scope = CancelScope()
        self._stopping = self._authenticating = self._is_muted = False
        self.link: LinkWatches | None = None
        self.paused: Event | None = None
        self._slow: SlowAnswers | None = None
        self._pauses = pauses
        self._loop = loop
        self.since_s, self.requests = loop.time(), 0
        self._tls = tls
        answer = self._answer_at_once
        self._stream = Stream(sock, framing, loop, self._abandon, resets, departures, answer)
        self._answers = Answers(sock, self._stream, unsent, self)

    @property
    def context(self) -> HandlerContext:
        """What its handlers know."""
        return self._context

    @property
    def client_ip(self) -> str:
        """The client's address without its port."""
        return self._context.client_address[0]

    @property
    def answers(self) -> Answers:
        """Its answers on their way to the client."""
        return self._answers

    @property
    def events(self) -> int:
        """A counter that grows at each receive, and at each send after a wait."""
        return self._stream.events

    @property
    def stream(self) -> Stream:
        """Its socket and what arrives on it."""
        return self._stream

    @property
    def is_idle(self) -> bool:
        """True if no request is in progress; an answer that is still being sent is no request.

        See: P-11.
        """
        return self._stream.is_waiting or self._stream.is_sending or self._is_muted

    def release_idle_memory(self) -> None:
        """Free the receive buffer if the connection handles no request."""
        if self.is_idle:
            self._stream.framing.release_idle_memory()

    @property
    def arrived_bytes(self) -> int | None:
        """Bytes of a partly received request for which memory was taken; None if there is none."""
        stream = self._stream
        framing = stream.framing
        if not stream.is_waiting or stream.waits_for_memory or not framing.has_taken_memory:
            return None
        return framing.pending_bytes or None

    def stop(self) -> None:
        """Close after the request in progress, or at once if there is none."""
        self._stopping = True
        if self._tls is not None or self._authenticating or self._is_muted:
            self._scope.cancel()
        self._stream.finish()

    def drop(self) -> None:
        """Close now, whatever is in progress."""
        self._context.stop.set()
        self._scope.cancel()

    def _abandon(self) -> None:
        """Close the connection, because its client has gone.

        A thread may still work for the client. It gets a moment to finish, because such work is
        mostly done soon, and its result counts, as in Kafka.
        """
        self._scope.cancel()
        self._loop.call_later(_ABANDONED_WORK_S, self._context.stop.set)

    def drop_if_abandoned(self) -> None:
        """Close if the client has gone and left unread bytes, which hide its close.

        Otherwise a long poll would wait for a client that has gone, for as long as it asked for.
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
                if self._tls is not None:
                    await self._shake_hands(self._tls)
                if self._context.sasl is None or await self._authenticate():
                    await self._serve()
            except OSError as error:
                logger.debug("lost %s: %s", self._context.client_address, error)
            except Exception as reason:
                note_closing(self._context, reason)
            finally:
                self._answers.end()
                if self._slow is not None:
                    self._slow.close()
                self._stream.close()
                ended(self)

    async def _shake_hands(self, tls: "TlsListener") -> None:
        if self.paused is not None:
            await self.paused.wait()
        assert isinstance(self._sock, TlsSocket)
        self._context.principal = await tls.shake_hands(self._sock)
        self._tls = None

    async def _serve(self) -> None:
        """Answer one request after the other.

        Rule: P-04, P-05.
        See: P-07.
        """
        stream, framing, context = self._stream, self._stream.framing, self._context
        turn_requests, turn_ends_s = 0, 0.0
        while not self._stopping:
            rest: Rest | None = None
            request = framing.next_request()
            if request is None:
                if self._answers.held:
                    await self._answers.send_held()
                received = await stream.receive_request()
                if received is None:
                    return
                request, rest = received
                received = None  # it would keep the request's buffer alive during the next wait
                turn_requests, turn_ends_s = 0, monotonic() + _TURN_S
            elif (turn_requests := turn_requests + 1) == _REQUESTS_PER_TURN or (
                monotonic() >= turn_ends_s
            ):
                await checkpoint()
                turn_requests, turn_ends_s = 0, monotonic() + _TURN_S
            if self.paused is not None:
                await self.paused.wait()
            stream.handling = True
            body = await (self._handle(request) if rest is None else rest())
            stream.handling = False
            if self.paused is not None or self._slow is not None or context.passage is not None:
                body = await self._hold_back(request, body)
            # Only the answer of a fault, or of a throttled client, is more than a list. The hook
            # of the fault may be gone by now.
            if body is not None and (type(body) is list or not await self._has_left(request, body)):
                outgoing = self._answers.put(request, body, more=self._has_more())
                if outgoing is not None:
                    await self._answers.send_rest(outgoing)
                # A connection that waits must not keep files open or buffers alive.
                body = outgoing = rest = None

    def _handle(self, request: Request) -> Awaitable[Parts | None]:
        self.requests += 1
        if self._context.renew is None:
            return dispatch(self._context, request)
        return self._handle_or_renew(self._context.renew, request)

    def _answer_at_once(self, request: Request) -> Received | None:
        """Answer a request that was received, and those behind it, as long as nothing has to wait.

        Returns:
            None if all are answered; else the first for which the connection's task is needed.

        Raises:
            CloseConnection, DecodeError: see dispatch.begin().
            ProtocolError: see RequestFraming.next_request().
            OSError: the connection is lost.

        Rule: P-04, P-05.
        """
        context, turn_requests, turn_ends_s = self._context, 0, monotonic() + _TURN_S
        following: Request | None = request
        while following is not None:
            request = following
            if self.paused is not None or self._slow is not None or context.renew is not None:
                return request, None
            turn_requests += 1
            is_over = turn_requests == _REQUESTS_PER_TURN or monotonic() >= turn_ends_s
            begun = None if is_over else begin(context, request)
            if begun is None:
                return request, None
            self.requests += 1
            if not isinstance(begun, list):
                return request, begun
            outgoing = self._answers.put(request, begun, more=self._has_more())
            if outgoing is not None:
                return request, partial(self._send_rest, outgoing)
            following = self._stream.framing.next_request()
        return None

    async def _send_rest(self, outgoing: Outgoing) -> None:
        """Send the rest of an answer; its request is over, so the client may close its side."""
        self._stream.handling = False
        await self._answers.send_rest(outgoing)

    def _has_more(self) -> bool:
        """True if the next answer follows soon enough to leave together with this one."""
        context = self._context
        if context.has_waited or (context.hooks and context.hooks.may_wait):
            return False
        return self._stream.framing.has_whole_produce()

    async def _authenticate(self) -> bool:
        """Let the client say who it is; return False if it does not."""
        from broker_lite.server.security.authentication import authenticate  # few brokers need it

        rules = self._context.sasl
        assert rules is not None
        self._authenticating = True
        try:
            if self.paused is not None:
                await self.paused.wait()
            return await authenticate(self._sock, self._loop, self._context, rules, self)
        finally:
            self._authenticating = False

    async def _handle_or_renew(self, renew: "Renew", request: Request) -> "Parts | None":
        """Handle a request of a client that has authenticated, which may be doing so again.

        Raises:
            CloseConnection: the connection has to end.
        """
        answered = await renew(self._context, request)
        if answered is None:
            return await dispatch(self._context, request)
        parts, refusal = answered
        if not refusal:
            return parts
        if self._slow is not None:
            parts = await self._hold_back(request, parts)
        if parts is not None and (type(parts) is list or not await self._has_left(request, parts)):
            outgoing = self._answers.put(request, parts, more=False)
            if outgoing is not None:
                await self._answers.send_rest(outgoing)
        raise CloseConnection(refusal)

    async def _has_left(self, request: Request, body: Parts) -> bool:
        """Let an answer leave in its own way; return False if it is a usual one."""
        if isinstance(body, MutedAnswer):
            await self._mute(request, body)
            return True
        if not isinstance(body, WireAnswer):
            return False
        if self._answers.held:
            await self._answers.send_held()
        await body.leave(self._answers)
        return True

    async def _mute(self, request: Request, answer: MutedAnswer) -> None:
        """Send the answer of a throttled client, and read nothing from it for its throttle time.

        Rule: X-88 (SocketServer, ChannelMuteState).
        """
        if answer.has_parts:
            outgoing = self._answers.put(request, answer, more=False)
            if outgoing is not None:
                await self._answers.send_rest(outgoing)
            outgoing = None
        elif self._answers.held:
            await self._answers.send_held()
        answer.clear()
        # As while a request is handled: the client's close ends it.
        self._is_muted = self._stream.handling = True
        self._context.throttled.start()
        try:
            await self._pauses.wait_until(answer.until_ms)
        finally:
            self._context.throttled.stop()
            self._is_muted = self._stream.handling = False

    async def _hold_back(self, request: Request, body: Parts | None) -> Parts | None:
        """Wait while the node hangs, and for slow topics; return what leaves right now."""
        if self.paused is not None:
            await self.paused.wait()
        if self._slow is None:
            if self._context.passage is None:
                return body
            self._slow = SlowAnswers(self._loop, self._sock, self._context)
        if self._answers.held:
            await self._answers.send_held()
        request.body.release()  # a request that waits has no memory
        self._stream.framing.release_idle_memory()
        # What a client has sent that wants no answers arrives, also if it closes meanwhile.
        self._is_muted, self._stream.handling = True, body is not None
        try:
            return await self._slow.take(request, body)
        finally:
            self._is_muted = self._stream.handling = False
