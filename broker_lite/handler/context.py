"""What a handler is given and what it gives back.

A handler is `async def handle(context, request) -> Parts | None`: the response body as parts, or
None for no answer (acks=0). It raises CloseConnection to close the connection instead of answering.
Where most requests need no wait, an API also has `begin`, a plain function that does the same
without a task, or does a part and returns what is left to do.
`request.body` is a view into the connection's receive buffer: it is valid, and nobody else writes
to it, until the handler has returned. A handler copies the bytes that it keeps for longer.

If the client goes away while its handler waits, the handler is cancelled. Work that must be
finished all the same is shielded (anyio.CancelScope(shield=True)).
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from broker_lite.control.telemetry.shared import SharedTelemetry
from broker_lite.errors import ErrorCode, Why
from broker_lite.handler.encoded_topics import EncodedTopics
from broker_lite.protocol.framing import Request
from broker_lite.record.stopping import Stop
from broker_lite.security.principal import ANONYMOUS, Principal
from broker_lite.stopwatch import Stopwatch

if TYPE_CHECKING:
    from broker_lite.control.clock import Clock
    from broker_lite.control.cluster.cluster import Cluster
    from broker_lite.control.cluster.stale_view import MetadataView
    from broker_lite.control.coordinators.group_service import Groups
    from broker_lite.control.coordinators.transaction_service import Transactions
    from broker_lite.control.quotas.request_quota import RequestQuota
    from broker_lite.control.topics.slow_topics import Passage
    from broker_lite.handler.fetch.session import FetchSessionCache
    from broker_lite.handler.lane import Lane
    from broker_lite.log.files.open_file import FileSlice
    from broker_lite.log.validate.validated import ValidationConfig
    from broker_lite.rate_limited_log import RateLimitedLog
    from broker_lite.security.acls.authorizer import Authorizer
    from broker_lite.security.sasl.exchange import SaslRules
    from broker_lite.settings import Settings
    from broker_lite.wire.produce import PartitionKey

__all__ = [
    "Api",
    "Begin",
    "CloseConnection",
    "Handler",
    "HandlerContext",
    "Hook",
    "Hooks",
    "KeyStores",
    "ListenerInfo",
    "MutedAnswer",
    "Parts",
    "Request",
    "Rest",
    "Throttling",
    "Wire",
    "WireAnswer",
]

Parts: TypeAlias = list["bytes | FileSlice"]
"""A response body: bytes and ranges of files, in the order in which they leave."""

Handler: TypeAlias = "Callable[[HandlerContext, Request], Awaitable[Parts | None]]"

Rest: TypeAlias = Callable[[], Awaitable["Parts | None"]]
"""What is left to do of a request that has begun: to be called once, in the connection's task."""

Begin: TypeAlias = "Callable[[HandlerContext, Request], Parts | Rest | None]"
"""Answers a request if nothing has to be waited for; else returns the rest, None for all of it."""


class CloseConnection(Exception):
    """Close the connection without a response. The text says why; it is written to the log.

    See: P-07, P-08, P-10.
    """


class Api(NamedTuple):
    """One row of the API table: the versions that are served, and the handler that serves them.

    `min_version` and `max_version` are both inclusive. `flexible_from` is the first flexible
    version, NEVER_FLEXIBLE if there is none (P-44). `begin` does what `handle` does, see Begin.
    """

    name: str
    min_version: int
    max_version: int
    flexible_from: int
    handle: Handler
    begin: "Begin | None" = None


class WireAnswer(list["bytes | FileSlice"]):
    """An answer that leaves in another way than as one frame, because of a fault.

    `leave` sends it, with all its frames, and may raise CloseConnection. Its list is empty.
    """

    def __init__(self, leave: "Callable[[Wire], Awaitable[None]]") -> None:
        super().__init__()
        self.leave = leave


class MutedAnswer(list["bytes | FileSlice"]):
    """An answer that leaves at once, after which nothing is read from the client for some time.

    Attributes:
        has_parts: whether there is an answer; its parts are those of this list.
        until_ms: when the time is over, by the broker's clock.
    """

    def __init__(self, parts: "Parts | None", until_ms: int) -> None:
        super().__init__(parts or ())
        self.has_parts = parts is not None
        self.until_ms = until_ms


class Wire(Protocol):
    """The way from this broker to a client, byte by byte; see WireAnswer."""

    async def send(self, data: bytes) -> None:
        """Send bytes as they are.

        Raises:
            OSError: the connection is lost.
        """

    def reset(self) -> None:
        """Let the close of the connection be a reset (RST), which loses what was not yet read."""


