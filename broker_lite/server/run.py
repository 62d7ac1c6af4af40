"""Run a broker from its start to its end, in one process with one event loop.

A process serves one life of the broker after another. Each life begins with the content of the data
directory. It ends when the broker has to stop, or to begin anew with an empty directory. The
listening sockets stay open through all lives.
"""

import asyncio
import gc
import logging
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio
from anyio import CapacityLimiter, to_thread
from anyio.to_thread import current_default_thread_limiter

from broker_lite import seed
from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.coordinators.start import Coordinators
from broker_lite.control.replication.replica_manager import ReplicaManager
from broker_lite.handler.table import load_handlers
from broker_lite.log.directory.data_directory import erase
from broker_lite.log.recovery.load_watch import LoadStopped
from broker_lite.server.addresses import addresses_by_node
from broker_lite.server.life import Bench, Life
from broker_lite.server.limits.descriptors import raise_descriptor_limit
from broker_lite.server.listener import ListenerAddress, Listeners
from broker_lite.server.node_maker import NodeMaker
from broker_lite.server.nodes import Nodes
from broker_lite.server.orders import KeepTopics, LastOrder, Order, Orders, Restore, Step
from broker_lite.server.seams import Seams
from broker_lite.server.upkeep.group_commit import GroupCommit
from broker_lite.server.upkeep.leaders import keep_leaders
from broker_lite.server.upkeep.maintenance import check_retention, maintain
from broker_lite.server.upkeep.run_making import RunMaking
from broker_lite.server.upkeep.survivors import Survivors
from broker_lite.server.upkeep.timers import run_timers
from broker_lite.settings import Settings

if TYPE_CHECKING:
    from broker_lite.server.processes.children import Children

logger = logging.getLogger("broker_lite.server")

_STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class _Site(NamedTuple):
    """What all lives of a process have in common; addresses and listeners are by node."""

    settings: Settings
    addresses: Mapping[int, Sequence[ListenerAddress]]
    listeners: Mapping[int, Listeners]
    orders: Orders
    durable: bool
    bench: Bench | None
    children: "Children | None"


def serve(
    settings: Settings,
    *,
    data_dir: Path,
    ready: Callable[[str], None],
    durable: bool = True,
    orders: int | None = None,
    bench: Bench | None = None,
) -> int:
    """Run a broker until SIGTERM or SIGINT, or until it is ordered to stop.

    Args:
        settings: without dynamic ones, which the data directory holds.
        data_dir: made if it does not exist.
        ready: called once clients are accepted, with HOST:PORT of each node's first listener,
            separated by commas.
        durable: make everything durable at the end; not worth its time for a temporary directory.
        orders: descriptor of a connected stream socket, closed at the end; see the orders module.
        bench: the test bench, if there is to be one.

    Returns:
        The exit code: 0.

    Raises:
        SettingsError: a setting, an address or the directory cannot be used; one line for a person.
        KafkaStorageError: the metadata log cannot be read or written.

    See: P-16.
    """
    raise_descriptor_limit()
    main = partial(_serve, settings, data_dir, ready, durable, orders, bench)
    return anyio.run(main, backend="asyncio", backend_options={"use_uvloop": True})


async def _serve(
    settings: Settings,
    data_dir: Path,
    ready: Callable[[str], None],
    durable: bool,
    orders_fd: int | None,
    bench: Bench | None,
) -> int:
    every = addresses_by_node(settings)
    here = range(settings.node_id, settings.node_id + settings.broker_lite_brokers)
    addresses = {node_id: every[node_id] for node_id in here}
    elsewhere = {node_id: each for node_id, each in every.items() if node_id not in here}
    # each may hold a decompressed batch, twice while it is put together
    current_default_thread_limiter().total_tokens = settings.broker_lite_decompression_threads
    with Orders(orders_fd) as orders, ExitStack() as stack:
        listeners = {node_id: stack.enter_context(closing(Listeners())) for node_id in addresses}
        children = None
        if elsewhere:
            started = _children(settings, elsewhere, data_dir, durable)
            children = stack.enter_context(closing(started))
        site = _Site(settings, addresses, listeners, orders, durable, bench, children)
        clock = Clock()
        with stop_signals(orders) as is_told:
            try:
                cluster = Cluster.open(settings, data_dir, clock, is_stopping=is_told)
            except LoadStopped:
                logger.info("stopped before all logs were recovered")
                return 0
            async with _at_the_bench(bench):
                order = await _live(site, cluster, clock, ready)
                while order is not Order.STOP:
                    _begin_anew(data_dir, order)
                    clock = Clock()
                    cluster = Cluster.open(settings, data_dir, clock)
                    order = await _live(site, cluster, clock, before=order)
    return 0


