"""The telemetry that all brokers of a process share; made when the first client asks for it.

A broker whose clients push nothing does not import it.
"""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from broker_lite.control.telemetry.telemetry import Telemetry

_CLIENT_METRICS: Final = 16


class Configs(Protocol):
    """The cluster, as far as telemetry is concerned."""

    @property
    def client_metrics_changes(self) -> int:
        """How often the configs of subscriptions have changed."""

    def configured(self, resource_type: int) -> list[str]:
        """Return the names of the resources of a type that have configs."""

    def configs(self, resource_type: int, resource_name: str) -> Mapping[str, str]:
        """Return the configs of a resource."""

    def make_id(self) -> bytes:
        """Return a new random id."""


class SharedTelemetry:
    """Makes the telemetry of a process when it is first needed.

    Attributes:
        begun: None as long as no client has asked for it.
    """

    __slots__ = ("_cluster", "begun")

    def __init__(self, cluster: Configs) -> None:
        """Make nothing yet."""
        self._cluster = cluster
        self.begun: Telemetry | None = None

    def get(self) -> "Telemetry":
        """Return the telemetry."""
        if self.begun is None:
            from broker_lite.control.telemetry.subscription import Configured
            from broker_lite.control.telemetry.telemetry import Telemetry

            cluster = self._cluster
            configured = Configured(
                lambda: cluster.client_metrics_changes,
                partial(cluster.configured, _CLIENT_METRICS),
                partial(cluster.configs, _CLIENT_METRICS),
            )
            self.begun = Telemetry(configured, cluster.make_id)
        return self.begun

    def disconnected(self, connection_id: int) -> None:
        """Note that a client's connection has ended."""
        if self.begun is not None:
            self.begun.clients.disconnected(connection_id)
