"""What the clients of all nodes of a process share: memory and descriptors."""

from collections.abc import Callable

from broker_lite.protocol.request_memory import RequestMemory
from broker_lite.rate_limited_log import RateLimitedLog
from broker_lite.server.limits.descriptors import ClientDescriptors
from broker_lite.server.limits.node_limits import Limits
from broker_lite.server.limits.unsent import UnsentAnswers


class ClientShares:
    """Bounds for all clients together, however many nodes they are connected to.

    Attributes:
        memory: of receive buffers.
        unsent: answers that clients do not take.
        descriptors: of connections.
    """

    def __init__(self, limits: Limits, clients_max: int, client_log: RateLimitedLog) -> None:
        """Begin with nothing taken.

        Args:
            limits: of the process.
            clients_max: how many descriptors there are for connections; see clients_max().
            client_log: takes the lines that clients can cause.
        """
        self._reclaims: list[Callable[[], object]] = []
        self.memory = RequestMemory(limits.request_memory_bytes, self._reclaim)
        self.unsent = UnsentAnswers(limits.unsent_bytes_max, client_log)
        self.descriptors = ClientDescriptors(clients_max, client_log)

    def add(self, reclaim: Callable[[], object]) -> None:
        """Let a node give back the memory of its idle connections when it runs short."""
        self._reclaims.append(reclaim)

    def remove(self, reclaim: Callable[[], object]) -> None:
        """Forget a node that has ended."""
        self._reclaims.remove(reclaim)

    def _reclaim(self) -> None:
        for reclaim in self._reclaims:
            reclaim()
