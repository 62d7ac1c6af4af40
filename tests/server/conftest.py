"""A node on loopback with a small table of its own, and clients that speak raw frames."""

import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any, TypeAlias

import anyio
import pytest

from broker_lite.control.clock import Clock
from broker_lite.handler.context import (
    Api,
    Begin,
    CloseConnection,
    Handler,
    HandlerContext,
    ListenerInfo,
    Parts,
    Request,
)
from broker_lite.handler.table import NEVER_FLEXIBLE
from broker_lite.rate_limited_log import RateLimitedLog
from broker_lite.server.limits.client_shares import ClientShares
from broker_lite.server.limits.connection_rates import ConnectionRates
from broker_lite.server.limits.node_limits import Limits
from broker_lite.server.listener import ListenerAddress, Listeners
from broker_lite.server.node import ContextFactory, Node
from broker_lite.server.seams import Seams
from broker_lite.server.security.tls_listeners import TlsListener
from broker_lite.server.upkeep.pauses import Pauses
from tests.support.disk import disk

__all__ = ["disk"]

ECHO, SILENT, PARKED, BROKEN, CLOSING, API_VERSIONS = 0, 1, 2, 4, 5, 18

Serve: TypeAlias = Callable[..., AbstractAsyncContextManager["Served"]]


@pytest.fixture(
    params=[("asyncio", {"use_uvloop": False}), ("asyncio", {"use_uvloop": True})],
    ids=["asyncio", "uvloop"],
)
def anyio_backend(request: pytest.FixtureRequest) -> Any:
    return request.param


def request_frame(
    key: int, body: bytes = b"", *, version: int = 0, correlation_id: int = 1
) -> bytes:
    frame = struct.pack(">hhih", key, version, correlation_id, -1) + body
    return struct.pack(">i", len(frame)) + frame


async def echo(context: HandlerContext, request: Request) -> Parts | None:
    return [bytes(request.body[request.position :])]


async def silent(context: HandlerContext, request: Request) -> Parts | None:
    return None


async def broken(context: HandlerContext, request: Request) -> Parts | None:
    raise RuntimeError("a bug")


async def closing(context: HandlerContext, request: Request) -> Parts | None:
    raise CloseConnection("on purpose")


class Parking:
    """A handler that waits until it is told to answer, and notes how its waits ended."""

    def __init__(self) -> None:
        self.release = anyio.Event()
        self.entered = anyio.Event()
        self.ended: list[str] = []
        self.has_ended = anyio.Event()

    async def handle(self, context: HandlerContext, request: Request) -> Parts | None:
        self.entered.set()
        end = "cancelled"
        try:
            await self.release.wait()
            end = "answered"
        finally:
            self.ended.append(end)
            self.has_ended.set()
        return [b"late"]


class Client:
    """A client that writes and reads whole frames, or whatever it is told to."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock

    async def send(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[self.sock.send(rest) :]
            except BlockingIOError:
                await anyio.wait_writable(self.sock)

    async def receive(self, count: int) -> bytes:
        """What arrives, less than `count` only at the end of the stream."""
        data = bytearray()
        while len(data) < count:
            try:
                chunk = self.sock.recv(min(count - len(data), 1 << 16))
            except BlockingIOError:
                await anyio.wait_readable(self.sock)
                continue
            except ConnectionResetError:
                break
            if not chunk:
                break
            data += chunk
        return bytes(data)

    async def answer(self) -> tuple[int, bytes]:
        """Correlation id and body of the next response."""
        size, correlation_id = struct.unpack(">ii", await self.receive(8))
        return correlation_id, await self.receive(size - 4)

    async def is_closed(self) -> bool:
        """Wait for the close, and be sure that nothing came before it."""
        return await self.receive(1) == b""

    def close(self) -> None:
        self.sock.close()


class Served:
    """A running node and what a test needs of it."""

    def __init__(
        self, node: Node, clock: Clock, addresses: list[tuple[str, int]], parking: Parking
    ) -> None:
        self.node = node
        self.clock = clock
        self.addresses = addresses
        self.parking = parking
        self.clients = contextlib.ExitStack()
        self.ended = anyio.Event()

    async def connect(self, *, receive_buffer_bytes: int = 0, listener: int = 0) -> Client:
        sock = self.clients.enter_context(socket.socket())
        if receive_buffer_bytes:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        sock.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            sock.connect(self.addresses[listener])
        await anyio.wait_writable(sock)
        return Client(sock)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Let the loop run until something is so."""
        while not condition():
            await anyio.lowlevel.checkpoint()


def context_factory(
    apis: Mapping[int, Api], client_log: RateLimitedLog, seams: Seams | None = None
) -> ContextFactory:
    anything: Any = None
    used = seams or Seams()

    def make_context(**addresses: Any) -> HandlerContext:
        return HandlerContext(
            cluster=anything,
            groups=anything,
            transactions=anything,
            clock=anything,
            client_log=client_log,
            settings=anything,
            fetch_sessions=anything,
            lane=anything,
            apis=apis,
            node_id=1,
            hooks=used.hooks,
            connection_id=used.next_connection_id(),
            **addresses,
        )

    return make_context


def _apis(handlers: Mapping[int, Handler], begins: Mapping[int, Begin]) -> dict[int, Api]:
    return {
        key: Api(f"Api{key}", 0, 0, NEVER_FLEXIBLE, handle, begins.get(key))
        for key, handle in handlers.items()
    }


@pytest.fixture
def serve() -> Serve:
    @asynccontextmanager
    async def _serve(
        handlers: Mapping[int, Handler] | None = None,
        limits: Limits | None = None,
        listeners: tuple[str, ...] = ("PLAINTEXT",),
        clients_max: int = 10_000,
        seams: Seams | None = None,
        tls: Mapping[str, TlsListener] | None = None,
        rates: ConnectionRates | None = None,
        begins: Mapping[int, Begin] | None = None,
    ) -> AsyncIterator[Served]:
        parking = Parking()
        seams = seams or Seams()
        table = {
            ECHO: echo,
            SILENT: silent,
            PARKED: parking.handle,
            BROKEN: broken,
            CLOSING: closing,
            API_VERSIONS: echo,
            **(handlers or {}),
        }
        apis = _apis(table, begins or {})
        clock = Clock()
        client_log = RateLimitedLog(clock.monotonic_ms)
        sockets = Listeners()
        sockets.open(
            [ListenerAddress(ListenerInfo(name), "127.0.0.1", 0) for name in listeners],
            backlog=100,
        )
        node = Node(
            listeners=sockets,
            apis=apis,
            make_context=context_factory(apis, client_log, seams),
            get_limits=lambda: limits or Limits(),
            clock=clock,
            client_log=client_log,
            shares=ClientShares(limits or Limits(), clients_max, client_log),
            pauses=Pauses(clock),
            gate=partial(seams.admits, 1),
            get_rates=lambda: rates,
            tls=tls,
        )
        served = Served(node, clock, sockets.addresses, parking)

        async def run() -> None:
            await node.run()
            served.ended.set()

        with anyio.fail_after(20), served.clients, contextlib.closing(sockets):
            async with anyio.create_task_group() as group:
                group.start_soon(run)
                yield served
                node.stop()

    return _serve
