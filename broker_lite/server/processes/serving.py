"""Answers what the other processes ask the first one: requests of their clients, and their own."""

from collections.abc import Awaitable
from typing import Final

from broker_lite.errors import BrokerError
from broker_lite.handler.context import (
    CloseConnection,
    Handler,
    HandlerContext,
    Parts,
    Request,
)
from broker_lite.handler.dispatch import dispatch
from broker_lite.handler.large import LARGE_BYTES, handle_large
from broker_lite.handler.table import APIS
from broker_lite.protocol.framing import ProtocolError, decode_header
from broker_lite.server.node_maker import NodeMaker
from broker_lite.server.processes.channel import Channel
from broker_lite.server.processes.forwarded import (
    decode_forwarded,
    encode_any,
    encode_closing,
)
from broker_lite.server.processes.hooking import handler_elsewhere, split_token
from broker_lite.wire.primitives import DecodeError, EncodeError

_LOCAL: Final = "127.0.0.1", 0
_READ_STATE: Final = 84
_WRITE_STATE: Final = 85
_FLEXIBLE_FROM: Final = {
    **{key: api.flexible_from for key, api in APIS.items()},
    **dict.fromkeys((_READ_STATE, _WRITE_STATE), 0),
}


def _for_broker(context: HandlerContext, request: Request) -> Awaitable[Parts | None]:
    """Call the handler for a request of another broker, which may ask more than clients may."""
    if request.api_key not in (_READ_STATE, _WRITE_STATE):
        return dispatch(context, request)
    from broker_lite.handler.share import states  # a start without share groups does not need it

    handle = states.handle_read if request.api_key == _READ_STATE else states.handle_write
    if len(request.body) > LARGE_BYTES:
        return handle_large(handle, context, request)
    return handle(context, request)


class Serving:
    """Calls the handlers for requests that did not come in on a connection of this process."""

    def __init__(self, maker: NodeMaker) -> None:
        """Use the parts of which the contexts of connections are made, too."""
        self._maker = maker

    async def forwarded(self, node_id: int, payload: memoryview) -> bytes:
        """Answer a request that a client has sent to another broker."""
        context, frame = self._client_context(node_id, payload)
        return await self._answer(context, frame, dispatch)

    async def hooked(self, node_id: int, channel: Channel, payload: memoryview) -> bytes:
        """Run the hook of a request whose handler is in the process at the channel's other end."""
        token, rest = split_token(payload)
        context, frame = self._client_context(node_id, rest)
        handle = handler_elsewhere(channel, token)

        def answer(context: HandlerContext, request: Request) -> Awaitable[Parts | None]:
            hook = context.hooks.get(request.api_key)
            if hook is None:  # it has gone meanwhile
                return handle(context, request)
            return hook(context, request, handle)

        return await self._answer(context, frame, answer)

    def _client_context(
        self, node_id: int, payload: memoryview
    ) -> tuple[HandlerContext, memoryview]:
        client, frame = decode_forwarded(payload)
        context = self._maker.context_of(
            node_id,
            listener=client.listener,
            local_address=client.local_address,
            client_address=client.address,
            connection_id=client.connection_id,
        )
        context.principal, context.software = client.principal, client.software
        return context, frame

    async def asked(self, node_id: int, payload: memoryview) -> bytes:
        """Answer a request that another broker of the cluster sends to this one.

        Args:
            node_id: the broker that is asked.
            payload: the request as a frame without its size.
        """
        context = self._maker.context_of(
            node_id, listener=None, local_address=_LOCAL, client_address=_LOCAL, connection_id=0
        )
        context.quotas = None
        return await self._answer(context, memoryview(bytearray(payload)), _for_broker)

    @staticmethod
    async def _answer(context: HandlerContext, frame: memoryview, answer: Handler) -> bytes:
        try:
            request = decode_header(frame, _FLEXIBLE_FROM)
            parts = await answer(context, request)
        except CloseConnection as reason:
            return encode_closing(reason)
        except (ProtocolError, DecodeError, EncodeError, BrokerError) as reason:
            return encode_closing(CloseConnection(str(reason)))
        return await encode_any(parts, context.clock.monotonic_ms())
