"""Makes the nodes of a process: what they share, and what each has to itself."""

import os
from collections.abc import Callable, Container, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.coordinators.start import Coordinators
from broker_lite.control.telemetry.shared import SharedTelemetry
from broker_lite.errors import SettingsError
from broker_lite.handler.context import Api, HandlerContext, ListenerInfo
from broker_lite.handler.encoded_topics import EncodedTopics
from broker_lite.handler.fetch.session import FetchSessionCache
from broker_lite.handler.lane import Lane
from broker_lite.handler.offered import offered
from broker_lite.log.files.file_cache import default_open_max
from broker_lite.rate_limited_log import RateLimitedLog
from broker_lite.server.gateway import as_seen_from
from broker_lite.server.limits.client_shares import ClientShares
from broker_lite.server.limits.descriptors import clients_max
from broker_lite.server.limits.node_limits import CurrentLimits, has_rate, limits_of
from broker_lite.server.listener import Listeners
from broker_lite.server.node import Node
from broker_lite.server.seams import Seams
from broker_lite.server.upkeep.pauses import Pauses
from broker_lite.settings import Settings
from broker_lite.settings.listeners import WITH_SASL, WITH_TLS, parse_listeners

if TYPE_CHECKING:
    from broker_lite.control.quotas.mutations import Mutations
    from broker_lite.handler.throttling import NodeThrottling
    from broker_lite.security.acls.authorizer import Authorizer
    from broker_lite.security.sasl.exchange import SaslRules
    from broker_lite.security.sasl.scram import Credential
    from broker_lite.security.sasl.token_rules import KeyPlace, KeySource
    from broker_lite.server.limits.connection_rates import ConnectionRates
    from broker_lite.server.security.certificate_faults import CertificateFaults
    from broker_lite.server.security.key_stores import KeyStores
    from broker_lite.settings.declared.one_word_settings import CertificateFault

_FAULT: Final = "broker.lite.security.fault"
_OF_ADDRESSES: Final = ("connection_creation_rate", ("ip",))

_BETWEEN_BROKERS: Final = ListenerInfo("")

FindListener = Callable[[int, str], ListenerInfo | None]
"""Finds the listener of a node by the node's id and the listener's name."""


class _NodeParts(NamedTuple):
    """What the contexts of a node's connections have in common."""

    node_id: int
    apis: Mapping[int, Api]
    fetch_sessions: FetchSessionCache
    authorizer: "Authorizer | None"


