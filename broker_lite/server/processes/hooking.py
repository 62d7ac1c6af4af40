"""The hooks of the test bench, which are in the first process, around handlers in the others.

While an API has a hook, its requests go to the first process. There the hook runs; where it calls
the handler, the process that has the connection is asked to do so. So there is one journal and one
set of rules. It takes two messages more for each request, and a Fetch has its records in memory.
"""

import itertools
import json
import os
import struct
from collections.abc import Collection
from functools import partial
from typing import Final, NamedTuple

from broker_lite.control.clock import Clock
from broker_lite.handler.context import (
    CloseConnection,
    Handler,
    HandlerContext,
    Hooks,
    Parts,
    Request,
)
from broker_lite.server.processes.calls import Call
from broker_lite.server.processes.channel import CallFailed, Channel, ChannelClosed
from broker_lite.server.processes.forwarded import (
    client_of,
    decode_outcome,
    encode_closing,
    encode_forwarded,
    encode_outcome,
)
from broker_lite.server.processes.forwarding import OWN_APIS
from broker_lite.wire.primitives import DecodeError, EncodeError

_TOKEN: Final = struct.Struct(">Q")
_SIZE: Final = struct.Struct(">I")


class _Hooked(NamedTuple):
    context: HandlerContext
    handle: Handler


class HooksElsewhere:
    """The hooks of one process, which ask the first one; used by the event loop."""

    def __init__(self, channel: Channel, hooks: Hooks, clock: Clock) -> None:
        """Begin without any.

        Args:
            channel: to the first process.
            hooks: of this process.
            clock: of this process.
        """
        self._channel = channel
        self._hooks = hooks
        self._clock = clock
        self._tokens = itertools.count(1)
        self._hooked: dict[int, _Hooked] = {}

    def set(self, keys: Collection[int], *, may_wait: bool) -> None:
        """Have the requests of some APIs hooked; those of the first process are hooked there."""
        self._hooks.clear()
        self._hooks.update(dict.fromkeys(OWN_APIS.intersection(keys), self._hook))
        self._hooks.may_wait = may_wait

    async def _hook(
        self, context: HandlerContext, request: Request, handle: Handler, /
    ) -> Parts | None:
        token = next(self._tokens)
        self._hooked[token] = _Hooked(context, handle)
        try:
            payload = await self._channel.call(
                bytes((Call.HOOKED,)),
                _TOKEN.pack(token),
                encode_forwarded(client_of(context), request),
            )
        except (ChannelClosed, CallFailed) as error:
            raise CloseConnection(f"the process with the test bench failed: {error}") from None
        finally:
            del self._hooked[token]
        return decode_outcome(payload, self._clock.monotonic_ms())

    async def serve(self, payload: memoryview) -> bytes:
        """Call the handler for a request that the hook lets through, maybe changed."""
        token, request = decode_request(payload)
        hooked = self._hooked.get(token)
        if hooked is None:
            return encode_closing(CloseConnection("its client has gone"))
        try:
            parts = await hooked.handle(hooked.context, request)
        except CloseConnection as reason:
            return encode_closing(reason)
        except (DecodeError, EncodeError) as reason:
            return encode_closing(CloseConnection(str(reason)))
        if parts is not None:
            parts[:] = [_in_memory(part) for part in parts]
        return encode_outcome(parts, self._clock.monotonic_ms())


def _in_memory(part: object) -> bytes:
    if isinstance(part, bytes):
        return part
    fd, position, size_bytes = part.fd, part.position, part.size_bytes  # type: ignore[attr-defined]
    return os.pread(fd, size_bytes, position)


def encode_request(token: int, request: Request) -> list[bytes]:
    """Return a request for the process that has the connection, as bytes."""
    head = json.dumps([*request[:4], request.position, request.flexible]).encode()
    return [_TOKEN.pack(token), _SIZE.pack(len(head)), head, bytes(request.body)]


def decode_request(payload: memoryview) -> tuple[int, Request]:
    """Return the number of a hooked request, and the request as the handler gets it."""
    (token,) = _TOKEN.unpack_from(payload)
    start = _TOKEN.size + _SIZE.size
    end = start + _SIZE.unpack_from(payload, _TOKEN.size)[0]
    key, version, correlation_id, client_id, position, flexible = json.loads(
        bytes(payload[start:end])
    )
    frame = memoryview(bytearray(payload[end:]))
    return token, Request(key, version, correlation_id, client_id, frame, position, flexible)


def split_token(payload: memoryview) -> tuple[int, memoryview]:
    """Return the number of a hooked request, and what the first process has to know of it."""
    return _TOKEN.unpack_from(payload)[0], payload[_TOKEN.size :]


def handler_elsewhere(channel: Channel, token: int) -> Handler:
    """Return the handler of a hooked request for its hook in the first process."""
    return partial(_serve_elsewhere, channel, token)


async def _serve_elsewhere(
    channel: Channel, token: int, context: HandlerContext, request: Request
) -> Parts | None:
    try:
        payload = await channel.call(bytes((Call.SERVE,)), *encode_request(token, request))
    except (ChannelClosed, CallFailed) as error:
        raise CloseConnection(f"the process of the broker has ended: {error}") from None
    return decode_outcome(payload, context.clock.monotonic_ms())
