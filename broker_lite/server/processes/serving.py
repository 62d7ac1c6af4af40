"""Answers what the other processes ask the first one: requests of their clients, and their own."""

from typing import Final

from broker_lite.errors import BrokerError
from broker_lite.handler.context import CloseConnection, HandlerContext
from broker_lite.handler.dispatch import dispatch
from broker_lite.handler.table import APIS
from broker_lite.protocol.framing import ProtocolError, decode_header
from broker_lite.server.node_maker import NodeMaker
from broker_lite.server.processes.forwarded import (
    decode_forwarded,
    encode_closing,
    encode_outcome,
)
from broker_lite.wire.primitives import DecodeError, EncodeError

_LOCAL: Final = "127.0.0.1", 0
_FLEXIBLE_FROM: Final = {key: api.flexible_from for key, api in APIS.items()}


class Serving:
    """Calls the handlers for requests that did not come in on a connection of this process."""

    def __init__(self, maker: NodeMaker) -> None:
        """Use the parts of which the contexts of connections are made, too."""
        self._maker = maker

    async def forwarded(self, node_id: int, payload: memoryview) -> bytes:
        """Answer a request that a client has sent to another broker."""
        client, frame = decode_forwarded(payload)
        context = self._maker.context_of(
            node_id,
            listener=client.listener,
            local_address=client.local_address,
            client_address=client.address,
            connection_id=client.connection_id,
        )
        context.principal, context.software = client.principal, client.software
        return await self._answer(context, frame)

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
        return await self._answer(context, memoryview(bytearray(payload)))

    async def _answer(self, context: HandlerContext, frame: memoryview) -> bytes:
        try:
            request = decode_header(frame, _FLEXIBLE_FROM)
            parts = await dispatch(context, request)
        except CloseConnection as reason:
            return encode_closing(reason)
        except (ProtocolError, DecodeError, EncodeError, BrokerError) as reason:
            return encode_closing(CloseConnection(str(reason)))
        return encode_outcome(parts, context.clock.monotonic_ms())
