"""The first requests of a connection on a SASL listener, until its client has authenticated.

On a listener of SASL_SSL, the hand-shake of TLS comes before.

Frames are received one by one and never ahead, into memory that grows with what has arrived. So
the loop of requests begins with an untouched socket, and a client that is not known yet holds no
more than its frame.

A difference to Kafka: a client has one minute to authenticate; Kafka closes a connection that is
idle for connections.max.idle.ms, however often the client begins anew (X-65).
"""

import socket
import struct
from asyncio import AbstractEventLoop
from functools import partial
from typing import Final, Protocol

import anyio

from broker_lite.handler.authentication import answer, answer_raw, note, renew
from broker_lite.handler.context import CloseConnection, HandlerContext, Parts, Wire, WireAnswer
from broker_lite.protocol.framing import decode_header, framed
from broker_lite.security.sasl.exchange import Authenticated, Exchange, SaslRules, State
from broker_lite.server.limits.node_limits import time_limit_s
from broker_lite.server.security.tls_socket import TlsSocket, receive

_AUTHENTICATION_S_MAX: Final = 60
_RECEIVE_BYTES: Final = 16 * 1024
_SIZE: Final = struct.Struct(">i")


class _Gone(Exception):
    """The client has closed."""


class Client(Protocol):
    """The way to the client.

    Attributes:
        paused: while the node hangs, what ends that; nothing is handled or answered meanwhile.
    """

    paused: anyio.Event | None

    @property
    def answers(self) -> Wire:
        """What takes the bytes."""


async def authenticate(
    sock: socket.socket,
    loop: AbstractEventLoop,
    context: HandlerContext,
    rules: SaslRules,
    client: Client,
) -> bool:
    """Let a client authenticate, and note in the context who it is.

    A node that hangs does not even close: the time limit counts once it goes on.

    Args:
        sock: of the client, to receive from.
        loop: the running loop.
        context: of the connection.
        rules: of the listener.
        client: to send to.

    Returns:
        False if the client has gone, or took too long.

    Raises:
        CloseConnection, DecodeError: the client is refused, or broke the protocol.
        OSError: the connection is lost.

    Rule: X-65.
    """
    exchange = Exchange(rules)
    with anyio.move_on_after(time_limit_s(context.settings, _AUTHENTICATION_S_MAX)):
        try:
            while exchange.session is None:
                await _take_frame(sock, loop, context, rules, exchange, client)
        except _Gone:
            return False
    if client.paused is not None:
        await client.paused.wait()
    session = exchange.session
    if session is None:
        return False
    context.renew = partial(renew, Authenticated(rules, session))
    context.principal = session.principal
    note(context, session)
    return True


async def _take_frame(
    sock: socket.socket,
    loop: AbstractEventLoop,
    context: HandlerContext,
    rules: SaslRules,
    exchange: Exchange,
    client: Client,
) -> None:
    """Receive one frame and answer it.

    Rule: X-04 (the answer of a refusal waits, too), X-09.
    """
    frame = await _receive_frame(sock, loop, rules)
    if client.paused is not None:
        await client.paused.wait()
    if exchange.state is State.RAW:
        parts, refusal = await answer_raw(context, exchange, bytes(frame))
        data = _joined(parts)
        data = b"" if parts is None else _SIZE.pack(len(data)) + data
    else:
        flexible_from = {key: api.flexible_from for key, api in context.apis.items()}
        request = decode_header(memoryview(frame), flexible_from)
        parts, refusal = await answer(context, exchange, request)
        data = b"" if parts is None else _joined(framed(request, parts))
    if refusal:
        await anyio.sleep(rules.refusal_delay_ms / 1000)
    if client.paused is not None:
        await client.paused.wait()
    if isinstance(parts, WireAnswer):
        await parts.leave(client.answers)
    elif data:
        await client.answers.send(data)
    if refusal:
        raise CloseConnection(refusal)


def _joined(parts: Parts | None) -> bytes:
    """Return an answer's bytes; while a client authenticates, it has no parts of files."""
    return b"".join(part for part in parts or () if isinstance(part, bytes))


async def _receive_frame(
    sock: socket.socket, loop: AbstractEventLoop, rules: SaslRules
) -> bytearray:
    """Receive a frame without its size.

    Rule: X-03.
    """
    (size_bytes,) = _SIZE.unpack(await _receive(sock, loop, _SIZE.size))
    if not 0 <= size_bytes <= rules.message_bytes_max:
        await anyio.sleep(rules.refusal_delay_ms / 1000)
        raise CloseConnection(f"a frame of {size_bytes} bytes is announced before authentication")
    return await _receive(sock, loop, size_bytes)


async def _receive(sock: socket.socket, loop: AbstractEventLoop, count: int) -> bytearray:
    data = bytearray()
    while len(data) < count:
        missing = min(count - len(data), _RECEIVE_BYTES)
        chunk = await (
            receive(sock, missing) if isinstance(sock, TlsSocket) else loop.sock_recv(sock, missing)
        )
        if not chunk:
            raise _Gone
        data += chunk
    return data
