"""Which requests are forwarded."""

import asyncio
import socket
from collections.abc import Mapping

import pytest

from broker_lite.control.clock import Clock
from broker_lite.handler.context import Api, CloseConnection, HandlerContext, Request
from broker_lite.handler.dispatch import dispatch
from broker_lite.handler.offered import offered
from broker_lite.handler.table import APIS
from broker_lite.server.processes.channel import Channel, Kind
from broker_lite.server.processes.forwarded import decode_forwarded, encode_outcome
from broker_lite.server.processes.forwarding import OWN_APIS, Forwarding
from tests.support.handler_broker import OpenBroker

METADATA = 3


async def forwarding() -> tuple[Forwarding, Channel]:
    """A forwarding, and the other end, which answers with the request's own frame."""
    here, there = socket.socketpair()

    async def take(_: Kind, __: bytes) -> None:
        """There is nothing to take."""

    async def answer(payload: bytes) -> bytes:
        _, frame = decode_forwarded(payload[1:])
        return encode_outcome([bytes(frame)], 0)

    channel = await Channel.open(here, answer, take)
    other = await Channel.open(there, answer, take)
    asyncio.get_running_loop().create_task(channel.run())
    asyncio.get_running_loop().create_task(other.run())
    return Forwarding(channel, Clock.standing_still()), other


def test_what_is_about_logs_and_connections_stays() -> None:
    names = {APIS[key].name for key in OWN_APIS}
    assert names == {
        *("Produce", "Fetch", "ListOffsets", "OffsetForLeaderEpoch", "DeleteRecords"),
        *("WriteTxnMarkers", "DescribeProducers", "DescribeLogDirs", "AlterReplicaLogDirs"),
        *("ShareFetch", "ShareAcknowledge"),
        *("ApiVersions", "SaslHandshake", "SaslAuthenticate"),
    }

    async def test() -> tuple[Forwarding, Mapping[int, Api]]:
        forward, other = await forwarding()
        other.close()
        return forward, forward.among(offered("4.3"))

    forward, table = asyncio.run(test())
    apis = offered("4.3")
    assert {key for key, api in table.items() if api.handle is not forward} == OWN_APIS
    assert {key: api[:4] for key, api in table.items()} == {k: api[:4] for k, api in apis.items()}


@pytest.mark.parametrize("size", [20, 100_000])
def test_a_request_goes_as_it_came_however_large(open_broker: OpenBroker, size: int) -> None:
    context: HandlerContext = open_broker().context
    frame = memoryview(bytearray(size))

    async def test() -> None:
        forward, other = await forwarding()
        context.apis = forward.among(context.apis)
        request = Request(METADATA, 12, 1, "c", frame, 10, flexible=True)
        assert await dispatch(context, request) == [bytes(frame)]
        other.close()
        with pytest.raises(CloseConnection, match="has ended"):
            await dispatch(context, request)

    asyncio.run(test())
