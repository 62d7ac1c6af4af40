"""Decides on the requests of telemetry, as Kafka's ClientMetricsManager does.

Its checks come in Kafka's order. A check also changes what later ones see: that a push came in
time, or that it was the client's last one.

A difference to Kafka: a client may push one millisecond before its interval is over. Clients wait
by their own clock, and of two times that are rounded down, the difference can be one short.
"""

from collections.abc import Callable
from typing import Final

from broker_lite.control.telemetry.clients import (
    Identity,
    Instance,
    TelemetryClient,
    TelemetryClients,
    expiry_ms,
)
from broker_lite.control.telemetry.series import Pushed
from broker_lite.control.telemetry.subscription import Configured, Search, subscription_id
from broker_lite.errors import ErrorCode
from broker_lite.record.codecs.compression import Codec

NO_INSTANCE: Final = bytes(16)
_METADATA_TOPIC_ID: Final = bytes(15) + b"\x01"
RESERVED: Final = frozenset({NO_INSTANCE, _METADATA_TOPIC_ID})
"""The ids of instances that cannot push."""
_EARLY_MS_MAX: Final = 1
_ASK_AGAIN: Final = (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
"""Errors after which a client may ask for its subscription at once."""


class Telemetry:
    """The telemetry of all brokers of a process.

    Attributes:
        clients: that have taken part.
    """

    def __init__(self, configured: Configured, make_id: Callable[[], bytes]) -> None:
        """Begin without clients.

        Args:
            configured: the subscriptions.
            make_id: makes the id of a new instance.
        """
        self._configured = configured
        self._make_id = make_id
        self.clients = TelemetryClients()

    def instance_id(self, identity: Identity, asked: bytes) -> bytes:
        """Return the id that a client has asked by, or a new one if it does not have one yet."""
        if asked != NO_INSTANCE:
            return asked
        while self.clients.get(identity.node_id, new_id := self._make_id()) is not None:
            pass
        return new_id

    def search(self, identity: Identity, instance_id: bytes, now_ms: int) -> Search | None:
        """Return what finds out what a client is to push; None if that is known.

        Args:
            identity: who asks.
            instance_id: of the client.
            now_ms: milliseconds since the epoch that never go back.
        """
        client, instance = self._known(identity, instance_id, now_ms)
        if instance is not None and instance.version == self._configured.version:
            return None
        if client is not None and instance is not None:
            # who the client is counts from its first request on, until that has expired
            identity = client.identity
        return Search(self._configured, identity.attributes(instance_id))

    def subscribe(
        self, identity: Identity, instance_id: bytes, now_ms: int, search: Search | None
    ) -> tuple[ErrorCode, TelemetryClient]:
        """Return whether a client may know its subscription now, and the client.

        Args:
            identity: who asks.
            instance_id: of the client.
            now_ms: as in search().
            search: what search() has returned; it has ended.

        Rule: P-151 (ClientMetricsManager.processGetTelemetrySubscriptionRequest).
        """
        client, instance = self._client(identity, instance_id, now_ms, search)
        is_early = now_ms - max(instance.get_ms, instance.push_ms) < instance.wanted.interval_ms
        if not is_early:
            instance.get_ms = now_ms
        elif instance.last_error not in _ASK_AGAIN:
            return ErrorCode.THROTTLING_QUOTA_EXCEEDED, client
        instance.last_error = ErrorCode.NONE
        return ErrorCode.NONE, client

    def check_push(
        self,
        identity: Identity,
        instance_id: bytes,
        subscription: int,
        compression_type: int,
        size_bytes: int,
        now_ms: int,
        search: Search | None,
        *,
        is_terminating: bool,
        bytes_max: int,
    ) -> tuple[ErrorCode, TelemetryClient | None]:
        """Return whether a push is to be read, and its client; None if it names no instance.

        Args:
            identity: who pushes.
            instance_id: of the client.
            subscription: the id of its subscription.
            compression_type: the codec's id.
            size_bytes: of the metrics as they came.
            now_ms: as in search().
            search: as in subscribe().
            is_terminating: whether the client says that it is the last push.
            bytes_max: telemetry.max.bytes.

        Rule: P-154 (ClientMetricsManager.validatePushRequest).
        """
        if instance_id in RESERVED:
            return ErrorCode.INVALID_REQUEST, None
        client, instance = self._client(identity, instance_id, now_ms, search)
        error = ErrorCode.NONE
        if instance.is_terminating:
            error = ErrorCode.INVALID_REQUEST
        elif not _is_in_time(instance, now_ms) and not is_terminating:
            error = ErrorCode.THROTTLING_QUOTA_EXCEEDED
        elif subscription != instance.subscription_id:
            error = ErrorCode.UNKNOWN_SUBSCRIPTION_ID
        elif compression_type not in Codec.__members__.values():
            error = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        elif size_bytes > bytes_max:
            error = ErrorCode.TELEMETRY_TOO_LARGE
        instance.is_terminating = is_terminating
        instance.last_error = error
        if error is not ErrorCode.NONE:
            self.refuse(client, error)
        return error, client

    def take(
        self,
        client: TelemetryClient,
        pushed: Pushed,
        size_bytes: int,
        now_ms: int,
        *,
        is_terminating: bool,
    ) -> None:
        """Keep what is in a push that was checked; its connection may have ended since.

        Args:
            client: that has pushed.
            pushed: what was read.
            size_bytes: of the metrics as they came.
            now_ms: as in search().
            is_terminating: as in check_push().
        """
        client.pushes += 1
        client.pushed_bytes += size_bytes
        client.pushed_ms = now_ms
        client.is_ended = is_terminating
        client.take(pushed, now_ms)
        self.clients.used(client, now_ms)

    @staticmethod
    def refuse(client: TelemetryClient, error: ErrorCode) -> None:
        """Note that a push was refused."""
        client.refused += 1
        client.last_refusal = error
        if client.instance is not None:
            client.instance.last_error = error

    def _known(
        self, identity: Identity, instance_id: bytes, now_ms: int
    ) -> tuple[TelemetryClient | None, Instance | None]:
        """Return a client, and its instance unless that has expired; None for what is not there."""
        client = self.clients.get(identity.node_id, instance_id)
        instance = None if client is None else client.instance
        is_over = instance is not None and instance.expires_ms <= now_ms
        return client, None if is_over else instance

    def _client(
        self, identity: Identity, instance_id: bytes, now_ms: int, search: Search | None
    ) -> tuple[TelemetryClient, Instance]:
        """Return a client with its instance by the subscriptions that were searched.

        See: P-155 (ClientMetricsManager.clientInstance).
        """
        client, instance = self._known(identity, instance_id, now_ms)
        if search is not None and (instance is None or instance.version != search.version):
            if client is not None and instance is not None:
                identity = client.identity._replace(connection_id=identity.connection_id)
            wanted = search.wanted
            instance = Instance(subscription_id(wanted, instance_id), search.version, wanted)
            if client is None:
                client = TelemetryClient(instance_id, identity, wanted)
            client.tell(identity, wanted)
            client.instance = instance
            self.clients.connected(client)
        assert client is not None
        assert instance is not None
        instance.expires_ms = now_ms + expiry_ms(instance.wanted)
        self.clients.used(client, now_ms)
        return client, instance


def _is_in_time(instance: Instance, now_ms: int) -> bool:
    """Whether a push does not come too early, which is noted then.

    The first one after the client was told its subscription is always in time: clients vary the
    time between the two.
    """
    is_first = instance.get_ms > instance.push_ms
    passed_ms = now_ms - instance.push_ms
    in_time = is_first or passed_ms + _EARLY_MS_MAX >= instance.wanted.interval_ms
    if in_time:
        instance.push_ms = now_ms
    return in_time
