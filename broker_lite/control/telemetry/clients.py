"""The clients that take part in telemetry, and what is kept of them, within bounds.

A client is known by the id of its instance, to each broker by itself. As in Kafka, what a broker
knows of its pushes expires; what it has pushed is kept for longer, so that a test can look at a
client that has ended. The one unused for longest makes room.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from sys import getsizeof
from typing import Final, NamedTuple

from broker_lite.control.telemetry.series import Pushed, SeriesTable, labels_bytes
from broker_lite.control.telemetry.subscription import ATTRIBUTES, Wanted
from broker_lite.errors import ErrorCode
from broker_lite.log.files.checkpoints import format_uuid

CLIENTS_MAX: Final = 16_384
"""As many instances as a broker of Kafka keeps."""

HELD_BYTES_MAX: Final = 32 << 20
CLIENT_BYTES_MAX: Final = 4 << 20
KEPT_MS: Final = 3_600_000
_EXPIRY_MS_MIN: Final = 60_000
_EXPIRY_INTERVALS: Final = 3
_CLIENT_BYTES: Final = 1500


class Identity(NamedTuple):
    """Who sends a request, as far as telemetry is concerned.

    Attributes:
        node_id: the broker that is asked.
        client_id: of the header; empty if it has none.
        software_name: as ApiVersions told it, or unknown.
        software_version: the same.
        address: of the client, without its port.
        port: of the client.
        connection_id: of the connection.
    """

    node_id: int
    client_id: str
    software_name: str
    software_version: str
    address: str
    port: int
    connection_id: int

    def attributes(self, instance_id: bytes) -> Mapping[str, str]:
        """Return what a subscription can be about."""
        values = (shown_id(instance_id), *self[1:5], str(self.port))
        return dict(zip(ATTRIBUTES, values, strict=True))


class Instance:
    """What a broker goes by when it answers a client; made anew when subscriptions change.

    Attributes:
        subscription_id: that a push has to name.
        version: of the subscriptions that it was made from.
        wanted: what the client is to push.
        get_ms: when it last asked for its subscription and was not throttled; 0 for never.
        push_ms: the same of its last push.
        last_error: of the last answer, as far as Kafka remembers it.
        is_terminating: whether the client has said that this was its last push.
        expires_ms: when all this is forgotten, unless another request comes.
    """

    __slots__ = (
        "expires_ms",
        "get_ms",
        "is_terminating",
        "last_error",
        "push_ms",
        "subscription_id",
        "version",
        "wanted",
    )

    def __init__(self, subscription_id: int, version: int, wanted: Wanted) -> None:
        self.subscription_id = subscription_id
        self.version = version
        self.wanted = wanted
        self.get_ms = 0
        self.push_ms = 0
        self.last_error = ErrorCode.NONE
        self.is_terminating = False
        self.expires_ms = 0


class TelemetryClient:
    """One client of one broker, with all that is kept of it.

    Attributes:
        instance_id: 16 bytes.
        identity: who it was at its first request.
        instance: None once it has expired.
        wanted: what it is to push, as it was told last.
        series: what it has pushed.
        resource: what it says of itself, by its last push.
        pushes: how many pushes were taken.
        pushed_bytes: their size as they came.
        refused: how many pushes were refused.
        last_refusal: the error of the last of those; NONE if there is none.
        seen_ms: when its last request came, in milliseconds since the epoch.
        pushed_ms: when its last push was taken; None if there is none.
        is_ended: whether the last push said that no further one comes.
    """

    __slots__ = (
        "_resource_bytes",
        "_told_bytes",
        "identity",
        "instance",
        "instance_id",
        "is_ended",
        "last_refusal",
        "pushed_bytes",
        "pushed_ms",
        "pushes",
        "refused",
        "resource",
        "seen_ms",
        "series",
        "wanted",
    )

    def __init__(self, instance_id: bytes, identity: Identity, wanted: Wanted) -> None:
        self.instance_id = instance_id
        self.tell(identity, wanted)
        self.instance: Instance | None = None
        self.series = SeriesTable(CLIENT_BYTES_MAX)
        self.resource: Mapping[str, str] = {}
        self._resource_bytes = 0
        self.pushes = 0
        self.pushed_bytes = 0
        self.refused = 0
        self.last_refusal = ErrorCode.NONE
        self.seen_ms = 0
        self.pushed_ms: int | None = None
        self.is_ended = False

    @property
    def size_bytes(self) -> int:
        """About how much memory it takes."""
        return self._told_bytes + self._resource_bytes + self.series.size_bytes

    @property
    def key(self) -> tuple[int, bytes]:
        """The broker that knows it, and its id."""
        return self.identity.node_id, self.instance_id

    def tell(self, identity: Identity, wanted: Wanted) -> None:
        """Note who it is, and what it is told to push."""
        self.identity = identity
        self.wanted = wanted
        texts = (*identity[1:5], *wanted.metrics)
        self._told_bytes = _CLIENT_BYTES + sum(map(getsizeof, texts))

    def is_recent(self, now_ms: int) -> bool:
        """Whether its last request is not longer ago than an instance lasts, connected or not."""
        return now_ms - self.seen_ms < expiry_ms(self.wanted)

    def take(self, pushed: Pushed, now_ms: int) -> None:
        """Keep the values of a push."""
        self.resource = pushed.resource
        self._resource_bytes = labels_bytes(self.resource.items())
        self.series.add(pushed, now_ms)


class TelemetryClients:
    """All clients of a process, those that were unused for longest first."""

    def __init__(self) -> None:
        """Begin with none."""
        self._clients: OrderedDict[tuple[int, bytes], TelemetryClient] = OrderedDict()
        self._sizes: dict[tuple[int, bytes], int] = {}
        self._held_bytes = 0
        # what each connection has made last, by its key: one that made room is not to be kept here
        self._by_connection: dict[int, tuple[int, bytes]] = {}

    def __iter__(self) -> Iterator[TelemetryClient]:
        return iter([*self._clients.values()])

    def __len__(self) -> int:
        return len(self._clients)

    def get(self, node_id: int, instance_id: bytes) -> TelemetryClient | None:
        """Return a client; None if it is not known."""
        return self._clients.get((node_id, instance_id))

    def used(self, client: TelemetryClient, now_ms: int) -> None:
        """Note that a client has sent a request, or that what is kept of it has grown.

        Rule: P-155.
        """
        key = client.key
        client.seen_ms = now_ms
        self._clients[key] = client
        self._clients.move_to_end(key)
        size_bytes = client.size_bytes
        self._held_bytes += size_bytes - self._sizes.get(key, 0)
        self._sizes[key] = size_bytes
        self._make_room(now_ms)

    def connected(self, client: TelemetryClient) -> None:
        """Note that the instance of a client was made by a request of its connection."""
        made = self._by_connection
        made.pop(client.identity.connection_id, None)
        made[client.identity.connection_id] = client.key
        if len(made) > CLIENTS_MAX:  # those of other processes' connections are never taken away
            del made[next(iter(made))]

    def disconnected(self, connection_id: int) -> None:
        """Forget the instance that a connection has made last, now that it is closed.

        See: P-155 (ClientConnectionDisconnectListener).
        """
        key = self._by_connection.pop(connection_id, None)
        client = None if key is None else self._clients.get(key)
        if client is not None and client.identity.connection_id == connection_id:
            client.instance = None

    def clear(self) -> None:
        """Forget all clients."""
        self._by_connection.clear()
        self._clients.clear()
        self._sizes.clear()
        self._held_bytes = 0

    def _make_room(self, now_ms: int) -> None:
        while len(self._clients) > 1 and (
            len(self._clients) > CLIENTS_MAX
            or self._held_bytes > HELD_BYTES_MAX
            or self._is_over(next(iter(self._clients.values())), now_ms)
        ):
            key, _ = self._clients.popitem(last=False)
            self._held_bytes -= self._sizes.pop(key)

    @staticmethod
    def _is_over(client: TelemetryClient, now_ms: int) -> bool:
        return now_ms - client.seen_ms > KEPT_MS


def expiry_ms(wanted: Wanted) -> int:
    """Return for how long an instance lasts without a request.

    See: P-155.
    """
    return max(_EXPIRY_MS_MIN, _EXPIRY_INTERVALS * wanted.interval_ms)


def shown_id(instance_id: bytes) -> str:
    """Return the id of an instance as Kafka writes it: 22 characters."""
    return format_uuid(instance_id)
