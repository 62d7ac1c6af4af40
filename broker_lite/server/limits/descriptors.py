"""Limit the file descriptors of clients: the others are for log files and the broker itself.

Without a limit the connections could take all descriptors, and then a produce to a partition whose
file is not open would fail. While clients use all of theirs, none is accepted: a client that
connects waits in the backlog of the listening socket, and is served when another one goes.
"""

import logging
import resource
from typing import Final

import anyio

from broker_lite.rate_limited_log import RateLimitedLog

logger = logging.getLogger("broker_lite.server")

# For the directory, listening sockets, the event loop, and files that threads open for a moment.
_KEPT_FOR_BROKER: Final = 64
# So many clients are served even if there are too few descriptors.
_CLIENTS_MIN: Final = 8
_NO_LIMIT: Final = 2**31 - 1


def raise_descriptor_limit() -> None:
    """Let the process have as many descriptors as the system allows, as a Java VM does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError) as error:
        # A container may forbid it; then fewer clients are served.
        logger.warning("the limit of descriptors stays at %d: %s", soft, error)


def clients_max(open_files_max: int) -> int:
    """Return how many connections there may be beside so many open log files.

    Answers may keep files open that the cache has dropped: a quarter of its number, see FileCache.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit < 0:  # no limit
        return _NO_LIMIT
    return max(limit - open_files_max * 5 // 4 - _KEPT_FOR_BROKER, _CLIENTS_MIN)


class ClientDescriptors:
    """The descriptors of clients: accepting waits for a free one."""

    def __init__(self, count_max: int, client_log: RateLimitedLog) -> None:
        """Begin with all of them free.

        Args:
            count_max: the number of descriptors for clients.
            client_log: takes the lines that clients can cause.
        """
        self.count = 0
        self._count_max = count_max
        self._client_log = client_log
        self._freed = anyio.Event()

    def has_free(self) -> bool:
        """True if another client can be accepted."""
        return self.count < self._count_max

    def take(self) -> None:
        """Count a client that was accepted."""
        self.count += 1

    def give_back(self) -> None:
        """Count a client whose socket is closed."""
        self.count -= 1
        self._freed.set()

    async def wait(self) -> None:
        """Wait until another client can be accepted."""
        if self.has_free():
            return
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._client_log.write(
            logger,
            logging.WARNING,
            ("accepting no clients",),
            "accepting no clients until one goes: they use all descriptors that log files leave "
            "clients=%d descriptors=%d; raise the limit (ulimit -n) for more",
            self.count,
            limit,
        )
        while not self.has_free():
            # All listeners wait for the same event, else only the last one would be woken.
            if self._freed.is_set():
                self._freed = anyio.Event()
            await self._freed.wait()
        self._client_log.write(
            logger,
            logging.INFO,
            ("accepting clients again",),
            "accepting clients again clients=%d",
            self.count,
        )
