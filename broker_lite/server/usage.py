"""What a connection has used since it was accepted, and what it has waited for."""

from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from broker_lite.server.client_connection import ClientConnection
from broker_lite.server.tcp_state import TcpCounts, tcp_counts

if TYPE_CHECKING:
    from broker_lite.server.slow_link import LinkWatches


class LinkTimes(NamedTuple):
    """What a slow link to the client has done; see server.slow_link.

    Attributes:
        on_way_s: bytes were on their way.
        not_read_s: the client, or its kernel, had no room for answers that had arrived. Some
            megabytes of them fit into the kernel of the link's end.
    """

    on_way_s: float
    not_read_s: float


def _link_times(link: "LinkWatches") -> LinkTimes:
    """Look at a slow link.

    Raises:
        OSError: the client has gone.
    """
    window_closed_s = tcp_counts(link.client).window_closed_s
    return LinkTimes(link.on_way.seconds(), max(link.not_read.seconds(), window_closed_s))


class Usage(NamedTuple):
    """The sums of one connection at one moment.

    Attributes:
        at_s: the moment.
        requests: handled, or in progress.
        events: how often it was read from, or written to after a wait.
        not_asking_s: no whole request was there.
        arriving_s: the part of it in which some of a request was there.
        not_reading_s: the client did not make room for the rest of an answer.
        nothing_to_give_s: a Fetch waited for records.
        throttled_s: the client was above a quota.
        link: what the slow link to the client has done; None without one.
        tcp: what the kernel has counted.
        is_within_host: whether the client, or a proxy in front of it, is on the broker's host.
    """

    at_s: float
    requests: int
    events: int
    not_asking_s: float
    arriving_s: float
    not_reading_s: float
    nothing_to_give_s: float
    throttled_s: float
    link: LinkTimes | None
    tcp: TcpCounts
    is_within_host: bool = False


def usage_of(connection: ClientConnection) -> Usage:
    """Look at a connection.

    Raises:
        OSError: it is lost.
    """
    stream, context, link = connection.stream, connection.context, connection.link
    return Usage(
        monotonic(),
        connection.requests,
        stream.events,
        stream.not_asking.seconds(),
        stream.arriving.seconds(),
        stream.not_reading.seconds(),
        context.nothing_to_give.seconds(),
        context.throttled.seconds(),
        None if link is None else _link_times(link),
        tcp_counts(stream.sock),
        context.client_address[0] == context.local_address[0],
    )
