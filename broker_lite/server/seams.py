"""Where the test bench may take part in what a broker does, and where it mostly does not.

The seams belong to the process: they stay when the broker begins anew with an empty directory.
"""

import itertools
import socket
from collections.abc import Callable
from typing import TypeAlias

from broker_lite.handler.context import Hooks, ListenerInfo
from broker_lite.server.limits.descriptors import ClientDescriptors

NodeGate: TypeAlias = Callable[
    [int, socket.socket, tuple[str, int], ListenerInfo, ClientDescriptors], bool
]
"""Decides whether a node serves a client that has connected; it keeps the socket if not, and counts
its descriptor."""


class Seams:
    """What a test bench can change while clients are connected.

    Attributes:
        hooks: called around the handlers of an API, by API key; see handler.context.
        gate: asked for each client that connects; None admits all.
        changed: called when hooks have changed.
    """

    def __init__(self, first_connection_id: int = 1) -> None:
        """Begin without any."""
        self.hooks = Hooks()
        self.gate: NodeGate | None = None
        self.changed: Callable[[], object] = lambda: None
        self._connection_ids = itertools.count(first_connection_id)

    def next_connection_id(self) -> int:
        """Number a connection."""
        return next(self._connection_ids)

    def admits(
        self,
        node_id: int,
        sock: socket.socket,
        address: tuple[str, int],
        info: ListenerInfo,
        descriptors: ClientDescriptors,
    ) -> bool:
        """True if a node is to serve a client that has connected."""
        return self.gate is None or self.gate(node_id, sock, address, info, descriptors)
