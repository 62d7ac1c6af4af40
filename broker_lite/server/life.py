"""One life of a broker, and what a test bench has to be to take part in it."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.coordinators.start import Coordinators
from broker_lite.control.replication.replica_manager import ReplicaManager
from broker_lite.control.telemetry.shared import SharedTelemetry
from broker_lite.server.nodes import Nodes
from broker_lite.server.orders import LastOrder
from broker_lite.server.seams import Seams

if TYPE_CHECKING:
    from broker_lite.server.security.certificate_faults import CertificateFaults


class Life(NamedTuple):
    """A running broker, from the content of its data directory on.

    Attributes:
        cluster: its metadata and logs.
        coordinators: of its groups and transactions.
        clock: that its timers see.
        nodes: of its cluster.
        replicas: of its partitions.
        certificates: faults of the certificates of its listeners; None if none speaks TLS.
        telemetry: what clients push of their own metrics.
        throttled_counts: of the requests of each node's clients, since the start.
        order: gives the order to stop, or to begin anew.
        address: HOST:PORT of the first listener of each node, separated by commas.
    """

    cluster: Cluster
    coordinators: Coordinators
    clock: Clock
    nodes: Nodes
    replicas: ReplicaManager
    certificates: "CertificateFaults | None"
    telemetry: SharedTelemetry
    throttled_counts: Callable[[], Mapping[int, int]]
    order: Callable[[LastOrder], None]
    address: str


class Bench(Protocol):
    """The test bench of a process, through all lives of its broker.

    Attributes:
        seams: where it takes part in requests and connections.
    """

    seams: Seams

    def open(self) -> None:
        """Open its own listener, if it has one.

        Raises:
            SettingsError: the address cannot be used.
        """

    async def run(self) -> None:
        """Serve its own listener until cancelled."""

    def begin(self, life: Life) -> None:
        """Take part in a life, whose clients are accepted now."""

    async def start_script(self) -> None:
        """Start its script in the first life.

        Raises:
            SettingsError: the script cannot run here.
        """

    def release_disk(self) -> None:
        """Let the disk work, as a life is about to end."""

    def end(self) -> None:
        """Let go of a life that ends."""

    def carry_out(self, line: bytes, reply: Callable[[str], None]) -> None:
        """Carry out a request that came as a line of JSON, and reply with one line, later."""

    def close(self) -> None:
        """Close the listener, and forget requests in progress."""
