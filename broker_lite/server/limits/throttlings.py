"""Makes what measures and throttles the clients of a node, and limits their connections."""

from typing import Final, cast

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.quotas.mutations import Mutations
from broker_lite.control.quotas.node_quotas import NodeQuotas
from broker_lite.control.quotas.rates import Windows
from broker_lite.control.quotas.source import QuotaSource
from broker_lite.handler.throttling import NodeThrottling
from broker_lite.server.limits.connection_rates import ConnectionRates, Rates
from broker_lite.server.limits.node_limits import CREATION_RATE
from broker_lite.settings.listeners import parse_listeners

_MS_PER_S: Final = 1000


def mutations_of(cluster: Cluster, clock: Clock) -> Mutations:
    """Return the buckets of the cluster's controller, by the settings of the first node."""
    settings = cluster.settings_of(cluster.node_id)
    windows = Windows(
        settings.controller_quota_window_num,
        settings.controller_quota_window_size_seconds * _MS_PER_S,
    )
    return Mutations(_source(cluster, clock), windows)


def throttling_of(
    cluster: Cluster, node_id: int, clock: Clock, mutations: Mutations
) -> NodeThrottling:
    """Return what throttles the clients of a node."""
    quotas = NodeQuotas(_source(cluster, clock), _windows(cluster, node_id), mutations)
    return NodeThrottling(quotas)


def connection_rates_of(cluster: Cluster, node_id: int, clock: Clock) -> ConnectionRates:
    """Return what limits the connections of a node, by its current settings.

    The clock is the one that also runs while the broker's stands still: a client that waits to be
    served waits for the machine.
    """

    def rates_of(listener: str) -> Rates:
        settings = cluster.settings_of(node_id)
        of_listener = settings.value_for_listener(listener, CREATION_RATE)
        return Rates(settings.max_connection_creation_rate, cast(int, of_listener))

    settings = cluster.settings_of(node_id)
    names = [listener.name for listener in parse_listeners(settings)]
    own = settings.inter_broker_listener_name or settings.security_inter_broker_protocol
    source = _source(cluster, clock)._replace(now_ms=clock.unfrozen_ms)
    protected = own if len(names) > 1 else None
    return ConnectionRates(source, _windows(cluster, node_id), rates_of, protected)


def _windows(cluster: Cluster, node_id: int) -> Windows:
    settings = cluster.settings_of(node_id)
    return Windows(settings.quota_window_num, settings.quota_window_size_seconds * _MS_PER_S)


def _source(cluster: Cluster, clock: Clock) -> QuotaSource:
    return QuotaSource(
        cluster.client_quotas,
        cluster.quota_counts,
        lambda: cluster.quota_changes,
        clock.monotonic_ms,
    )
