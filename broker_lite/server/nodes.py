"""The nodes of a process, and what is done to them: a crash, a stop, a hang, a return."""

import enum
import logging
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio
from anyio.abc import TaskGroup

from broker_lite.control.cluster.membership import Membership
from broker_lite.control.metadata.brokers import Endpoint
from broker_lite.control.replication.replica_manager import ReplicaManager
from broker_lite.handler.context import ListenerInfo
from broker_lite.server.listener import ListenerAddress, Listeners
from broker_lite.settings import join_address

if TYPE_CHECKING:
    from broker_lite.server.client_connection import ClientConnection
    from broker_lite.server.node import Node

logger = logging.getLogger("broker_lite.server")


class NodeState(enum.Enum):
    """What a client meets at a node's address."""

    UP = "up"
    HUNG = "hung"
    """Connections are accepted, and nothing is read or answered."""
    DOWN = "down"
    """Connections are refused."""


class WrongState(Exception):
    """A node cannot do what it is told, or there is no such node; the text is for a person."""


class _Slot:
    """One node: its sockets, and the server that runs there while it is up or hung."""

    def __init__(self, node_id: int, listeners: Listeners) -> None:
        self.node_id = node_id
        self.listeners = listeners
        self.state = NodeState.DOWN
        self.was_killed = False
        # Commands for one node take turns: a stop waits until connections are closed.
        self.turn = anyio.Lock()
        self.node: Node | None = None
        self.scope = anyio.CancelScope()


