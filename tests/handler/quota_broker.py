"""A broker whose clients have quotas, without a server: what a client is told, and until when."""

import asyncio
from typing import Any, NamedTuple

from broker_lite.handler.context import MutedAnswer, Parts, Request
from broker_lite.handler.dispatch import dispatch
from broker_lite.server.limits.throttlings import mutations_of, throttling_of
from broker_lite.wire import messages
from tests.support.handler_broker import HandlerBroker, join


class Told(NamedTuple):
    """What a client gets.

    Attributes:
        answer: decoded; None for none.
        muted_ms: how long its connection is muted; 0 if it is not.
    """

    answer: Any
    muted_ms: int

    @property
    def throttle_ms(self) -> int:
        """The throttle time in the answer."""
        told: int = self.answer.throttle_time_ms
        return told


class QuotaBroker:
    """The requests of one client, whose requests are measured from the beginning."""

    def __init__(self, broker: HandlerBroker) -> None:
        self.broker = broker
        cluster, clock = broker.cluster, broker.clock
        mutations = mutations_of(cluster, clock)
        self.throttling = throttling_of(cluster, cluster.node_id, clock, mutations)
        broker.context.quotas = self.throttling

    def set(self, key: str, value: float, **entity: str | None) -> None:
        """Set a quota; without an entity that of all client ids."""
        types = messages.AlterClientQuotasRequest
        names = [
            types.EntityData(entity_type=kind.replace("_", "-"), entity_name=name)
            for kind, name in (entity or {"client_id": None}).items()
        ]
        change = types.OpData(key=key, value=value)
        entry = types.EntryData(entity=names, ops=[change])
        told = self.call("AlterClientQuotas", 1, entries=[entry])
        assert told.answer.entries[0].error_code == 0

    def call(self, name: str, version: int, **fields: Any) -> Told:
        """Send a request by the name of its API."""
        kind = getattr(messages, f"{name}Request")
        return self.send(kind.api_key, version, kind.encode(kind(**fields), version))

    def send(self, key: int, version: int, body: bytes, client_id: str | None = "test") -> Told:
        """Send the body of a request."""
        kind = messages.by_api(key)[0]
        flexible = kind.flexible_from is not None and version >= kind.flexible_from
        request = Request(key, version, 1, client_id, memoryview(bytearray(body)), 0, flexible)
        parts = asyncio.run(self._answer(request))
        until_ms = now_ms = self.broker.clock.monotonic_ms()
        if isinstance(parts, MutedAnswer):
            until_ms = parts.until_ms
            parts = list(parts) if parts.has_parts else None
        if parts is None:
            return Told(None, until_ms - now_ms)
        data = join(parts)
        answer, end = messages.by_api(key)[1].decode(data, version)
        assert end == len(data)
        return Told(answer, until_ms - now_ms)

    async def _answer(self, request: Request) -> Parts | None:
        return await dispatch(self.broker.context, request)
