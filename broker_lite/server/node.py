"""A node: its listeners, its connections, and their limits."""

import asyncio
import logging
import socket
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

import anyio
from anyio.abc import TaskGroup

from broker_lite.control.clock import Clock
from broker_lite.handler.context import Api, HandlerContext, ListenerInfo
from broker_lite.protocol.framing import RequestFraming
from broker_lite.rate_limited_log import RateLimitedLog
from broker_lite.server.client_connection import ClientConnection
from broker_lite.server.departures import Departures
from broker_lite.server.limits.client_shares import ClientShares
from broker_lite.server.limits.descriptors import ClientDescriptors
from broker_lite.server.limits.node_limits import Limits, Pace
from broker_lite.server.limits.stalled_frames import StalledFrames
from broker_lite.server.listener import Listeners, accept_forever, plain_address
from broker_lite.server.pacing import pace_across_hosts
from broker_lite.server.resets import Resets
from broker_lite.server.security.tls_socket import wrap
from broker_lite.server.upkeep.pauses import Pauses

if TYPE_CHECKING:
    from broker_lite.server.limits.connection_rates import ConnectionRates
    from broker_lite.server.security.tls_listeners import TlsListener
    from broker_lite.server.slow_link import LinkWatches, SlowLinks

logger = logging.getLogger("broker_lite.server")

# When the node stops, requests in progress have so long to end; a long poll is dropped after it.
_GRACE_S: Final = 0.3
_SWEEP_INTERVAL_MS_MIN: Final = 20
_SWEEP_INTERVAL_MS_MAX: Final = 5_000


Gate: TypeAlias = Callable[[socket.socket, tuple[str, int], ListenerInfo, ClientDescriptors], bool]


class ContextFactory(Protocol):
    """Makes the context of a new connection, which its handlers get."""

    def __call__(
        self,
        *,
        listener: ListenerInfo,
        local_address: tuple[str, int],
        client_address: tuple[str, int],
    ) -> HandlerContext:
        """Make the context of one connection."""


