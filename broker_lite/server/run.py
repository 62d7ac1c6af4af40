"""A broker from its start to its end, in one process with one event loop."""

import asyncio
import contextlib
import gc
import logging
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Final

import anyio
from anyio.to_thread import current_default_thread_limiter

from broker_lite.control.changes import Endpoint
from broker_lite.control.clock import Clock
from broker_lite.control.cluster import Cluster
from broker_lite.control.coordinators import Coordinators
from broker_lite.handler import emulate
from broker_lite.handler.context import HandlerContext, Hook, ListenerInfo
from broker_lite.handler.fetch_session import FetchSessionCache
from broker_lite.handler.table import APIS, offered
from broker_lite.server.gateway import as_seen_from, default_gateways
from broker_lite.server.limits import CurrentLimits
from broker_lite.server.listener import ListenerAddress
from broker_lite.server.maintenance import maintain
from broker_lite.server.node import Node
from broker_lite.server.timers import run_timers
from broker_lite.settings import Listener, Settings, join_address, parse_listeners

logger = logging.getLogger("broker_lite.server")

# Each may hold a decompressed batch, twice while it is put together.
_THREADS_MAX: Final = 4
_STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def serve(
    settings: Settings, *, data_dir: Path, ready: Callable[[str], None], durable: bool = True
) -> int:
    """Run a broker until SIGTERM or SIGINT.

    Args:
        settings: without dynamic ones, which the data directory holds.
        data_dir: made if it does not exist.
        ready: called with HOST:PORT of the first listener once clients are accepted.
        durable: make everything durable at the end; not worth its time for a temporary directory.

    Returns:
        The exit code: 0.

    Raises:
        SettingsError: a setting, an address or the directory cannot be used; one line for a person.
        KafkaStorageError: the metadata log cannot be read or written.

    Rule: P-16.
    """
    main = partial(_serve, settings, data_dir, ready, durable)
    return anyio.run(main, backend="asyncio", backend_options={"use_uvloop": True})


async def _serve(
    settings: Settings, data_dir: Path, ready: Callable[[str], None], durable: bool
) -> int:
    addresses = [_address(listener) for listener in parse_listeners(settings)]
    current_default_thread_limiter().total_tokens = _THREADS_MAX
    clock = Clock()
    cluster = Cluster.open(settings, data_dir, clock)
    with _stop_signals() as stop:
        try:
            # nothing read here goes away again: looking for garbage is a tenth of the reading
            gc.disable()
            coordinators = Coordinators.start(cluster, clock)
            node = _node(cluster, coordinators, clock)
            bound = node.bind(addresses, backlog=settings.socket_listen_backlog_size)
            cluster.register([_endpoint(*pair) for pair in zip(addresses, bound, strict=True)])
            # What the start has made stays: a full collection passes over it. Measured with the
            # objects of 10,000 partitions: 52 ms of standing still become nothing. To collect
            # before would take 18 ms and find nothing worth it.
            gc.freeze()
            gc.enable()
            async with anyio.create_task_group() as group:
                group.start_soon(node.run)
                group.start_soon(maintain, cluster.logs, settings, clock)
                group.start_soon(run_timers, coordinators[:2], clock, coordinators.alarm)
                ready(join_address(addresses[0].host or bound[0][0], bound[0][1]))
                group.start_soon(anyio.to_thread.run_sync, coordinators.groups.preload)
                await stop.wait()
                node.stop()
                await node.ended.wait()
                group.cancel_scope.cancel()
        finally:
            gc.enable()
            cluster.close(sync=durable)
    return 0


def _node(cluster: Cluster, coordinators: Coordinators, clock: Clock) -> Node:
    apis = APIS
    release = cluster.settings.emulate
    if release != emulate.NO_RELEASE:
        apis = offered(APIS, emulate.max_versions(release))
    fetch_sessions = FetchSessionCache(cluster.settings.max_incremental_fetch_session_cache_slots)
    hooks: list[Hook] = []
    gateways = default_gateways() if cluster.settings.broker_lite_gateway_advertised else ()

    def make_context(
        *,
        listener: ListenerInfo,
        local_address: tuple[str, int],
        client_address: tuple[str, int],
    ) -> HandlerContext:
        return HandlerContext(
            cluster=cluster,
            groups=coordinators.groups,
            transactions=coordinators.transactions,
            clock=clock,
            settings=cluster.settings,
            apis=apis,
            listener=as_seen_from(client_address[0], listener, gateways),
            local_address=local_address,
            client_address=client_address,
            fetch_sessions=fetch_sessions,
            hooks=hooks,
        )

    return Node(
        apis=apis,
        make_context=make_context,
        get_limits=CurrentLimits(lambda: cluster.settings),
        clock=clock,
    )


def _address(listener: Listener) -> ListenerAddress:
    info = ListenerInfo(
        listener.name,
        listener.security_protocol,
        listener.advertised_host,
        listener.advertised_port,
        listener.gateway_host,
        listener.gateway_port,
    )
    return ListenerAddress(info, listener.host, listener.port)


def _endpoint(address: ListenerAddress, bound: tuple[str, int]) -> Endpoint:
    """What the metadata log tells of a listener."""
    host = address.info.advertised_host or address.host or bound[0]
    return Endpoint(address.info.name, host, address.info.advertised_port or bound[1])


@contextlib.contextmanager
def _stop_signals() -> Iterator[anyio.Event]:
    """Give an event that the first SIGTERM or SIGINT sets; from the end on both do nothing.

    A stop that has begun is not begun again. The loop's own signal handlers would not do: taking
    one away leaves the default action in place, with which a second signal ends the process before
    all is put down. Nor would SIG_IGN: Python tells of a signal that came just before it.
    """
    stop = anyio.Event()
    loop = asyncio.get_running_loop()

    def tell(number: int) -> None:
        if not stop.is_set():
            logger.info("stopping on %s", signal.Signals(number).name)
            stop.set()

    def on_signal(number: int, _: FrameType | None) -> None:
        loop.call_soon_threadsafe(tell, number)

    for number in _STOP_SIGNALS:
        signal.signal(number, on_signal)
    try:
        yield stop
    finally:
        for number in _STOP_SIGNALS:
            signal.signal(number, _do_nothing)


def _do_nothing(_number: int, _frame: FrameType | None) -> None:
    """Be the handler of a signal that changes nothing any more."""
