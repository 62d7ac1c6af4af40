"""Close connections whose requests stop arriving while others wait for their memory.

Memory for a whole request is taken when the first part of it has arrived. In Kafka a client that
then stops sending holds the memory until `connections.max.idle.ms`, ten minutes, and a few such
clients stop all others. Here such connections are closed after some seconds, but only while another
connection waits for memory.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Final, Protocol

from broker_lite.rate_limited_log import RateLimitedLog

logger = logging.getLogger("broker_lite.server")

# A request is slow if it grew by less than 64 KiB in 5 s. That is too slow for Kafka's clients,
# too, which give up after request.timeout.ms.
STALLED_MS: Final = 5_000
STALLED_BYTES: Final = 65_536


class Receiving(Protocol):
    """A connection that may be receiving a request."""

    @property
    def client_ip(self) -> str:
        """The client's address without its port."""

    @property
    def arrived_bytes(self) -> int | None:
        """Bytes of a partly received request for which memory was taken; None if there is none."""

    def drop(self) -> None:
        """Close now."""


class StalledFrames:
    """Finds the connections whose requests stopped arriving, and closes them."""

    def __init__(self, is_short: Callable[[], bool], client_log: RateLimitedLog) -> None:
        """Begin with nothing seen.

        Args:
            is_short: True if a connection waits for memory.
            client_log: takes the lines that clients can cause.
        """
        self._is_short = is_short
        self._client_log = client_log
        self._seen: dict[Receiving, tuple[int, int]] = {}

    def look(self, connections: Iterable[Receiving], now_ms: int) -> None:
        """Compare the connections with the last look; call it from time to time."""
        before, self._seen = self._seen, {}
        if not self._is_short():
            return
        for connection in connections:
            arrived_bytes = connection.arrived_bytes
            if arrived_bytes is None:
                continue
            seen_bytes, since_ms = before.get(connection, (arrived_bytes, now_ms))
            if not 0 <= arrived_bytes - seen_bytes < STALLED_BYTES:
                seen_bytes, since_ms = arrived_bytes, now_ms
            if now_ms - since_ms < STALLED_MS:
                self._seen[connection] = (seen_bytes, since_ms)
                continue
            self._client_log.write(
                logger,
                logging.WARNING,
                ("requests do not arrive", connection.client_ip),
                "closing %s: its request stopped arriving after %d bytes, and others wait for "
                "the memory",
                connection.client_ip,
                arrived_bytes,
            )
            connection.drop()
