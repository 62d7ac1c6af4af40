"""A further process of the broker.

It has one broker of the cluster, and serves what is about the logs of the partitions that the
broker leads. Its other end of the socket is the first process; when that ends for any reason, this
process stops, too. It stops as well on SIGTERM, and is started again then. SIGINT is ignored: from
a terminal it reaches the first process, too, which stops all.
"""

import json
import logging
import select
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Final

import anyio
from anyio import to_thread
from anyio.to_thread import current_default_thread_limiter

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.cluster.following import Follower
from broker_lite.control.coordinators.share_service import Shares
from broker_lite.control.coordinators.start import Coordinators
from broker_lite.control.metadata.brokers import Endpoint
from broker_lite.control.metadata.metadata_feed import batches_of
from broker_lite.control.replication.replica_manager import ReplicaManager
from broker_lite.errors import SettingsError
from broker_lite.handler.context import ListenerInfo
from broker_lite.handler.large import in_slices
from broker_lite.handler.table import load_handlers
from broker_lite.log.recovery.load_watch import LoadStopped
from broker_lite.server.limits.descriptors import raise_descriptor_limit
from broker_lite.server.listener import Listeners
from broker_lite.server.node_maker import NodeMaker
from broker_lite.server.nodes import Nodes
from broker_lite.server.orders import Order, Orders
from broker_lite.server.processes.between_brokers import CoordinatorElsewhere
from broker_lite.server.processes.calls import Call
from broker_lite.server.processes.channel import Channel, ChannelClosed, Kind
from broker_lite.server.processes.forwarding import Forwarding
from broker_lite.server.processes.hooking import HooksElsewhere
from broker_lite.server.processes.plan import Hello, Plan, decode_nodes
from broker_lite.server.processes.serving import Serving
from broker_lite.server.processes.session import heartbeat_s
from broker_lite.server.processes.share_states import StatesInFirst, decode_keys
from broker_lite.server.run import stop_signals
from broker_lite.server.seams import Seams
from broker_lite.server.upkeep.group_commit import GroupCommit
from broker_lite.server.upkeep.maintenance import maintain
from broker_lite.server.upkeep.run_making import RunMaking
from broker_lite.server.upkeep.survivors import Survivors
from broker_lite.server.upkeep.timers import run_timers

logger = logging.getLogger("broker_lite.server")

# The process before this one, with the same directory, may still be stopping.
_LOCK_WAIT_S: Final = 10.0
_LOCK_POLL_S: Final = 0.05
# The first process closes the channel when it knows why this one cannot start.
_REFUSED_WAIT_S: Final = 5.0
_DRAIN_S_MAX: Final = 1.0


SetUpLog = Callable[[str, str], None]


