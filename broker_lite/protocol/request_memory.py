"""Limit the memory that the receive buffers of all connections take together.

As in Kafka, a frame takes memory for its whole size once some of it has arrived. It gets the memory
as long as any is left, and is then received to its end. So the taken memory exceeds the limit by
less than one frame, and no connection holds half a frame while it waits for the memory of the rest.
If a frame gets no memory, its connection is not read until others give memory back.

Two differences to Kafka. Buffers up to SMALL_BUFFER_BYTES have a pool of their own, a quarter in
size, and the first bytes of each connection need no memory from a pool: so small requests go on
while large ones wait. And connections keep their buffers for the next request until another
connection is short of memory.
"""

from collections import deque
from collections.abc import Callable
from typing import Final

SMALL_BUFFER_BYTES: Final = 128 * 1024
_SMALL_SHARE: Final = 4
# The least size of the pool for small buffers, however small the limit is.
_SMALL_BYTES_MIN: Final = 1024 * 1024


class NoMemory(Exception):
    """There is no memory for a buffer now; wait at the pool before more is received."""

    def __init__(self, pool: "Pool") -> None:
        super().__init__("no memory for a buffer")
        self.pool = pool


class Pool:
    """A number of bytes that buffers share; a connection that gets none waits in line."""

    __slots__ = ("_reclaim", "_waiting", "is_short", "limit_bytes", "used_bytes")

    def __init__(self, limit_bytes: int, reclaim: Callable[[], object]) -> None:
        """Begin with all of it free.

        Args:
            limit_bytes: below 1 there is no limit.
            reclaim: called when memory runs short; it lets idle connections give back theirs.
        """
        self.limit_bytes = limit_bytes
        self.used_bytes = 0
        self.is_short = False
        self._reclaim = reclaim
        self._waiting: deque[Callable[[], object]] = deque()

    @property
    def waiting_count(self) -> int:
        """The number of connections that wait for memory."""
        return len(self._waiting)

    def take(self, size_bytes: int) -> None:
        """Take memory of any size, as long as there is any left.

        Raises:
            NoMemory: the limit is reached.
        """
        if not self._has_free():
            if not self.is_short:
                self.is_short = True
                self._reclaim()
            if not self._has_free():
                raise NoMemory(self)
        self.used_bytes += size_bytes
        self._wake()

    def give_back(self, size_bytes: int) -> None:
        """Give back taken memory, and wake the first connection that waits."""
        self.used_bytes -= size_bytes
        if self.is_short and not self._waiting and self.used_bytes < self.limit_bytes // 2:
            self.is_short = False
        self._wake()

    def wait(self, wake: Callable[[], object]) -> None:
        """Wait in line; wake() is called once, when there may be memory."""
        self._waiting.append(wake)

    def forget(self, wake: Callable[[], object]) -> None:
        """Leave the line; if wake() was called already, wake the next one instead."""
        if wake in self._waiting:
            self._waiting.remove(wake)
        else:
            self._wake()

    def _has_free(self) -> bool:
        return self.limit_bytes <= 0 or self.used_bytes < self.limit_bytes

    def _wake(self) -> None:
        # Wake one connection at a time: when it takes memory, it wakes the next one.
        if self._waiting and self._has_free():
            self._waiting.popleft()()


class RequestMemory:
    """The memory of all receive buffers of a node: a pool for large ones, a pool for small ones."""

    __slots__ = ("large", "small")

    def __init__(self, limit_bytes: int = -1, reclaim: Callable[[], object] = lambda: None) -> None:
        """Begin with all of it free; see Pool."""
        self.large = Pool(limit_bytes, reclaim)
        small_bytes = max(limit_bytes // _SMALL_SHARE, _SMALL_BYTES_MIN) if limit_bytes > 0 else -1
        self.small = Pool(small_bytes, reclaim)

    def has_waiting(self) -> bool:
        """True if a connection waits for memory."""
        return self.large.waiting_count > 0 or self.small.waiting_count > 0

    def of(self, size_bytes: int) -> Pool:
        """Return the pool from which a buffer of this size is taken."""
        return self.small if size_bytes <= SMALL_BUFFER_BYTES else self.large