class Nodes:
    """Starts the nodes, and puts each into another state on command; used by the event loop.

    Attributes:
        rolling: held by a rolling restart: there is one at a time.
    """

    def __init__(
        self,
        listeners: Mapping[int, Listeners],
        *,
        addresses: Mapping[int, Sequence[ListenerAddress]],
        backlog: int,
        make_node: "Callable[[int, Listeners], Node]",
        register: Callable[[int, Sequence[Endpoint]], None],
        membership: Membership,
        replicas: ReplicaManager,
    ) -> None:
        """Start nothing yet.

        Args:
            listeners: of each node, by its id; those that are open stay open.
            addresses: where each node listens; a port of 0 is replaced by the one that was taken.
            backlog: of the sockets.
            make_node: makes the server of a node.
            register: tells the cluster of a node whose listeners are open.
            membership: takes nodes out of the cluster.
            replicas: are behind while their nodes are not there.
        """
        self._slots = {node_id: _Slot(node_id, each) for node_id, each in listeners.items()}
        self._addresses = dict(addresses)
        self._backlog = backlog
        self._make_node = make_node
        self._register = register
        self._membership = membership
        self._replicas = replicas
        self._group: TaskGroup | None = None
        self.rolling = anyio.Lock()

    @property
    def states(self) -> dict[int, NodeState]:
        """The state of each node."""
        return {node_id: slot.state for node_id, slot in self._slots.items()}

    def connection_count(self, node_id: int) -> int:
        """Return how many clients are connected to a node."""
        return len(self.connections(node_id))

    def connections(self, node_id: int) -> "Collection[ClientConnection]":
        """Return the connections of a node's clients; none if it is down."""
        node = self._slots[node_id].node
        return () if node is None else node.connections

    def open(self) -> str:
        """Open all listeners and register all nodes.

        Returns:
            HOST:PORT of the first listener of each node, separated by commas.

        Raises:
            SettingsError: an address cannot be used.
        """
        for slot in self._slots.values():
            self._open(slot)
        self._replicas.settle()
        return ",".join(self._address(slot) for slot in self._slots.values())

    def _open(self, slot: _Slot) -> None:
        addresses = self._addresses[slot.node_id]
        slot.listeners.open(addresses, backlog=self._backlog)
        bound = slot.listeners.addresses
        # A node that comes back listens at the same port. Clients are told of it also while it is
        # down, as long as the cluster has not noticed.
        self._addresses[slot.node_id] = [
            each._replace(port=port, info=each.info._replace(bound_port=port))
            for each, (_, port) in zip(addresses, bound, strict=True)
        ]
        endpoints = [_endpoint(*pair) for pair in zip(addresses, bound, strict=True)]
        self._register(slot.node_id, endpoints)

    def _address(self, slot: _Slot) -> str:
        first, bound = self._addresses[slot.node_id][0], slot.listeners.addresses[0]
        return join_address(first.host or bound[0], bound[1])

    def addresses(self, node_id: int) -> Sequence[ListenerAddress]:
        """Return where a node listens, once its listeners are open."""
        return self._addresses[node_id]

    def listener(self, node_id: int, name: str) -> ListenerInfo | None:
        """Find a listener of a node by its name; None if the node has none of this name."""
        addresses = self._addresses.get(node_id, ())
        return next((each.info for each in addresses if each.info.name == name), None)

    async def run(self) -> None:
        """Serve the clients of all nodes until cancelled; nodes come back even if all are down."""
        async with anyio.create_task_group() as group:
            self._group = group
            for slot in self._slots.values():
                self._start(slot)
            await anyio.sleep_forever()

    def _start(self, slot: _Slot) -> None:
        assert self._group is not None
        slot.node = self._make_node(slot.node_id, slot.listeners)
        slot.scope = anyio.CancelScope()
        slot.state = NodeState.UP
        self._group.start_soon(self._serve, slot, slot.node, slot.scope)

    @staticmethod
    async def _serve(slot: _Slot, node: "Node", scope: anyio.CancelScope) -> None:
        with scope:
            await node.run()

    async def stop_all(self) -> None:
        """Stop all nodes as Node.stop() does, and wait until they have ended."""
        running = [slot.node for slot in self._slots.values() if slot.node is not None]
        for node in running:
            node.stop()
        for node in running:
            await node.ended.wait()

    # -- commands

    async def kill(self, node_id: int) -> None:
        """Let a node be gone at once: its connections break, and new ones are refused.

        The cluster notices after broker.session.timeout.ms of the broker's clock.

        Raises:
            WrongState: it is down already.
        """
        async with self._turn(node_id, *_ALIVE) as slot:
            await self._end(slot)
            slot.was_killed = True
            logger.info("node killed node=%d", node_id)
            self._replicas.node_gone(node_id)
            self._membership.go_silent(node_id)

    async def stop(self, node_id: int) -> None:
        """Shut a node down: others take over what it leads, then it closes its connections.

        Raises:
            WrongState: it is not up.
        """
        async with self._turn(node_id, NodeState.UP) as slot:
            assert slot.node is not None
            self._membership.shut_down(node_id)
            slot.node.stop()
            await slot.node.ended.wait()
            await self._end(slot)
            slot.was_killed = False
            logger.info("node stopped node=%d", node_id)
            self._replicas.node_gone(node_id)
            self._membership.has_shut_down(node_id)

    async def hang(self, node_id: int) -> None:
        """Let a node go on accepting clients, but read and answer nothing.

        The cluster notices after broker.session.timeout.ms of the broker's clock.

        Raises:
            WrongState: it is not up.
        """
        async with self._turn(node_id, NodeState.UP) as slot:
            assert slot.node is not None
            slot.node.hang()
            slot.state = NodeState.HUNG
            logger.info("node hung node=%d", node_id)
            self._replicas.node_gone(node_id)
            self._membership.go_silent(node_id)

    async def bring_up(self, node_id: int) -> None:
        """Bring a node back that is down or hung.

        Raises:
            WrongState: it is up.
            SettingsError: somebody else has its port now.
        """
        async with self._turn(node_id, NodeState.HUNG, NodeState.DOWN) as slot:
            if slot.state is NodeState.HUNG:
                assert slot.node is not None
                self._membership.speak(node_id)
                slot.node.go_on()
                slot.state = NodeState.UP
            else:
                self._membership.prepare_return(node_id, was_killed=slot.was_killed)
                self._open(slot)
                self._start(slot)
            self._replicas.node_back(node_id)
            await self._replicas.settle_in_turns()
            logger.info("node is up node=%d", node_id)

    def check_is_up(self, node_id: int) -> None:
        """Demand that there is a node, and that it answers.

        Raises:
            WrongState: it does not.
        """
        self._slot(node_id, NodeState.UP)

    async def _end(self, slot: _Slot) -> None:
        """End the server of a node, whatever is in progress, and close its sockets."""
        node, slot.node = slot.node, None
        slot.state = NodeState.DOWN
        slot.scope.cancel()
        if node is not None:
            with anyio.CancelScope(shield=True):
                await node.ended.wait()
        slot.listeners.close()

    @asynccontextmanager
    async def _turn(self, node_id: int, *states: NodeState) -> AsyncIterator[_Slot]:
        """Wait until no other command is about a node, and demand one of some states then."""
        async with self._slot(node_id, *NodeState).turn:
            yield self._slot(node_id, *states)

    def _slot(self, node_id: int, *states: NodeState) -> _Slot:
        slot = self._slots.get(node_id)
        if slot is None:
            known = ", ".join(map(str, self._slots))
            raise WrongState(f"there is no broker {node_id}; there are {known}")
        if slot.state not in states:
            raise WrongState(f"broker {node_id} is {slot.state.value}")
        return slot


_ALIVE: Final = (NodeState.UP, NodeState.HUNG)


def _endpoint(address: ListenerAddress, bound: tuple[str, int]) -> Endpoint:
    """Return what the metadata log has of a listener."""
    host = address.info.advertised_host or address.host or bound[0]
    return Endpoint(address.info.name, host, address.info.advertised_port or bound[1])
