"""One of the other processes, as the first process sees it."""

import logging
import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.log.files.checkpoints import parse_uuid
from broker_lite.server.listener import ListenerAddress
from broker_lite.server.processes.calls import Call
from broker_lite.server.processes.channel import Channel, ChannelClosed, Kind
from broker_lite.server.processes.feed import Feed
from broker_lite.server.processes.plan import Hello, Plan
from broker_lite.server.processes.serving import Serving
from broker_lite.server.processes.session import Session
from broker_lite.server.processes.spawning import Spawned, describe_end
from broker_lite.server.processes.waiting import Started

logger = logging.getLogger("broker_lite.server")

Changed = Callable[[], None]

_END_TIMEOUT_S: Final = 1.0
_STOP_TIMEOUT_S: Final = 60.0
# A broker with many GB in memory and a slow disk.
_WRITE_TIMEOUT_S: Final = 300.0


class Child:
    """A process with one broker; used by the event loop.

    Attributes:
        node_id: of its broker.
        addresses: where its broker listens; from its first start on with the ports that it took.
        address: HOST:PORT of the first listener, once it is known.
        channel: to the process; None while there is none.
        is_ready: whether its broker serves clients.
        ready_s: when it began to serve clients; later than ever if it has not.
        refusal: why it cannot start, as it has told; empty if it has not.
    """

    def __init__(
        self, node_id: int, addresses: Sequence[ListenerAddress], session_timeout_s: float
    ) -> None:
        """Start nothing yet.

        Args:
            node_id: see above.
            addresses: see above; a port of 0 takes a free one.
            session_timeout_s: how long the process may be silent.
        """
        self.node_id = node_id
        self.addresses = addresses
        self.address = ""
        self.channel: Channel | None = None
        self.is_ready = False
        self.refusal = ""
        self.ready_s = 0.0
        self._was_there = False
        self._session_timeout_s = session_timeout_s
        self._session: Session | None = None
        self._stopping = anyio.Event()
        self._greeted = anyio.Event()
        self._leaving = anyio.Event()
        self._is_given_up = False

    @property
    def is_stopping(self) -> bool:
        """Whether it is to stop."""
        return self._stopping.is_set()

    def begin(self) -> None:
        """Begin a life of the cluster, which does not know the broker yet."""
        self._was_there = False
        self._stopping = anyio.Event()

    async def run(
        self,
        started: Started,
        plan: Plan,
        cluster: Cluster,
        feed: Feed,
        serving: Serving,
        changed: Changed,
    ) -> str:
        """Run a process until its end, and return how it has ended.

        Args:
            started: the process, which waits.
            plan: what it is told.
            cluster: gets its broker while it is there.
            feed: of the metadata.
            serving: answers its requests.
            changed: called when the broker is ready.
        """
        spawned, sock = started
        self.refusal, self.ready_s = "", math.inf
        answer = partial(self._answer, cluster, serving, changed)
        self.channel = channel = await Channel.open(sock, answer, self._take)
        self._session, self._is_given_up = None, False
        self._greeted, self._leaving = anyio.Event(), anyio.Event()
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._listen, channel, group)
                group.start_soon(self._end_if_it_hangs, channel, spawned)
                group.start_soon(self._end_if_it_does_not_stop, channel)
                group.start_soon(self._end_if_it_does_not_end, channel)
                with suppress(ChannelClosed):
                    channel.tell(Kind.START, plan.encode())
                    if self.is_stopping:
                        channel.tell(Kind.STOP)
                    await feed.catch_up(channel)
        finally:
            feed.forget(channel)
            channel.close()
            self.channel, self.is_ready = None, False
            may_write = self.is_stopping and not self._is_given_up
            timeout_s = _STOP_TIMEOUT_S if may_write else _END_TIMEOUT_S
            with anyio.CancelScope(shield=True):
                code = await to_thread.run_sync(spawned.wait, timeout_s)
        return describe_end(code)

    @staticmethod
    async def _listen(channel: Channel, group: TaskGroup) -> None:
        await channel.run()
        group.cancel_scope.cancel()

    async def _end_if_it_hangs(self, channel: Channel, spawned: Spawned) -> None:
        await self._greeted.wait()
        assert self._session is not None
        await self._session.watch(spawned, self._leaving)
        if not self._leaving.is_set():
            self._give_up(channel)

    def _give_up(self, channel: Channel) -> None:
        """Close the channel, and so end the process."""
        self._is_given_up = True
        channel.close()

    async def _end_if_it_does_not_stop(self, channel: Channel) -> None:
        """End the process if it does not follow the order to stop."""
        await self._stopping.wait()
        is_silent = self._session is not None and self._session.is_over
        with anyio.move_on_after(0 if is_silent else _STOP_TIMEOUT_S):
            await self._leaving.wait()
            return
        self._give_up(channel)

    async def _end_if_it_does_not_end(self, channel: Channel) -> None:
        """End a process that stops, but hangs as it writes what it has."""
        await self._leaving.wait()
        await anyio.sleep(_WRITE_TIMEOUT_S)
        logger.error("process hangs as it stops and is ended node=%d", self.node_id)
        self._give_up(channel)

    async def _answer(
        self, cluster: Cluster, serving: Serving, changed: Changed, payload: bytes
    ) -> bytes:
        call, rest = payload[0], memoryview(payload)[1:]
        if call == Call.FORWARD:
            return await serving.forwarded(self.node_id, rest)
        if call == Call.ASK:
            return await serving.asked(cluster.node_id, rest)
        if call == Call.HOOKED:
            assert self.channel is not None
            return await serving.hooked(self.node_id, self.channel, rest)
        self._greet(cluster, Hello.decode(bytes(rest)))
        changed()
        return b""

    def _greet(self, cluster: Cluster, hello: Hello) -> None:
        """Let the broker of a process that is ready into the cluster."""
        self.addresses, self.address = hello.addresses, hello.address
        if self._was_there:
            was_killed = not hello.was_clean
            cluster.membership.prepare_return(self.node_id, was_killed=was_killed)
        self._was_there = True
        cluster.register(self.node_id, hello.endpoints, parse_uuid(hello.directory_id))
        self._session = Session(self.node_id, cluster.membership, self._session_timeout_s)
        self._greeted.set()
        self.is_ready, self.ready_s = True, time.monotonic()

    async def _take(self, kind: Kind, payload: bytes) -> None:
        if kind is Kind.REFUSED:
            self.refusal = payload.decode()
            if self.channel is not None:
                self.channel.close()
        elif kind is Kind.HEARTBEAT and self._session is not None:
            self._session.heard()
        elif kind is Kind.LEAVING:
            self._leaving.set()
            if self._session is not None and not self.is_stopping:
                self._session.leave()

    def stop(self) -> None:
        """Let the process stop, as SIGTERM would."""
        self._stopping.set()
        if self.channel is not None:
            self.channel.tell(Kind.STOP)