class Node:
    """Accepts clients at listening sockets, and owns their connections."""

    def __init__(
        self,
        *,
        listeners: Listeners,
        apis: Mapping[int, Api],
        make_context: ContextFactory,
        get_limits: Callable[[], Limits],
        clock: Clock,
        client_log: RateLimitedLog,
        shares: ClientShares,
        pauses: Pauses,
        gate: Gate | None = None,
        get_rates: "Callable[[], ConnectionRates | None]" = lambda: None,
        tls: "Mapping[str, TlsListener] | None" = None,
    ) -> None:
        """Make a node; run() accepts clients.

        Args:
            listeners: opened before run(); run() closes them after stop().
            apis: the whole table, because requests of APIs that are not offered have headers, too.
            make_context: called once per accepted connection.
            get_limits: returns the current limits; called for each new connection.
            clock: measures idle time.
            client_log: takes the lines that clients can cause; the node has its counts written.
            shares: what the clients of all nodes of the process share.
            pauses: by which throttled clients wait.
            gate: asked for each accepted client; it keeps the socket where it returns False.
            get_rates: returns what limits connections per second; None while nothing does.
            tls: the listeners with TLS, by name.
        """
        self._flexible_from = {key: api.flexible_from for key, api in apis.items()}
        self._make_context = make_context
        self._get_limits = get_limits
        self._clock = clock
        self._pauses = pauses
        self._client_log = client_log
        self._listeners = listeners
        self._connections: set[ClientConnection] = set()
        self._connections_per_ip: Counter[str] = Counter()
        self._shares = shares
        self._gate = gate
        self._get_rates = get_rates
        self._throttled: dict[socket.socket, asyncio.TimerHandle] = {}
        self._tls = tls or {}
        shares.add(self._reclaim_memory)
        self._resets: Resets | None = None
        self._departures: Departures | None = None
        self._slow_links: SlowLinks | None = None
        self._stalled = StalledFrames(shares.memory.has_waiting, client_log)
        self._group: TaskGroup | None = None
        self._stop_wanted = anyio.Event()
        self._turned = anyio.Event()
        self._paused: anyio.Event | None = None
        self.ended = anyio.Event()
        self._all_gone = anyio.Event()

    @property
    def connection_count(self) -> int:
        """The number of connected clients."""
        return len(self._connections)

    @property
    def connections(self) -> Collection[ClientConnection]:
        """The connections of its clients; a live view."""
        return self._connections

    def stop(self) -> None:
        """Make run() end: accept no more clients, let requests in progress end, close.

        If run() is cancelled instead, connections are closed at once and the listeners stay open.
        """
        self._stop_wanted.set()
        self._turned.set()

    def hang(self) -> None:
        """Read and answer nothing from now on; clients that connect wait in the backlog."""
        self._paused = paused = anyio.Event()
        self._turned.set()
        for connection in self._connections:
            connection.paused = paused

    def go_on(self) -> None:
        """Go on after hang(), with what has arrived meanwhile."""
        paused, self._paused = self._paused, None
        if paused is not None:
            paused.set()
        self._turned.set()
        for connection in self._connections:
            connection.paused = None

    async def run(self) -> None:
        """Serve clients until stop() or cancellation; it leaves no task or connection behind.

        Rule: P-06, P-16.
        """
        try:
            self._resets = Resets(asyncio.get_running_loop())
            self._departures = Departures(asyncio.get_running_loop())
            async with anyio.create_task_group() as connections:
                self._group = connections
                try:
                    await self._serve_until_stopped()
                finally:
                    for connection in self._connections:
                        connection.drop()  # a thread does not notice a cancellation
                connections.cancel_scope.cancel()
        finally:
            self._group = None
            self._client_log.write_counts(now=True)
            for sock in list(self._throttled):
                self._let_go(sock)
            self._shares.remove(self._reclaim_memory)
            if self._slow_links is not None:
                self._slow_links.close()
            if self._resets is not None:
                self._resets.close()
            self.ended.set()

    async def _serve_until_stopped(self) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self._sweep_forever)
            while not self._stop_wanted.is_set():
                await self._accept_until_turned()
            group.cancel_scope.cancel()
        self._listeners.close()
        await self._finish_connections()

    async def _accept_until_turned(self) -> None:
        """Accept clients, unless the node hangs, until that changes or the node is to stop."""
        self._turned = anyio.Event()
        async with anyio.create_task_group() as accepting:
            for sock, info in () if self._paused else self._listeners:
                accepting.start_soon(
                    accept_forever,
                    sock,
                    info,
                    self._admit,
                    self._delay_ms,
                    self._shares.descriptors,
                )
            await self._turned.wait()
            accepting.cancel_scope.cancel()

    async def _finish_connections(self) -> None:
        for connection in self._connections:
            connection.stop()
        if self._connections:
            with anyio.move_on_after(_GRACE_S):
                await self._all_gone.wait()

    def _admit(self, sock: socket.socket, address: tuple[str, int], info: ListenerInfo) -> None:
        """Start a connection, or close it at once if a limit is reached.

        See: P-12.
        """
        descriptors = self._shares.descriptors
        if self._gate is not None and not self._gate(sock, address, info, descriptors):
            return
        if self._is_throttled(sock, address[0], info):
            return
        limits = self._get_limits()
        if self._group is None or self._is_one_too_many(address[0], limits):
            key = "too many connections", address[0]
            self._client_log.write(
                logger, logging.INFO, key, "refusing %s: too many connections", address
            )
            sock.close()
            return
        try:
            local_address = plain_address(sock.getsockname())
            _configure(sock, limits)
            pace_across_hosts(sock, address[0], local_address[0])
            link = None
            if limits.pace is not None:
                sock, link = self._behind_slow_link(sock, limits, limits.pace)
            context = self._make_context(
                listener=info, local_address=local_address, client_address=address
            )
            tls = self._tls.get(info.name)
            if tls is not None:
                sock = wrap(tls.offered, sock)
        except OSError:
            sock.close()
            return
        assert self._resets is not None
        assert self._departures is not None
        framing = RequestFraming(
            limits.request_bytes_max,
            self._flexible_from,
            control_bytes_max=limits.control_bytes_max,
            memory=self._shares.memory,
        )
        connection = ClientConnection(
            sock,
            framing,
            context,
            asyncio.get_running_loop(),
            self._resets,
            self._departures,
            self._shares.unsent,
            tls,
            pauses=self._pauses,
        )
        connection.link = link
        connection.paused = self._paused  # it may have been accepted just before hang()
        descriptors.take()
        self._connections.add(connection)
        self._connections_per_ip[address[0]] += 1
        self._group.start_soon(connection.run, self._forget)

    def _behind_slow_link(
        self, sock: socket.socket, limits: Limits, pace: Pace
    ) -> "tuple[socket.socket, LinkWatches]":
        """Return the socket that is served in place of a client's, and what tells of the link.

        Raises:
            OSError: there is no descriptor left.
        """
        if self._slow_links is None:
            from broker_lite.server.slow_link import SlowLinks  # few brokers need it

            assert self._resets is not None
            descriptors = self._shares.descriptors
            self._slow_links = SlowLinks(asyncio.get_running_loop(), self._resets, descriptors)
        served, on_way = self._slow_links.join(sock, pace)
        _configure(served, limits)
        return served, on_way

    def _is_one_too_many(self, ip: str, limits: Limits) -> bool:
        return len(self._connections) >= limits.connections_max or self._connections_per_ip[
            ip
        ] >= limits.connections_max_of(ip)

    def _delay_ms(self, info: ListenerInfo) -> int:
        """Return how long the next client of a listener has to wait.

        See: X-90.
        """
        rates = self._get_rates()
        return 0 if rates is None else rates.delay_ms(info.name)

    def _is_throttled(self, sock: socket.socket, ip: str, info: ListenerInfo) -> bool:
        """Keep the connection of an address that is above its quota, and close it later.

        See: X-91.
        """
        rates = self._get_rates()
        throttle_ms = 0 if rates is None else rates.throttle_ms(ip, info.name)
        if throttle_ms:
            self._shares.descriptors.take()
            loop = asyncio.get_running_loop()
            self._throttled[sock] = loop.call_later(throttle_ms / 1000, self._let_go, sock)
        return throttle_ms > 0

    def _let_go(self, sock: socket.socket) -> None:
        """Close a connection that was kept."""
        self._throttled.pop(sock).cancel()
        self._shares.descriptors.give_back()
        sock.close()

    def _forget(self, connection: ClientConnection) -> None:
        """Make room for another connection after one has ended."""
        self._connections.discard(connection)
        connection.context.telemetry.disconnected(connection.context.connection_id)
        for ended in connection.context.at_close.values():
            ended()
        # They refer to the context: a cycle, which only the garbage collector would free.
        connection.context.at_close.clear()
        self._shares.descriptors.give_back()
        ip = connection.client_ip
        self._connections_per_ip[ip] -= 1
        if not self._connections_per_ip[ip]:
            del self._connections_per_ip[ip]
        if self._stop_wanted.is_set() and not self._connections:
            self._all_gone.set()

    def _reclaim_memory(self) -> None:
        """Let all connections that handle no request free their receive buffers."""
        for connection in self._connections:
            connection.release_idle_memory()

    async def _sweep_forever(self) -> None:
        """Close connections that are abandoned or idle for too long, shrink those that are idle.

        A connection counts its own events, so that no request has to read the clock. In return, an
        idle connection is closed up to one interval late.

        Rule: P-11.
        """
        idle_ms_max = self._get_limits().connections_max_idle_ms
        interval_ms = _SWEEP_INTERVAL_MS_MAX
        if idle_ms_max > 0:
            interval_ms = max(_SWEEP_INTERVAL_MS_MIN, min(interval_ms, idle_ms_max // 4))
        seen: dict[ClientConnection, tuple[int, int]] = {}
        while True:
            await anyio.sleep(interval_ms / 1000)
            self._client_log.write_counts()
            now_ms = self._clock.monotonic_ms()
            self._stalled.look(self._connections, now_ms)
            before, seen = seen, {}
            for connection in self._connections:
                events, since_ms = before.get(connection, (-1, now_ms))
                if events != connection.events or not connection.is_idle:
                    seen[connection] = (connection.events, now_ms)
                    if events == connection.events:
                        connection.drop_if_abandoned()
                    continue
                seen[connection] = (events, since_ms)
                connection.drop_if_abandoned()  # a muted one
                connection.release_idle_memory()
                if 0 < idle_ms_max <= now_ms - since_ms:
                    ip = connection.client_ip
                    self._client_log.write(
                        logger, logging.INFO, ("idle", ip), "closing %s: idle", ip
                    )
                    connection.drop()


def _configure(sock: socket.socket, limits: Limits) -> None:
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if limits.send_buffer_bytes > 0:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, limits.send_buffer_bytes)
    if limits.receive_buffer_bytes > 0:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, limits.receive_buffer_bytes)