class Hook(Protocol):
    """A function that is called around the handler of an API: faults, the request journal.

    It may await `handle(context, request)`, or answer without the handler. It returns the parts
    that are sent, or a WireAnswer.
    """

    def __call__(
        self, context: "HandlerContext", request: Request, handle: Handler, /
    ) -> Awaitable[Parts | None]:
        """Answer the request, by calling the handler or without it."""


class RefusedPartition(NamedTuple):
    """A partition of a Produce that was refused, and what it was judged by.

    Attributes:
        code: of the answer.
        why: the broken rule and the facts.
        config: of the topic at that time; None if there is no such topic.
    """

    code: ErrorCode
    why: Why
    config: "ValidationConfig | None"


RefusedPartitions: TypeAlias = "Mapping[PartitionKey, RefusedPartition]"
"""By the topic's name or id, as it is in the request, and the partition."""

KeepRefused: TypeAlias = (
    "Callable[[HandlerContext, Request, ErrorCode, Why, RefusedPartitions], str]"
)


class Hooks(dict[int, Hook]):
    """Hooks by API key.

    Attributes:
        may_wait: whether that of Produce may wait for longer than its handler. No answer is kept
            back then to leave together with the next one.
        keep_refused: keeps a request that is refused, with the error, the reason, and the refused
            partitions of a Produce, which may still become more; returns the id by which it can be
            asked for. None where nobody asks.
    """

    may_wait = False
    keep_refused: "KeepRefused | None" = None


class Throttling(Protocol):
    """Handles the requests of a node's clients while there are quotas."""

    def handle(
        self, context: "HandlerContext", request: Request, handle: Handler, hook: "Hook | None", /
    ) -> Awaitable[Parts | None]:
        """Call the handler inside the hook; the answer of a throttled client is a MutedAnswer."""


class KeyStores(Protocol):
    """The key stores of the TLS listeners of a broker.

    Attributes:
        turn: held by who changes configs of the broker, from the check on to the change.
    """

    @property
    def turn(self) -> "AbstractAsyncContextManager[object]":
        """See above."""

    async def read(
        self, before: "Settings", after: "Settings", *, may_reload: bool
    ) -> Callable[[], None]:
        """Read the stores that a change of settings is about.

        Args:
            before: the current settings.
            after: those after the change.
            may_reload: whether files that have changed are read, too, where no setting has.

        Returns:
            What puts them into use, for new connections.

        Raises:
            InvalidRequest: one cannot be used, or must not take the place of the old one.
        """


Renew: TypeAlias = "Callable[[HandlerContext, Request], Awaitable[tuple[Parts | None, str] | None]]"


class ListenerInfo(NamedTuple):
    """The listener on which a connection came in.

    Without an advertised address, the one at which the client's connection arrived is given to it.
    `bound_port` is where the socket listens.
    With a gateway's one, clients that come through the default gateway are given that.
    """

    name: str
    security_protocol: str = "PLAINTEXT"
    advertised_host: str | None = None
    advertised_port: int | None = None
    bound_port: int = 0
    gateway_host: str | None = None
    gateway_port: int | None = None

    def through_gateway(self) -> "ListenerInfo":
        """Return this listener as clients see it that come through the default gateway."""
        return self._replace(advertised_host=self.gateway_host, advertised_port=self.gateway_port)


