"""Limit the memory of answers that clients do not read.

An answer is sent at once as far as the kernel has room for it. The rest stays in memory until the
client reads. A client that asks and does not read costs the memory of its answer. If all such
answers together are above the limit, the connection that has held its answer longest is closed.
"""

import logging
from typing import Final, Protocol

from broker_lite.rate_limited_log import RateLimitedLog

logger = logging.getLogger("broker_lite.server")

NO_LIMIT: Final = -1


class Holder(Protocol):
    """A connection whose client has not read all of an answer."""

    @property
    def client_ip(self) -> str:
        """The client's address without its port."""

    def drop(self) -> None:
        """Close now."""


class UnsentAnswers:
    """The bytes of answers that wait for their clients, over all connections."""

    __slots__ = ("_client_log", "_held", "_limit_bytes", "held_bytes")

    def __init__(self, limit_bytes: int, client_log: RateLimitedLog) -> None:
        """Begin without answers.

        Args:
            limit_bytes: below 0 there is no limit.
            client_log: takes the lines that clients can cause.
        """
        self.held_bytes = 0
        self._limit_bytes = limit_bytes
        self._client_log = client_log
        self._held: dict[Holder, int] = {}

    def hold(self, holder: Holder, size_bytes: int) -> None:
        """Count an answer until release(); if that is too much, drop the oldest answers."""
        self._held[holder] = size_bytes
        self.held_bytes += size_bytes
        while 0 <= self._limit_bytes < self.held_bytes:
            oldest = next(iter(self._held))
            size_bytes = self.release(oldest)
            self._client_log.write(
                logger,
                logging.WARNING,
                ("answers are not taken", oldest.client_ip),
                "closing %s: it does not take its answer of %d bytes, and others wait for theirs",
                oldest.client_ip,
                size_bytes,
            )
            oldest.drop()

    def release(self, holder: Holder) -> int:
        """Forget the answer of a connection, sent or not; return its size, 0 if there is none."""
        size_bytes = self._held.pop(holder, 0)
        self.held_bytes -= size_bytes
        return size_bytes
