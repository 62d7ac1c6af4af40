"""What a connection has used since it was accepted, and what it has waited for."""

from time import monotonic
from typing import NamedTuple

from broker_lite.server.client_connection import ClientConnection
from broker_lite.server.tcp_state import TcpCounts, tcp_counts


class Usage(NamedTuple):
    """The sums of one connection at one moment.

    Attributes:
        at_s: the moment.
        requests: handled, or in progress.
        not_asking_s: no whole request was there.
        not_reading_s: the client did not make room for the rest of an answer.
        nothing_to_give_s: a Fetch waited for records.
        throttled_s: the client was above a quota.
        tcp: what the kernel has counted.
    """

    at_s: float
    requests: int
    not_asking_s: float
    not_reading_s: float
    nothing_to_give_s: float
    throttled_s: float
    tcp: TcpCounts


def usage_of(connection: ClientConnection) -> Usage:
    """Look at a connection.

    Raises:
        OSError: it is lost.
    """
    stream, context = connection.stream, connection.context
    return Usage(
        monotonic(),
        connection.requests,
        stream.not_asking.seconds(),
        stream.not_reading.seconds(),
        context.nothing_to_give.seconds(),
        context.throttled.seconds(),
        tcp_counts(stream.sock),
    )