def _children(
    settings: Settings,
    addresses: Mapping[int, Sequence[ListenerAddress]],
    data_dir: Path,
    durable: bool,
) -> "Children":
    """Start the other processes of the cluster."""
    from broker_lite.server.processes.children import Children

    children = Children(settings, addresses, data_dir, is_durable=durable)
    children.start()
    return children


def _begin_anew(data_dir: Path, order: LastOrder) -> None:
    """Empty the data directory, and fill it if there is a snapshot to restore."""
    erase(data_dir)
    if not isinstance(order, Restore):
        logger.info("beginning anew with an empty data directory")
        return
    from broker_lite.log.directory.snapshots import restore_snapshot

    logger.info("beginning anew with snapshot %s", order.snapshot.name)
    restore_snapshot(order.snapshot, data_dir)


@asynccontextmanager
async def _at_the_bench(bench: Bench | None) -> AsyncIterator[None]:
    """Let the test bench serve its own listener meanwhile.

    A task group would wrap the errors of a life, which people are to see as they are.
    """
    if bench is None:
        yield
        return
    bench.open()
    task = asyncio.get_running_loop().create_task(bench.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        bench.close()


async def _live(
    site: _Site,
    cluster: Cluster,
    clock: Clock,
    ready: Callable[[str], None] | None = None,
    *,
    before: LastOrder | None = None,
) -> LastOrder:
    """Serve clients until the next order, and close the cluster.

    Args:
        site: what all lives have in common; the first life opens its listeners.
        cluster: open.
        clock: the cluster's.
        ready: called by the first life, None for later ones.
        before: the order that ended the life before. After a restore, the topics and records that
            the settings name are not made.
    """
    order: LastOrder = Order.STOP
    survivors = Survivors()
    try:
        # No object that is read here becomes garbage: collections would be a tenth of the reading.
        gc.disable()
        coordinators = Coordinators.start(cluster, clock)
        cluster.membership.due_at = coordinators.alarm.due_at
        replicas = ReplicaManager(cluster, clock)
        maker = NodeMaker(cluster, coordinators, clock, _seams(site))
        nodes = _nodes(site, cluster, maker, replicas)
        address = nodes.open()
        survivors.begin(is_first_life=ready is not None)
        others_of = (site, cluster, clock, coordinators, maker, nodes)
        async with _others(*others_of) as others:
            if others is None or not await _fill(site, cluster, clock, before):
                order = await _next_order(site, clock, cluster)
                return order
            address = ",".join((address, *others))
            parts = (cluster, coordinators, clock, nodes, replicas, maker.certificates)
            life = Life(*parts, maker.telemetry, maker.throttled_counts, site.orders.give, address)
            order = await _serve_clients(site, life, ready)
    finally:
        if site.bench is not None:
            site.bench.end()
        if order is not Order.STOP:
            cluster.logs.abandon()
            survivors.release()
        else:
            cluster.close(sync=site.durable)
        survivors.end()
    return order


@asynccontextmanager
async def _others(
    site: _Site,
    cluster: Cluster,
    clock: Clock,
    coordinators: Coordinators,
    maker: NodeMaker,
    nodes: Nodes,
) -> AsyncIterator[Sequence[str] | None]:
    """Have the other processes of the cluster, if there are any, serve clients meanwhile.

    Yields the addresses of their brokers; None if the broker has to stop before they are ready.
    """
    if site.children is None:
        yield ()
        return
    seams = _seams(site)
    async with site.children.running(cluster, clock, coordinators, maker, nodes, seams):
        yield await site.children.ready(site.orders.are_waiting)


async def _serve_clients(site: _Site, life: Life, ready: Callable[[str], None] | None) -> LastOrder:
    """Serve clients until the next order that ends a life."""
    cluster, clock, nodes, coordinators = life.cluster, life.clock, life.nodes, life.coordinators
    async with _threads(cluster), anyio.create_task_group() as group:
        group.start_soon(nodes.run)
        group.start_soon(maintain, cluster.logs, site.settings, clock)
        group.start_soon(keep_leaders, cluster, clock)
        timed = (*coordinators[:2], cluster.membership, life.replicas)
        group.start_soon(run_timers, timed, clock, coordinators.alarm)
        if site.bench is not None:
            site.bench.begin(life)
            await site.bench.start_script()
        if ready is not None:
            ready(life.address)
        site.orders.tell_ready(life.address)
        group.start_soon(_go_on, cluster, clock)
        order = await _next_order(site, clock, cluster)
        if site.bench is not None:
            site.bench.release_disk()
        if order is Order.STOP:
            if site.children is not None:
                site.children.stop()
            await nodes.stop_all()
        group.cancel_scope.cancel()
    return order


@asynccontextmanager
async def _threads(cluster: Cluster) -> AsyncIterator[None]:
    """Have logs flushed, and the runs of synthetic topics made, beside the event loop."""
    async with GroupCommit(cluster.logs.commits), RunMaking(cluster.canned_runs):
        yield


async def _fill(site: _Site, cluster: Cluster, clock: Clock, before: LastOrder | None) -> bool:
    """Make the topics and records that a life begins with; return False if it has to end."""
    if isinstance(before, Restore):
        return True
    if isinstance(before, KeepTopics):
        from broker_lite.control.cluster.kept_topics import make_anew

        make_anew(cluster, before.topics)
    return await seed.apply(cluster, clock, site.orders.are_waiting)


async def _go_on(cluster: Cluster, clock: Clock) -> None:
    """Import what the start did not wait for, and compact logs from then on."""
    # a limiter of its own, so that it takes no thread that requests wait for
    await to_thread.run_sync(_preload, limiter=CapacityLimiter(1))
    from broker_lite.server.upkeep.compaction import compact

    await compact(cluster.logs, lambda: cluster.settings, clock)


def _preload() -> None:
    load_handlers()
    import_module("broker_lite.server.upkeep.compaction")


async def _next_order(site: _Site, clock: Clock, cluster: Cluster) -> LastOrder:
    """Wait for the order that ends this life; other orders are carried out meanwhile."""
    while not isinstance(order := await site.orders.next(), LastOrder):
        if isinstance(order, Step):
            clock.step(order.step_ms)
            await check_retention(cluster.logs)
            site.orders.tell_stepped()
        elif site.bench is not None:
            site.bench.carry_out(order.line, site.orders.tell)
    return order


def _seams(site: _Site) -> Seams:
    return Seams() if site.bench is None else site.bench.seams


def _nodes(site: _Site, cluster: Cluster, maker: NodeMaker, replicas: ReplicaManager) -> Nodes:
    nodes = Nodes(
        site.listeners,
        addresses=site.addresses,
        backlog=site.settings.socket_listen_backlog_size,
        make_node=maker.make,
        register=cluster.register,
        membership=cluster.membership,
        replicas=replicas,
    )
    maker.find_listener = nodes.listener
    return nodes


@contextmanager
def stop_signals(orders: Orders) -> Iterator[Callable[[], bool]]:
    """Let SIGTERM and SIGINT give the order to stop; after the context both do nothing.

    The function that the context yields tells whether a signal has come. Code that does not let the
    loop run can call it.

    Only the first signal gives an order. The loop's own signal handlers would not do: when one is
    removed, the default action is in place, and a second signal would end the process before
    everything is written. SIG_IGN would not do either: Python still handles a signal that came just
    before it was set.
    """
    loop = asyncio.get_running_loop()
    is_told = is_heard = False

    def tell(number: int) -> None:
        nonlocal is_told
        if not is_told:
            is_told = True
            logger.info("stopping on %s", signal.Signals(number).name)
            orders.stop()

    def on_signal(number: int, _: FrameType | None) -> None:
        nonlocal is_heard
        is_heard = True
        loop.call_soon_threadsafe(tell, number)

    for number in _STOP_SIGNALS:
        signal.signal(number, on_signal)
    try:
        yield lambda: is_heard
    finally:
        for number in _STOP_SIGNALS:
            signal.signal(number, _do_nothing)


def _do_nothing(_number: int, _frame: FrameType | None) -> None:
    """Ignore a signal, as its handler."""
