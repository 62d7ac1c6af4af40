"""How many descriptors clients may have: the others are for log files and for the broker itself.

Without a share of their own the connections would take all of them, and a produce to a partition
whose file is not open would fail. While clients have all of theirs nobody is accepted: who connects
waits in the backlog of the listening socket, and is served when another one goes.
"""

import logging
import resource
from typing import Final

import anyio

from broker_lite.rate_limited_log import RateLimitedLog

logger = logging.getLogger("broker_lite.server")

# The directory, sockets that listen, the event loop, and what worker threads open for a moment.
_KEPT_FOR_BROKER: Final = 64
# With fewer descriptors than are kept, some clients are served all the same.
_CLIENTS_MIN: Final = 8
_NO_LIMIT: Final = 2**31 - 1


def raise_descriptor_limit() -> None:
    """Let the process have as many descriptors as the system allows it, as a Java VM does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError) as error:
        # a container may forbid it; fewer clients are served then
        logger.warning("the limit of descriptors stays at %d: %s", soft, error)


def clients_max(open_files_max: int) -> int:
    """How many connections there may be beside so many open log files.

    Answers may hold files back when the cache opens others: a quarter of its number, see FileCache.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit < 0:  # none
        return _NO_LIMIT
    return max(limit - open_files_max * 5 // 4 - _KEPT_FOR_BROKER, _CLIENTS_MIN)


class ClientDescriptors:
    """The descriptors of clients: accepting waits for a free one."""

    def __init__(self, count_max: int, client_log: RateLimitedLog) -> None:
        """Begin with all of them free.

        Args:
            count_max: how many there are.
            client_log: takes the lines that clients can cause.
        """
        self.count = 0
        self._count_max = count_max
        self._client_log = client_log
        self._freed = anyio.Event()

    def has_free(self) -> bool:
        """Whether another client can be accepted."""
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
            "accepting no clients until one goes: they have all descriptors that log files leave "
            "clients=%d descriptors=%d; raise the limit (ulimit -n) for more",
            self.count,
            limit,
        )
        while not self.has_free():
            self._freed = anyio.Event()
            await self._freed.wait()
        self._client_log.write(
            logger,
            logging.INFO,
            ("accepting clients again",),
            "accepting clients again clients=%d",
            self.count,
        )