class Worker:
    """The one broker of this process, from the first message on."""

    def __init__(self, orders: Orders, set_up_log: SetUpLog) -> None:
        """Wait for a plan.

        Args:
            orders: gets the order to stop.
            set_up_log: called with the level and the format of the log.
        """
        self._orders = orders
        self._set_up_log = set_up_log
        self._clock = Clock()
        self._plan: Plan | None = None
        self._follower: Follower | None = None
        self._serving: Serving | None = None
        self._hooks: HooksElsewhere | None = None
        self._shares: Shares | None = None
        self._ahead_ms = 0
        self._refusal: SettingsError | None = None
        self._begun = anyio.Event()
        self._closed = anyio.Event()
        self._listeners: dict[int, list[ListenerInfo]] = {}

    async def run(self, sock: socket.socket, is_told: Callable[[], bool]) -> None:
        """Serve until the order to stop.

        Args:
            sock: to the first process.
            is_told: whether a signal to stop has come.
        """
        channel = await Channel.open(sock, self._answer, self._take)
        async with anyio.create_task_group() as group:
            group.start_soon(self._listen, channel)
            try:
                await self._live(channel, lambda: is_told() or _has_hung_up(sock))
            except LoadStopped:
                logger.info("stopped before all logs were recovered")
            except SettingsError as error:
                channel.tell(Kind.REFUSED, str(error).encode())
                with anyio.move_on_after(_REFUSED_WAIT_S):
                    await self._closed.wait()
            await channel.finish()
            group.cancel_scope.cancel()

    async def _listen(self, channel: Channel) -> None:
        await channel.run()
        self._closed.set()
        self._orders.stop()
        self._begun.set()

    # -- messages

    async def _take(self, kind: Kind, payload: bytes) -> None:
        """Take what the first process tells."""
        if kind is Kind.START:
            await self._start(Plan.decode(payload))
        elif kind is Kind.METADATA and self._follower is not None:
            for batch in batches_of(payload):
                await self._follower.apply(await in_slices(batch))
        elif kind is Kind.BEGIN:
            self._begun.set()
        elif kind is Kind.NODES:
            self._listeners = decode_nodes(payload)
        elif kind is Kind.HOOKS and self._hooks is not None:
            keys, may_wait = json.loads(payload)
            self._hooks.set(keys, may_wait=may_wait)
        elif kind is Kind.SHARE_STARTS and self._shares is not None:
            self._shares.states_began(decode_keys(payload))
        elif kind is Kind.STEP:
            self._step_to(json.loads(payload))
        elif kind is Kind.STOP:
            self._orders.stop()
            self._begun.set()

    async def _start(self, plan: Plan) -> None:
        """Open the data directory of a plan."""
        self._plan, settings = plan, plan.settings
        _show_name(f"broker-lite {settings.node_id}")
        self._step_to(plan.clock_ms)
        self._set_up_log(settings.broker_lite_log_level, settings.broker_lite_log_format)
        threads = settings.broker_lite_decompression_threads
        current_default_thread_limiter().total_tokens = threads
        try:
            self._follower = await _open(plan, self._clock)
        except SettingsError as error:
            self._refusal = error
            self._begun.set()

    async def _answer(self, payload: bytes) -> bytes:
        """Answer what the first process asks."""
        if payload[0] == Call.SERVE:
            assert self._hooks is not None
            return await self._hooks.serve(memoryview(payload)[1:])
        assert payload[0] == Call.ASK
        assert self._serving is not None
        assert self._plan is not None
        return await self._serving.asked(self._plan.settings.node_id, memoryview(payload)[1:])

    def _step_to(self, ahead_ms: int) -> None:
        """Let the clock be so far ahead of the machine's; it never goes back."""
        self._clock.step(max(0, ahead_ms - self._ahead_ms))
        self._ahead_ms = max(ahead_ms, self._ahead_ms)

    def _listener(self, node_id: int, name: str) -> ListenerInfo | None:
        infos = self._listeners.get(node_id, ())
        return next((info for info in infos if info.name == name), None)

    # -- the life of the broker

    async def _live(self, channel: Channel, is_stopping: Callable[[], bool]) -> None:
        await self._begun.wait()
        if self._refusal is not None:
            raise self._refusal
        if self._plan is None or self._follower is None:
            return  # the first process has ended before this one was told anything
        cluster, plan = self._follower.cluster, self._plan
        is_whole, survivors = False, Survivors()
        try:
            self._follower.begin(is_stopping)
            coordinators = Coordinators.idle(cluster, self._clock)
            coordinators.transactions.elsewhere = CoordinatorElsewhere(channel)
            self._shares = coordinators.groups.shares
            self._shares.keep_elsewhere(StatesInFirst(channel))
            cluster.watchers.add(coordinators.groups)
            cluster.membership.due_at = coordinators.alarm.due_at
            replicas = ReplicaManager(cluster, self._clock)
            seams = Seams(plan.first_connection_id)
            self._hooks = HooksElsewhere(channel, seams.hooks, self._clock)
            maker = NodeMaker(cluster, coordinators, self._clock, seams)
            maker.find_listener, maker.has_siblings = self._listener, True
            maker.serve = Forwarding(channel, self._clock).among
            self._serving = Serving(maker)
            with closing(Listeners()) as listeners:
                nodes, endpoints = _nodes(plan, cluster, maker, replicas, listeners)
                address = nodes.open()
                survivors.begin(is_first_life=True)
                hello = Hello(
                    cluster.logs.directory_id,
                    cluster.logs.was_clean,
                    endpoints,
                    nodes.addresses(cluster.node_id),
                    address,
                )
                await self._serve(channel, hello, cluster, coordinators, replicas, nodes)
            is_whole = True
        finally:
            cluster.close(sync=plan.is_durable and is_whole)
            survivors.end()

    async def _serve(
        self,
        channel: Channel,
        hello: Hello,
        cluster: Cluster,
        coordinators: Coordinators,
        replicas: ReplicaManager,
        nodes: Nodes,
    ) -> None:
        """Serve clients from the moment on at which the cluster knows the broker."""
        try:
            await channel.call(bytes((Call.HELLO,)), hello.encode())
        except ChannelClosed:
            return
        async with _threads(cluster), anyio.create_task_group() as group:
            group.start_soon(nodes.run)
            group.start_soon(_beat, channel, heartbeat_s(cluster.settings))
            group.start_soon(maintain, cluster.logs, cluster.settings, self._clock)
            timed = replicas, coordinators.groups.shares
            group.start_soon(run_timers, timed, self._clock, coordinators.alarm)
            group.start_soon(_go_on, cluster, self._clock)
            while await self._orders.next() is not Order.STOP:
                pass
            await nodes.stop_all()
            await _drain(coordinators.groups.shares)
            # What follows may take long, and is not to be taken for a process that hangs.
            channel.tell(Kind.LEAVING)
            group.cancel_scope.cancel()


