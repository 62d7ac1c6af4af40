"""What a connection has used since it was accepted, and what it has waited for."""

from time import monotonic
from typing import NamedTuple

from broker_lite.server.client_connection import ClientConnection
from broker_lite.server.tcp_state import TcpCounts, tcp_counts


class LinkTimes(NamedTuple):
    """See server.slow_link.LinkWatches."""

    on_way_s: float
    not_read_s: float


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
        None if link is None else LinkTimes(link.on_way.seconds(), link.not_read.seconds()),
        tcp_counts(stream.sock),
        context.client_address[0] == context.local_address[0],
    )