class NodeMaker:
    """Makes nodes, which share what their clients may hold.

    Attributes:
        find_listener: finds the listeners of other nodes; set before the first client comes.
        has_siblings: whether there are other nodes.
        serve: changes the table of the APIs that are offered; set before the first node is made.
        certificates: faults of the certificates; None without a TLS listener.
        telemetry: what clients push of their own metrics.
    """

    def __init__(
        self, cluster: Cluster, coordinators: Coordinators, clock: Clock, seams: Seams
    ) -> None:
        """Make what the nodes share.

        Args:
            cluster: open.
            coordinators: of the cluster.
            clock: the cluster's.
            seams: where the test bench may take part.

        Raises:
            SettingsError: a TLS or SASL listener cannot be served; one line without a secret.
        """
        self._seams = seams
        self._cluster = cluster
        self._coordinators = coordinators
        self._clock = clock
        self._client_log = RateLimitedLog(clock.monotonic_ms)
        limits = limits_of(cluster.settings)
        open_max = cluster.settings.broker_lite_open_files_max or default_open_max()
        self._shares = ClientShares(limits, clients_max(open_max), self._client_log)
        self._lane = Lane()
        self._encoded_topics = EncodedTopics()
        self.telemetry = SharedTelemetry(cluster)
        self._pauses = Pauses(clock)
        self._nodes: dict[int, Node] = {}
        self._other_parts: dict[int, _NodeParts] = {}
        self._throttlings: dict[int, NodeThrottling] = {}
        self._mutations: Mutations | None = None
        self._rates: dict[int, ConnectionRates] = {}
        cluster.watchers.quotas_changed = self._quotas_changed
        # A store is read once: a node that comes back must not keep the others waiting.
        self._key_stores = self._read_key_stores()
        self.certificates = self._certificate_faults(cluster.settings.broker_lite_security_fault)
        self._key_sources: dict[KeyPlace, KeySource] = {}
        # Before the first listener opens, so that a wrong setting is told in one line.
        self._sasl = {
            node_id: self._sasl_rules(cluster.settings_of(node_id)) for node_id in cluster.node_ids
        }
        self.find_listener: FindListener = lambda _node_id, _name: None
        self.has_siblings = len(cluster.all_node_ids) > 1
        self.serve: Callable[[Mapping[int, Api]], Mapping[int, Api]] = lambda apis: apis

    def make(self, node_id: int, listeners: Listeners) -> Node:
        """Make the node of one broker; Node.run() accepts its clients."""
        cluster = self._cluster
        get_settings = partial(cluster.settings_of, node_id)
        sasl = self._sasl[node_id]
        key_stores = self._key_stores.get(node_id)
        parts = self._parts_of(node_id)

        def make_context(
            *,
            listener: ListenerInfo,
            local_address: tuple[str, int],
            client_address: tuple[str, int],
        ) -> HandlerContext:
            return self._make_context(
                parts,
                listener=as_seen_from(client_address[0], listener),
                local_address=local_address,
                client_address=client_address,
                connection_id=self._seams.next_connection_id(),
                sasl=sasl.get(listener.name),
                key_stores=key_stores,
            )

        node = self._nodes[node_id] = Node(
            listeners=listeners,
            apis=parts.apis,
            make_context=make_context,
            get_limits=CurrentLimits(get_settings),
            clock=self._clock,
            client_log=self._client_log,
            shares=self._shares,
            gate=partial(self._seams.admits, node_id),
            get_rates=partial(self._connection_rates, node_id),
            pauses=self._pauses,
            tls=None if key_stores is None else key_stores.listeners,
        )
        return node

    def context_of(
        self,
        node_id: int,
        *,
        listener: ListenerInfo | None,
        local_address: tuple[str, int],
        client_address: tuple[str, int],
        connection_id: int,
    ) -> HandlerContext:
        """Make the context of a request that another process of the cluster passes on.

        Args:
            node_id: the broker that is asked.
            listener: where a client has connected to the broker, as the client sees it; None for a
                request of another broker, which may do everything.
            local_address: of the connection.
            client_address: of the client.
            connection_id: of the connection.
        """
        parts = self._other_parts.get(node_id)
        if parts is None:
            parts = self._other_parts[node_id] = self._parts_of(node_id)
        if listener is None:
            listener, parts = _BETWEEN_BROKERS, parts._replace(authorizer=None)
        return self._make_context(
            parts,
            listener=listener,
            local_address=local_address,
            client_address=client_address,
            connection_id=connection_id,
        )

    def _parts_of(self, node_id: int) -> "_NodeParts":
        settings = self._cluster.settings_of(node_id)
        authorizer = self._authorizer(settings)
        has_unstable = settings.unstable_api_versions_enable
        apis = self.serve(offered(settings.emulate, has_unstable=has_unstable))
        return _NodeParts(node_id, apis, self._fetch_sessions(), authorizer)

    def _make_context(
        self,
        parts: "_NodeParts",
        *,
        listener: ListenerInfo,
        local_address: tuple[str, int],
        client_address: tuple[str, int],
        connection_id: int,
        sasl: "SaslRules | None" = None,
        key_stores: "KeyStores | None" = None,
    ) -> HandlerContext:
        node_id = parts.node_id
        return HandlerContext(
            cluster=self._cluster,
            groups=self._coordinators.groups,
            transactions=self._coordinators.transactions,
            clock=self._clock,
            client_log=self._client_log,
            settings=self._cluster.settings_of(node_id),
            apis=parts.apis,
            listener=listener,
            local_address=local_address,
            client_address=client_address,
            fetch_sessions=parts.fetch_sessions,
            lane=self._lane,
            encoded_topics=self._encoded_topics,
            telemetry=self.telemetry,
            hooks=self._seams.hooks,
            connection_id=connection_id,
            node_id=node_id,
            sibling=self._sibling_of(client_address[0], listener.name),
            sasl=sasl,
            authorizer=parts.authorizer,
            quotas=self._throttling_of(node_id),
            key_stores=key_stores,
        )

    def _fetch_sessions(self) -> FetchSessionCache:
        settings = self._cluster.settings
        return FetchSessionCache(
            settings.max_incremental_fetch_session_cache_slots,
            settings.broker_lite_fetch_sessions_max_bytes // len(self._cluster.node_ids),
        )

    def _quotas_changed(self) -> None:
        """Let requests be measured from now on, or no longer."""
        for node_id, node in self._nodes.items():
            throttling = self._throttling_of(node_id)
            for connection in node.connections:
                connection.context.quotas = throttling

    def _throttling_of(self, node_id: int) -> "NodeThrottling | None":
        """Return what measures the requests of a node's clients; None while nobody has a quota."""
        if not self._cluster.client_quotas:
            return None
        throttling = self._throttlings.get(node_id)
        if throttling is None:
            # A broker without quotas does not import them.
            from broker_lite.server.limits.throttlings import mutations_of, throttling_of

            if self._mutations is None:
                self._mutations = mutations_of(self._cluster, self._clock)
            throttling = throttling_of(self._cluster, node_id, self._clock, self._mutations)
            self._throttlings[node_id] = throttling
        return throttling

    def throttled_counts(self) -> dict[int, int]:
        """Return how many requests each node has throttled since the start."""
        counts = dict.fromkeys(self._cluster.node_ids, 0)
        for node_id, each in self._throttlings.items():
            counts[node_id] = each.quotas.throttled_count
        return counts

    def _connection_rates(self, node_id: int) -> "ConnectionRates | None":
        """Return what limits the connections per second of a node; None while nothing does."""
        cluster = self._cluster
        if not (cluster.quota_counts.get(_OF_ADDRESSES) or has_rate(cluster.settings_of(node_id))):
            return None
        rates = self._rates.get(node_id)
        if rates is None:
            # A broker without quotas does not import them.
            from broker_lite.server.limits.throttlings import connection_rates_of

            rates = self._rates[node_id] = connection_rates_of(cluster, node_id, self._clock)
        return rates

    def _read_key_stores(self) -> "Mapping[int, KeyStores]":
        """Return the key stores of the TLS listeners of each node, by node id."""
        settings_of = {
            node_id: self._cluster.settings_of(node_id) for node_id in self._cluster.node_ids
        }
        if not any(_names(settings, WITH_TLS) for settings in settings_of.values()):
            return {}
        # A start without TLS would take 4 ms longer.
        from broker_lite.server.security.hand_shakes import Turns
        from broker_lite.server.security.key_stores import KeyStores
        from broker_lite.server.security.tls_listeners import tls_listeners

        turns = Turns()
        return {
            node_id: KeyStores(tls_listeners(own, turns), self._client_log)
            for node_id, own in settings_of.items()
        }

    def _certificate_faults(self, at_start: str) -> "CertificateFaults | None":
        """Return what changes the certificates of the TLS listeners; None if there are none.

        Args:
            at_start: the fault that they have from the start on; empty for none.

        Raises:
            SettingsError: there is no certificate that could have it, or it cannot be made.
        """
        if not self._key_stores:
            if at_start:
                origin = self._cluster.settings.origin_of(_FAULT)
                raise SettingsError(
                    f"{origin}: {_FAULT} is about a certificate, and no listener speaks TLS"
                )
            return None
        from broker_lite.server.security.certificate_faults import CertificateFaults

        listeners = {node_id: each.listeners for node_id, each in self._key_stores.items()}
        data_dir = Path(self._cluster.logs.data_dir)
        faults = CertificateFaults(listeners, self._cluster.settings_of, data_dir)
        if at_start:
            faults.begin(cast("CertificateFault", at_start))
        return faults

    def _sasl_rules(self, settings: Settings) -> "Mapping[str, SaslRules]":
        """Return how clients of each SASL listener authenticate, by the listener's name.

        Raises:
            SettingsError: a mechanism or its users cannot be used.
        """
        names = _names(settings, WITH_SASL)
        if not names:
            return {}
        # A start without SASL would take 4 ms longer.
        from broker_lite.security.sasl.listener_rules import Sources, sasl_rules
        from broker_lite.security.sasl.scram import TokenCredential

        cluster = self._cluster

        def find(user: str, mechanism: int) -> "Credential | None":
            return cluster.scram_credentials.get((user, mechanism))

        def find_token(token_id: str, mechanism: str) -> TokenCredential | None:
            tokens, secret = cluster.delegation_tokens, cluster.settings.delegation_token_secret_key
            token = None if secret is None else tokens.by_id.get(token_id)
            if token is None or secret is None:
                return None
            credential = tokens.credential(secret, token_id, mechanism, os.urandom)
            assert credential is not None
            return TokenCredential(credential, token.owner.name, token.expiry_ms)

        sources = Sources(find, find_token, os.urandom, self._open_keys)
        return {name: sasl_rules(settings, name, sources) for name in names}

    def _open_keys(self, place: "KeyPlace") -> "KeySource":
        """Return the source of keys of signed tokens; nodes and listeners share it.

        Raises:
            SettingsError: there will be none.
        """
        from broker_lite.server.security.key_sources import open_keys  # few brokers need it

        source = self._key_sources.get(place)
        if source is None:
            source = self._key_sources[place] = open_keys(place)
        return source

    def _authorizer(self, settings: Settings) -> "Authorizer | None":
        """Return what decides about the rights of a node's clients; None for no such thing.

        Raises:
            SettingsError: a super user is not written as one.
        """
        if not settings.authorizer_class_name:
            return None
        from broker_lite.security.acls.authorizer_rules import authorizer_of

        return authorizer_of(settings, self._cluster.acls.index())

    def _sibling_of(
        self, client_host: str, name: str
    ) -> Callable[[int], ListenerInfo | None] | None:
        """Return what finds the listeners of this name of other nodes; None if there are none."""
        if not self.has_siblings:
            return None
        return partial(self._sibling, client_host, name)

    def _sibling(self, client_host: str, name: str, node_id: int) -> ListenerInfo | None:
        """Return the listener of a node as a client sees it."""
        info = self.find_listener(node_id, name)
        return None if info is None else as_seen_from(client_host, info)


def _names(settings: Settings, protocols: Container[str]) -> list[str]:
    """Return the names of the listeners of some protocols."""
    return [one.name for one in parse_listeners(settings) if one.security_protocol in protocols]
