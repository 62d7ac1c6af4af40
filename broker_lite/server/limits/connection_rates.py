"""How many connections a node takes per second: altogether, at each listener, from each address.

At a listener that is above its rate, or the node's, the next client is served later, and those
behind it wait in the backlog. A client whose address is above its quota is not served: its
connection is closed after the throttle time (KIP-612).

A difference to Kafka: a connection counts only while there is a limit for it. Kafka counts all, so
that a new limit looks back at the last windows.

A difference to Kafka: a quota of an IP entity that is the name of a host has no effect. Kafka looks
up its address when the quota is set, and at the start.
"""

import ipaddress
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from broker_lite.control.quotas.levels import UNLIMITED, Share
from broker_lite.control.quotas.measured import Measured
from broker_lite.control.quotas.rates import SampledRate, Windows
from broker_lite.control.quotas.source import CONNECTION, QuotaSource
from broker_lite.control.users.quota_rules import IP
from broker_lite.server.limits.node_limits import NO_LIMIT

_DEFAULT: Final = ((IP, None),)


class IpQuotas:
    """The quotas of addresses; for Measured, whose clients are addresses here."""

    def __init__(self, source: QuotaSource) -> None:
        """Look at the quotas of the cluster, which may change."""
        self._source = source
        self._version = -1
        self._by_address: Mapping[str, float] = {}

    @property
    def has_any(self) -> bool:
        """Whether any address has a quota."""
        return bool(self._source.counts.get((CONNECTION, (IP,))))

    def share_of(self, user: str, client_id: str) -> Share:
        """Return with whom an address shares its rate: nobody."""
        return Share(user, client_id)

    def limit_of(self, share: Share) -> float:
        """Return the quota of an address: its own, or else the default one."""
        version = self._source.version()
        if self._version != version:
            self._version = version
            self._by_address = dict(self._read())
        found = self._by_address.get(share.client_id)
        if found is None:
            found = self._source.quotas.get(_DEFAULT, {}).get(CONNECTION)
        return UNLIMITED if found is None else found

    def _read(self) -> list[tuple[str, float]]:
        return [
            (plain_ip(entity[0][1]), values[CONNECTION])
            for entity, values in self._source.quotas.items()
            if entity[0][0] == IP and entity[0][1] is not None and CONNECTION in values
        ]


def plain_ip(text: str) -> str:
    """Return an address in its usual form; the name of a host stays as it is."""
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return text


class Rates(NamedTuple):
    """The limits of connections per second at a time.

    Attributes:
        of_node: max.connection.creation.rate of the node; NO_LIMIT for none.
        of_listener: the same for one of its listeners.
    """

    of_node: int
    of_listener: int


class ConnectionRates:
    """What a node has accepted lately.

    Rule: X-90, X-91 (ConnectionQuotas).
    """

    def __init__(
        self,
        source: QuotaSource,
        windows: Windows,
        rates_of: Callable[[str], Rates],
        protected: str | None = None,
    ) -> None:
        """Begin with nothing accepted.

        Args:
            source: of the quotas.
            windows: of quota.window.num and quota.window.size.seconds.
            rates_of: returns the current limits by a listener's name.
            protected: the listener of brokers, if there are others: the node's limit does not
                count there.
        """
        self._source = source
        self._version = source.version()
        self._windows = windows
        self._rates_of = rates_of
        self._protected = protected
        self._node = SampledRate()
        self._listeners: dict[str, SampledRate] = {}
        self._addresses = Measured(IpQuotas(source), SampledRate)

    def delay_ms(self, listener: str) -> int:
        """Count a connection; return for how long it has to wait until it is served."""
        rates = self._rates_of(listener)
        delay_ms = 0
        if listener != self._protected:
            delay_ms = self._record(self._node, rates.of_node)
        own = self._listeners.setdefault(listener, SampledRate())
        return max(delay_ms, self._record(own, rates.of_listener))

    def _record(self, rate: SampledRate, limit: int) -> int:
        if limit == NO_LIMIT:
            return 0
        now_ms = self._source.now_ms()
        rate.record(1.0, self._windows, now_ms)
        # Kafka divides by a limit of 0, and bounds what it gets
        over_ms = rate.throttle_ms(limit or 1e-9, self._windows, now_ms)
        return min(over_ms, self._windows.window_ms)

    def throttle_ms(self, ip: str, listener: str) -> int:
        """Count a connection from an address; return after how long it is to be closed.

        Returns:
            0 if it is served. Otherwise it counts nowhere.
        """
        if not self._addresses.is_on:
            return 0
        version = self._source.version()
        if self._version != version:
            self._version = version
            self._addresses.forget_limits()
        now_ms = self._source.now_ms()
        rate, quota = self._addresses.of("", plain_ip(ip), now_ms)
        if quota >= NO_LIMIT:
            return 0
        rate.record(1.0, self._windows, now_ms)
        over_ms = min(rate.throttle_ms(quota, self._windows, now_ms), self._windows.window_ms)
        if over_ms <= 0:
            return 0
        rate.record(-1.0, self._windows, now_ms)
        rates = self._rates_of(listener)
        if listener != self._protected and rates.of_node != NO_LIMIT:
            self._node.record(-1.0, self._windows, now_ms)
        if rates.of_listener != NO_LIMIT:
            self._listeners.setdefault(listener, SampledRate()).record(-1.0, self._windows, now_ms)
        return over_ms
