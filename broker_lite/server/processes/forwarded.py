"""A client's request on its way from the process that received it to the first process.

What the handlers there have to know of the client goes with the request: who it is, where it came
from, and at which listener. The answer is the body, or why the connection is closed.
"""

import json
import struct
from enum import IntEnum
from typing import Final, NamedTuple, cast

from broker_lite.handler.context import (
    CloseConnection,
    HandlerContext,
    ListenerInfo,
    MutedAnswer,
    Parts,
    WireAnswer,
)
from broker_lite.protocol.framing import Request
from broker_lite.security.principal import Principal, TokenPrincipal
from broker_lite.server.processes.wire_answers import decode_wire, encode_wire

_SIZE: Final = struct.Struct(">I")
_OUTCOME: Final = struct.Struct(">Bq")


class Client(NamedTuple):
    """The client of a forwarded request.

    Attributes:
        connection_id: of its connection.
        address: host and port of the client.
        local_address: host and port at which it connected.
        listener: as the client sees it.
        principal: who it is.
        software: name and version of its software.
    """

    connection_id: int
    address: tuple[str, int]
    local_address: tuple[str, int]
    listener: ListenerInfo
    principal: Principal
    software: str


def client_of(context: HandlerContext) -> Client:
    """Return what the first process has to know of a client."""
    return Client(
        context.connection_id,
        context.client_address,
        context.local_address,
        context.listener,
        context.principal,
        context.software,
    )


def encode_forwarded(client: Client, request: Request) -> bytes:
    """Return a client and its request as bytes."""
    principal = client.principal
    facts = (*client[:4], [*principal, principal.is_by_token], client.software)
    head = json.dumps(facts, separators=(",", ":")).encode()
    return b"".join((_SIZE.pack(len(head)), head, request.body))


def decode_forwarded(payload: bytes | memoryview) -> tuple[Client, memoryview]:
    """Return a client, and its request as a frame without its size, which may be written to."""
    data = memoryview(payload)
    end = _SIZE.size + _SIZE.unpack_from(data)[0]
    facts = json.loads(bytes(data[_SIZE.size : end]))
    number, address, local, listener, (kind, name, is_by_token), software = facts
    client = Client(
        number,
        (address[0], address[1]),
        (local[0], local[1]),
        ListenerInfo(*listener),
        (TokenPrincipal if is_by_token else Principal)(kind, name),
        software,
    )
    return client, memoryview(bytearray(data[end:]))


class Outcome(IntEnum):
    """What has become of a request."""

    ANSWER = 0
    NO_ANSWER = 1
    CLOSE = 2
    WIRE = 3


def encode_outcome(parts: Parts | None, now_ms: int) -> bytes:
    """Return the answer to a request as bytes; it has no parts of files.

    Args:
        parts: of the answer; None for no answer.
        now_ms: monotonic time, from which the time of a throttled client counts.
    """
    muted_ms = parts.until_ms - now_ms if isinstance(parts, MutedAnswer) else 0
    if parts is None or (isinstance(parts, MutedAnswer) and not parts.has_parts):
        return _OUTCOME.pack(Outcome.NO_ANSWER, muted_ms)
    return b"".join((_OUTCOME.pack(Outcome.ANSWER, muted_ms), *cast("list[bytes]", parts)))


def encode_closing(reason: CloseConnection) -> bytes:
    """Return that a connection has to be closed as bytes."""
    return _OUTCOME.pack(Outcome.CLOSE, 0) + str(reason).encode()


async def encode_any(parts: Parts | None, now_ms: int) -> bytes:
    """Do what encode_outcome() does, also for an answer that leaves in its own way."""
    if isinstance(parts, WireAnswer):
        return _OUTCOME.pack(Outcome.WIRE, 0) + await encode_wire(parts)
    return encode_outcome(parts, now_ms)


def decode_outcome(payload: bytes, now_ms: int) -> Parts | None:
    """Return the answer to a request.

    Raises:
        CloseConnection: the connection has to be closed.
    """
    code, muted_ms = _OUTCOME.unpack_from(payload)
    rest = payload[_OUTCOME.size :]
    if code == Outcome.WIRE:
        return decode_wire(rest)
    if code == Outcome.CLOSE:
        raise CloseConnection(rest.decode())
    parts: Parts | None = None if code == Outcome.NO_ANSWER else [rest]
    return MutedAnswer(parts, now_ms + muted_ms) if muted_ms else parts