async def _open(plan: Plan, clock: Clock) -> Follower:
    """Open the data directory, which the process before this one may still be closing."""
    deadline_s = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            return Follower.open(plan.settings, plan.data_dir, clock, cluster_id=plan.cluster_id)
        except SettingsError:
            if time.monotonic() > deadline_s:
                raise
        await anyio.sleep(_LOCK_POLL_S)


def _nodes(
    plan: Plan,
    cluster: Cluster,
    maker: NodeMaker,
    replicas: ReplicaManager,
    listeners: Listeners,
) -> tuple[Nodes, list[Endpoint]]:
    """Return the one node, and its endpoints, which are there when it is open."""
    endpoints: list[Endpoint] = []
    node_id = cluster.node_id
    nodes = Nodes(
        {node_id: listeners},
        addresses={node_id: plan.addresses},
        backlog=cluster.settings.socket_listen_backlog_size,
        make_node=maker.make,
        register=lambda _node_id, found: endpoints.extend(found),
        membership=cluster.membership,
        replicas=replicas,
    )
    return nodes, endpoints


@asynccontextmanager
async def _threads(cluster: Cluster) -> AsyncIterator[None]:
    async with GroupCommit(cluster.logs.commits), RunMaking(cluster.canned_runs):
        yield


async def _go_on(cluster: Cluster, clock: Clock) -> None:
    """Import what the start did not wait for, and compact logs from then on."""
    await to_thread.run_sync(_preload, limiter=anyio.CapacityLimiter(1))
    from broker_lite.server.upkeep.compaction import compact

    await compact(cluster.logs, lambda: cluster.settings, clock)


async def _drain(shares: Shares) -> None:
    """Let the first process know of the locks that end with the connections, if it answers."""
    if shares.elsewhere is not None:
        with anyio.move_on_after(_DRAIN_S_MAX):
            await shares.elsewhere.drain()


async def _beat(channel: Channel, pause_s: float) -> None:
    """Let the first process know that this one does not hang."""
    while True:
        channel.tell(Kind.HEARTBEAT)
        await anyio.sleep(pause_s)


def _preload() -> None:
    load_handlers()
    import_module("broker_lite.server.upkeep.compaction")


def _show_name(name: str) -> None:
    """Have a name in lists of processes, which is at most 15 letters long."""
    with suppress(OSError):
        Path("/proc/self/comm").write_text(name, "ascii")


def _has_hung_up(sock: socket.socket) -> bool:
    """Whether the other end of the socket is closed; what it has sent may not be read yet."""
    if sock.fileno() < 0:
        return True
    poll = select.poll()
    poll.register(sock, select.POLLRDHUP)
    return bool(poll.poll(0))


async def _work(fd: int, set_up_log: SetUpLog) -> None:
    sock = socket.socket(fileno=fd)
    sock.setblocking(False)
    with Orders() as orders, stop_signals(orders) as is_told:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        await Worker(orders, set_up_log).run(sock, is_told)


def work(fd: int, set_up_log: SetUpLog) -> None:
    """Run a broker by the plan that comes over a socket.

    Args:
        fd: descriptor of the socket.
        set_up_log: called with the level and the format of the log.
    """
    raise_descriptor_limit()
    main = partial(_work, fd, set_up_log)
    anyio.run(main, backend="asyncio", backend_options={"use_uvloop": True})