class HandlerContext:
    """What the handlers of one connection know. Each connection has one, for as long as it lives.

    `node_id` is the broker that the client talks to. `sibling` finds the listener of the same name
    of another broker of this process, as this client sees it; None where there is none.
    `apis` is the table as offered on this listener (P-56). `hooks` are the process's hooks by API
    key: they may change while connections are open, and mostly there are none.
    `connection_id` counts the connections of the process from 1 on. `software` is the name and the
    version of the client's software, as its ApiVersions request told them (KIP-511).
    `principal` is who the client is. `sasl` is how it has to authenticate before the first request,
    None where it does not. Once it has done so, `renew` is called with each request, and answers
    those by which it authenticates again: the answer and why the connection ends after it, or None.
    `authorizer` decides what the client may do; None where everybody may do everything. Handlers
    ask it by the functions of `handler/authorized.py`.
    While any client has a quota, `quotas` handles the requests, and `quota` is that of the request
    in progress; both are None otherwise.
    `client_log` takes the log lines that a client can cause as often as it likes; the whole node
    has one. In `lane`, large requests of all connections are worked on, one at a time.
    `has_waited` is set once a Produce of this connection had to wait for the disk. The next Produce
    may have to wait, too, so answers are no longer kept back to leave together with the next one.
    All connections of a process share `encoded_topics`, of which answers to Metadata are made, and
    `telemetry`, what clients push of their own metrics.
    `key_stores` are those of the broker's TLS listeners, None where there are none.
    `nothing_to_give` runs while a Fetch waits, and `throttled` while its client is above a quota.
    `passage` is set by a Produce to a slow topic: what its answer waits for. `at_close` is called
    when the connection has ended; `stop` is set when the work of threads for it has to end.
    """

    __slots__ = (
        "apis",
        "at_close",
        "authorizer",
        "client_address",
        "client_log",
        "clock",
        "cluster",
        "connection_id",
        "encoded_topics",
        "fetch_sessions",
        "groups",
        "has_waited",
        "hooks",
        "key_stores",
        "lane",
        "listener",
        "local_address",
        "node_id",
        "nothing_to_give",
        "passage",
        "principal",
        "quota",
        "quotas",
        "renew",
        "sasl",
        "settings",
        "sibling",
        "software",
        "stop",
        "telemetry",
        "throttled",
        "transactions",
    )

    def __init__(
        self,
        *,
        cluster: "Cluster",
        groups: "Groups",
        transactions: "Transactions",
        clock: "Clock",
        client_log: "RateLimitedLog",
        settings: "Settings",
        apis: Mapping[int, Api],
        listener: ListenerInfo,
        local_address: tuple[str, int],
        client_address: tuple[str, int],
        fetch_sessions: "FetchSessionCache",
        lane: "Lane",
        encoded_topics: EncodedTopics | None = None,
        telemetry: SharedTelemetry | None = None,
        hooks: Hooks | None = None,
        connection_id: int = 0,
        node_id: int | None = None,
        sibling: Callable[[int], ListenerInfo | None] | None = None,
        sasl: "SaslRules | None" = None,
        authorizer: "Authorizer | None" = None,
        quotas: Throttling | None = None,
        key_stores: KeyStores | None = None,
    ) -> None:
        self.cluster = cluster
        self.groups = groups
        self.transactions = transactions
        self.clock = clock
        self.client_log = client_log
        self.settings = settings
        self.apis = apis
        self.listener = listener
        self.local_address = local_address
        self.client_address = client_address
        self.fetch_sessions = fetch_sessions
        self.lane = lane
        self.encoded_topics = EncodedTopics() if encoded_topics is None else encoded_topics
        self.telemetry = SharedTelemetry(cluster) if telemetry is None else telemetry
        self.hooks = Hooks() if hooks is None else hooks
        self.node_id = cluster.node_id if node_id is None else node_id
        self.sibling = sibling
        self.connection_id = connection_id
        self.principal: Principal = ANONYMOUS
        self.sasl = sasl
        self.authorizer = authorizer
        self.key_stores = key_stores
        self.renew: Renew | None = None
        self.quotas = quotas
        self.quota: RequestQuota | None = None
        self.software = ""
        self.has_waited = False
        self.passage: Passage | None = None
        self.nothing_to_give = Stopwatch()
        self.throttled = Stopwatch()
        self.stop = Stop()
        self.at_close: dict[object, Callable[[], object]] = {}

    def offers(self, request: Request) -> bool:
        """Whether the API of a request is offered in its version."""
        api = self.apis.get(request.api_key)
        return api is not None and api.min_version <= request.api_version <= api.max_version

    @property
    def metadata(self) -> "MetadataView":
        """What this broker knows of the cluster, for answers that tell clients about it.

        It may be behind `cluster`, by which all checks are made.
        """
        return self.cluster.metadata_of(self.node_id)

    def advertised_address(self) -> tuple[str, int]:
        """Return the host and port at which this connection's client reaches this node."""
        host, port = self.local_address
        listener = self.listener
        return listener.advertised_host or host, listener.advertised_port or port

    def address_of(self, node_id: int) -> tuple[str, int] | None:
        """Host and port under which this connection's client reaches a broker.

        None for a broker that has no listener of this name.
        """
        if node_id == self.node_id:
            return self.advertised_address()
        listener = None if self.sibling is None else self.sibling(node_id)
        if listener is None:
            return None
        host = listener.advertised_host or self.local_address[0]
        return host, listener.advertised_port or listener.bound_port
