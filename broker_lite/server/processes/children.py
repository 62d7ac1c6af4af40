"""All other processes of the cluster: started together, started anew when one ends, stopped.

A broker whose process has ended is fenced at once: its partitions have no leader, as in a Kafka
whose topics have one replica. The process is started again, after a pause that grows if it ends
again and again.
"""

import asyncio
import itertools
import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import anyio

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.coordinators.start import Coordinators
from broker_lite.errors import KafkaStorageError, SettingsError
from broker_lite.handler.context import ListenerInfo
from broker_lite.log.directory.data_directory import NODES_DIRECTORY
from broker_lite.server.listener import ListenerAddress
from broker_lite.server.node_maker import NodeMaker
from broker_lite.server.nodes import Nodes
from broker_lite.server.processes.between_brokers import MarkersElsewhere, OffsetsElsewhere
from broker_lite.server.processes.channel import Channel, Kind
from broker_lite.server.processes.child import Child
from broker_lite.server.processes.feed import Feed
from broker_lite.server.processes.plan import Plan, encode_nodes
from broker_lite.server.processes.serving import Serving
from broker_lite.server.processes.session import timeout_s
from broker_lite.server.processes.share_states import StartsElsewhere
from broker_lite.server.processes.spawning import CLEAN_END
from broker_lite.server.processes.waiting import Waiting
from broker_lite.server.seams import Seams
from broker_lite.settings import Settings
from broker_lite.settings.per_node import settings_of_process

logger = logging.getLogger("broker_lite.server")

# Before a process is started again: at once, and later if it cannot serve clients.
_PAUSES_S: Final[Sequence[float]] = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
# A process that has served clients for a shorter time is not started again at once.
_SOUND_S: Final = 0.2
_POLL_S: Final = 0.05
_SIGNAL_S: Final = 0.2
# Ids of connections say by which start of which process they were accepted.
_CONNECTIONS_A_START: Final = 1_000_000_000
_NS_PER_MS: Final = 1_000_000


