"""A connection by itself, without the node that sweeps: what it notices, it notices at once.

Also tests: broker_lite.server.tcp_state.
"""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from broker_lite.control.clock import Clock
from broker_lite.handler.context import Api, HandlerContext, ListenerInfo
from broker_lite.handler.table import NEVER_FLEXIBLE
from broker_lite.protocol.framing import RequestFraming
from broker_lite.rate_limited_log import RateLimitedLog
from broker_lite.server.client_connection import ClientConnection
from broker_lite.server.departures import Departures
from broker_lite.server.limits.unsent import NO_LIMIT, UnsentAnswers
from broker_lite.server.resets import Resets
from broker_lite.server.upkeep.pauses import Pauses
from tests.server.conftest import (
    ECHO,
    PARKED,
    Client,
    Parking,
    context_factory,
    echo,
    request_frame,
)

pytestmark = pytest.mark.anyio

TIMEOUT_S = 20


class Alone:
    """A connection that no node knows, its client, and the context of its requests."""

    def __init__(self, client: Client, parking: Parking, context: HandlerContext) -> None:
        self.client = client
        self.parking = parking
        self.context = context
        self.ended = anyio.Event()


def tcp_pair() -> tuple[socket.socket, socket.socket]:
    """Two ends of a TCP connection: one that only closes does not reset it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()
    client.setblocking(False)
    accepted.setblocking(False)
    return client, accepted


@asynccontextmanager
async def connected() -> AsyncIterator[Alone]:
    parking = Parking()
    handlers: dict[int, Any] = {ECHO: echo, PARKED: parking.handle}
    apis = {key: Api(f"Api{key}", 0, 0, NEVER_FLEXIBLE, handlers[key]) for key in handlers}
    log = RateLimitedLog(lambda: 0)
    context = context_factory(apis, log)(
        listener=ListenerInfo("PLAINTEXT"),
        local_address=("127.0.0.1", 9092),
        client_address=("127.0.0.1", 50_000),
    )
    loop = asyncio.get_running_loop()
    framing = RequestFraming(1 << 20, dict.fromkeys(apis, NEVER_FLEXIBLE))
    near, far = tcp_pair()
    alone = Alone(Client(near), parking, context)
    with Resets(loop) as resets, near:
        connection = ClientConnection(
            far,
            framing,
            context,
            loop,
            resets,
            Departures(loop),
            UnsentAnswers(NO_LIMIT, log),
            pauses=Pauses(Clock()),
        )

        with anyio.fail_after(TIMEOUT_S):
            async with anyio.create_task_group() as group:
                group.start_soon(connection.run, lambda _: alone.ended.set())
                yield alone
                group.cancel_scope.cancel()


async def test_a_client_that_leaves_during_a_long_poll_ends_it_at_once() -> None:
    async with connected() as alone:
        await alone.client.send(request_frame(PARKED))
        await alone.parking.entered.wait()
        alone.client.close()
        await alone.ended.wait()
        assert alone.parking.ended == ["cancelled"]
        assert not alone.context.stop.is_set  # what a thread does for it may be finished


async def test_a_client_that_leaves_during_its_second_request_ends_that() -> None:
    async with connected() as alone:
        await alone.client.send(request_frame(ECHO, b"first"))
        assert await alone.client.answer() == (1, b"first")
        await alone.client.send(request_frame(PARKED))
        await alone.parking.entered.wait()
        alone.client.close()
        await alone.ended.wait()
        assert alone.parking.ended == ["cancelled"]


async def test_a_client_that_leaves_between_requests_ends_the_connection() -> None:
    async with connected() as alone:
        await alone.client.send(request_frame(ECHO, b"only"))
        assert await alone.client.answer() == (1, b"only")
        alone.client.close()
        await alone.ended.wait()


async def test_bytes_of_the_next_request_do_not_end_the_one_in_progress() -> None:
    async with connected() as alone:
        await alone.client.send(request_frame(PARKED))
        await alone.parking.entered.wait()
        await alone.client.send(request_frame(ECHO, b"next", correlation_id=2))
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        alone.parking.release.set()
        assert await alone.client.answer() == (1, b"late")
        assert await alone.client.answer() == (2, b"next")
