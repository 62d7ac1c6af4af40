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
from typing import Final

import anyio

from broker_lite.errors import ErrorCode
from broker_lite.handler.authentication import answer, note, renew, reply_to
from broker_lite.handler.context import CloseConnection, HandlerContext
from broker_lite.protocol.framing import decode_header, framed
from broker_lite.security.sasl.exchange import Authenticated, Exchange, SaslRules, State
from broker_lite.server.limits import time_limit_s
from broker_lite.server.tls_socket import TlsSocket, receive, send_all

_AUTHENTICATION_S_MAX: Final = 60
_RECEIVE_BYTES: Final = 16 * 1024
_SIZE: Final = struct.Struct(">i")


class _Gone(Exception):
    """The client has closed."""


async def authenticate(
    sock: socket.socket, loop: AbstractEventLoop, context: HandlerContext, rules: SaslRules
) -> bool:
    """Let a client authenticate, and note in the context who it is.

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
                await _take_frame(sock, loop, context, rules, exchange)
        except _Gone:
            return False
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
) -> None:
    """Receive one frame and answer it.

    Rule: X-04 (the answer of a refusal waits, too), X-09.
    """
    frame = await _receive_frame(sock, loop, rules)
    if exchange.state is State.RAW:
        reply = reply_to(exchange, bytes(frame), context.clock.now_ms())
        refusal = "" if reply.code is ErrorCode.NONE else "failed authentication"
        data = b"" if refusal else _SIZE.pack(len(reply.token)) + reply.token
    else:
        flexible_from = {key: api.flexible_from for key, api in context.apis.items()}
        request = decode_header(memoryview(frame), flexible_from)
        parts, refusal = await answer(context, exchange, request)
        data = b"" if parts is None else b"".join(map(bytes, framed(request, parts)))  # type: ignore[arg-type]
    if refusal:
        await anyio.sleep(rules.refusal_delay_ms / 1000)
    if data:
        await (
            send_all(sock, data) if isinstance(sock, TlsSocket) else loop.sock_sendall(sock, data)
        )
    if refusal:
        raise CloseConnection(refusal)


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
