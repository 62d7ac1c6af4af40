"""How much memory the receive buffers of all connections may take together.

As in Kafka, a frame that begins takes memory for its whole size, once some of it has arrived; it
gets it as long as any is left, and is then received to its end. So what is taken exceeds the limit
by less than one frame, and nobody holds half a frame while waiting for the memory of the rest.
A frame that gets none stays where it is: its connection is not read until others give memory back.

Two differences to Kafka. Buffers up to SMALL_BUFFER_BYTES have a memory of their own, a quarter in
size, and the first bytes of each connection need none: small requests go on while large ones wait.
And connections keep their buffers for the next request until somebody is short of memory.
"""

from collections import deque
from collections.abc import Callable
from typing import Final

SMALL_BUFFER_BYTES: Final = 128 * 1024
_SMALL_SHARE: Final = 4
# What is kept for small buffers however little memory there is.
_SMALL_BYTES_MIN: Final = 1024 * 1024


class NoMemory(Exception):
    """There is no memory for a buffer now; wait at the pool before more is received."""

    def __init__(self, pool: "Pool") -> None:
        super().__init__("no memory for a buffer")
        self.pool = pool


class Pool:
    """A number of bytes that buffers share; who gets none waits in line."""

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
        """How many connections wait for memory."""
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
        """Give back what was taken, and wake the first who waits."""
        self.used_bytes -= size_bytes
        if self.is_short and not self._waiting and self.used_bytes < self.limit_bytes // 2:
            self.is_short = False
        self._wake()

    def wait(self, wake: Callable[[], object]) -> None:
        """Stand in line; wake() is called once, when there may be memory."""
        self._waiting.append(wake)

    def forget(self, wake: Callable[[], object]) -> None:
        """Leave the line; whoever was woken and does not want the memory any more passes it on."""
        if wake in self._waiting:
            self._waiting.remove(wake)
        else:
            self._wake()

    def _has_free(self) -> bool:
        return self.limit_bytes <= 0 or self.used_bytes < self.limit_bytes

    def _wake(self) -> None:
        # one at a time: who takes memory wakes the next
        if self._waiting and self._has_free():
            self._waiting.popleft()()


class RequestMemory:
    """The memory of all receive buffers of a node: that of large ones and that of small ones."""

    __slots__ = ("large", "small")

    def __init__(self, limit_bytes: int = -1, reclaim: Callable[[], object] = lambda: None) -> None:
        """Begin with all of it free; see Pool."""
        self.large = Pool(limit_bytes, reclaim)
        small_bytes = max(limit_bytes // _SMALL_SHARE, _SMALL_BYTES_MIN) if limit_bytes > 0 else -1
        self.small = Pool(small_bytes, reclaim)

    def has_waiting(self) -> bool:
        """Whether a connection waits for memory."""
        return self.large.waiting_count > 0 or self.small.waiting_count > 0

    def of(self, size_bytes: int) -> Pool:
        """The memory that a buffer of this size is taken from."""
        return self.small if size_bytes <= SMALL_BUFFER_BYTES else self.large