class Children:
    """The other processes, through all lives of the first one; used by the event loop."""

    def __init__(
        self,
        settings: Settings,
        addresses: Mapping[int, Sequence[ListenerAddress]],
        data_dir: Path,
        *,
        is_durable: bool,
    ) -> None:
        """Start nothing yet.

        Args:
            settings: as given.
            addresses: of the brokers of the other processes.
            data_dir: of the first process.
            is_durable: whether everything is made durable at the end.
        """
        self._settings = settings
        self._data_dir = data_dir
        self._is_durable = is_durable
        session_s = timeout_s(settings)
        self._children = [Child(one, each, session_s) for one, each in addresses.items()]
        self._failure: BaseException | None = None
        self._stopping = anyio.Event()
        self._has_begun = False
        self._changed = anyio.Event()
        self._starts = itertools.count(1)
        self._waiting = Waiting()

    def start(self) -> None:
        """Start all processes; they load the program while the first process goes on.

        Raises:
            SettingsError: the machine has no room for one.
        """
        try:
            self._waiting.start(len(self._children))
        except OSError as error:
            raise SettingsError(f"a process cannot be started: {error.strerror}") from error

    @asynccontextmanager
    async def running(
        self,
        cluster: Cluster,
        clock: Clock,
        coordinators: Coordinators,
        maker: NodeMaker,
        nodes: Nodes,
        seams: Seams,
    ) -> AsyncIterator[None]:
        """Let the processes take part in one life of the cluster; at the end they stop.

        Args:
            cluster: a started one.
            clock: of this process.
            coordinators: have partitions in other processes.
            maker: of the contexts of requests.
            nodes: of this process, whose listeners are open.
            seams: of this process.
        """
        self._seams, seams.changed = seams, self._tell_hooks
        self._clock = clock
        clock.watch(self._tell_time)
        self._stopping, self._has_begun = anyio.Event(), False
        for child in self._children:
            child.begin()
        self._nodes = nodes
        maker.find_listener = self.listener
        coordinators.transactions.markers.send = MarkersElsewhere(self._channel)
        shares = coordinators.groups.shares
        shares.tell_others = StartsElsewhere(cluster, self._channel)
        coordinators.groups.ask_leader = OffsetsElsewhere(self._channel)
        feed, serving = Feed(cluster), Serving(maker)
        runs = [
            asyncio.create_task(self._keep(child, cluster, clock, feed, serving))
            for child in self._children
        ]
        for one in runs:
            one.add_done_callback(_tell_of_bug)
        try:
            yield
        finally:
            self.stop()
            with anyio.CancelScope(shield=True):
                await self._waiting.stop()
                await asyncio.gather(*runs, return_exceptions=True)

    def stop(self) -> None:
        """Let all processes stop; running() waits for their ends."""
        self._stopping.set()
        for child in self._children:
            child.stop()

    def close(self) -> None:
        """End processes that take part in no life."""
        self._waiting.close()

    async def _keep(
        self, child: Child, cluster: Cluster, clock: Clock, feed: Feed, serving: Serving
    ) -> None:
        """Run a process, again and again, until all are to stop."""
        pauses = _PAUSES_S
        while not self._ends():
            try:
                started = await self._waiting.take()
                plan = self._plan(child, cluster, clock)
                how = await child.run(started, plan, cluster, feed, serving, self._changed_now)
            except OSError as error:
                how = str(error.strerror)
            if how == CLEAN_END:  # on a signal that may be on its way to this process, too
                await anyio.sleep(_SIGNAL_S)
            if self._ends():
                return
            if not self._has_begun:
                reason = child.refusal or f"process of broker {child.node_id} ended: {how}"
                self._failure = SettingsError(reason)
                self._changed.set()
                return
            self._fence(child, cluster)
            served_s = time.monotonic() - child.ready_s
            if served_s >= 0:
                pauses = _PAUSES_S if served_s >= _SOUND_S else _PAUSES_S[1:]
            pause_s, pauses = pauses[0], pauses[1:] or pauses
            self._tell_of_end(child, how, pause_s)
            with anyio.move_on_after(pause_s):
                await self._stopping.wait()

    def _ends(self) -> bool:
        return self._stopping.is_set()

    @staticmethod
    def _fence(child: Child, cluster: Cluster) -> None:
        with suppress(KafkaStorageError):  # it is logged where the metadata log is written
            cluster.membership.fence(child.node_id)

    @staticmethod
    def _tell_of_end(child: Child, how: str, pause_s: float) -> None:
        logger.error(
            "process ended and is started again node=%d how=%s pause_s=%s",
            child.node_id,
            child.refusal or how,
            pause_s,
        )

    def _plan(self, child: Child, cluster: Cluster, clock: Clock) -> Plan:
        step = child.node_id - self._settings.node_id
        return Plan(
            settings_of_process(self._settings, step),
            self._data_dir.absolute() / NODES_DIRECTORY / str(child.node_id),
            cluster.cluster_id,
            child.addresses,
            self._is_durable,
            _ahead_ms(clock),
            next(self._starts) * _CONNECTIONS_A_START,
        )

    def _changed_now(self) -> None:
        """Tell all brokers where the others listen, and who waits that one is ready."""
        first = self._settings.node_id
        listeners = {first: [each.info for each in self._nodes.addresses(first)]}
        for child in self._children:
            listeners[child.node_id] = [each.info for each in child.addresses]
        for child in self._children:
            if child.channel is not None:
                child.channel.tell(Kind.NODES, encode_nodes(listeners))
        self._tell_hooks()
        if self._has_begun:
            self._waiting.prepare()
        self._changed.set()

    def _tell_hooks(self) -> None:
        """Tell all brokers around which handlers the test bench has hooks."""
        hooks = self._seams.hooks
        self._tell(Kind.HOOKS, [list(hooks), hooks.may_wait])

    def _tell_time(self) -> None:
        """Let all clocks be as far ahead as this one."""
        self._tell(Kind.STEP, _ahead_ms(self._clock))

    def _tell(self, kind: Kind, what: object) -> None:
        for child in self._children:
            if child.channel is not None:
                child.channel.tell(kind, json.dumps(what).encode())

    async def ready(self, is_stopping: Callable[[], bool]) -> Sequence[str] | None:
        """Wait until all brokers serve clients.

        Args:
            is_stopping: called again and again; what is waited for does not come any more.

        Returns:
            HOST:PORT of the first listener of each broker; None if stopping.

        Raises:
            SettingsError: a process cannot start; one line that says why.
        """
        while not all(child.is_ready for child in self._children):
            if self._failure is not None:
                raise self._failure
            if is_stopping():
                return None
            self._changed = anyio.Event()
            with anyio.move_on_after(_POLL_S):
                await self._changed.wait()
        self._has_begun = True
        self._waiting.prepare()
        return [child.address for child in self._children]

    def _channel(self, node_id: int) -> Channel | None:
        return next((one.channel for one in self._children if one.node_id == node_id), None)

    def listener(self, node_id: int, name: str) -> ListenerInfo | None:
        """Find a listener of any broker of the cluster by its name; None if there is none."""
        for child in self._children:
            if child.node_id == node_id:
                infos = [each.info for each in child.addresses]
                return next((info for info in infos if info.name == name), None)
        return self._nodes.listener(node_id, name)


def _tell_of_bug(run: asyncio.Task[None]) -> None:
    """Log why a process is not started again, which nothing but a bug can be the reason of."""
    if not run.cancelled() and run.exception() is not None:
        logger.error("process is not kept running any more", exc_info=run.exception())


def _ahead_ms(clock: Clock) -> int:
    """Return how far a clock is ahead of the machine's."""
    while True:
        before_ms = time.monotonic_ns() // _NS_PER_MS
        ahead_ms = clock.unfrozen_ms() - before_ms
        if time.monotonic_ns() // _NS_PER_MS == before_ms:
            return ahead_ms
