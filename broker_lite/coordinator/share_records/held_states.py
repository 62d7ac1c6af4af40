"""How much memory the records in flight of all share groups take, and what is kept of them.

A run of records takes memory while it is in flight, and what is kept of it as long as the group
exists. Neighbours of the same state are one run, so a partition mostly has as many as its members
have batches. But a member may give each record a fate of its own.

A difference to Kafka: above half of `broker.lite.groups.max.bytes` for all groups, no further
records are acquired, and a request that would split runs of records gets COORDINATOR_NOT_AVAILABLE;
so does one that would give a partition more than 32,768 runs. What needs no more memory goes on:
records in flight are acquired again as they are, and whole runs are acknowledged. Kafka bounds the
records in flight of each partition only.

Rule: K-36.
"""

from collections.abc import Callable
from typing import Final

RUN_BYTES: Final = 704
"""The memory of a run of records in flight, with its batch, its locks, and what is kept of it."""
KEPT_BYTES: Final = 192
"""The memory of a run that is kept; it stays while no member reads the partition."""
NO_ROOM: Final = "The states of share groups take as much memory as they may."
_UNBOUNDED: Final = 1 << 62
_WAITED_FOR: Final = 2
"""A member that waits for memory needs so many runs at most."""


class HeldStates:
    """Counts runs of records; used by one thread.

    Attributes:
        run_count: how many are in flight, or will be as soon as a request goes on.
        kept_count: how many are kept.
        when_free: called when there is memory again after somebody found none.
    """

    __slots__ = ("_bytes_max", "_is_short", "kept_count", "run_count", "when_free")

    def __init__(self, bytes_max: int = _UNBOUNDED) -> None:
        """Begin with none.

        Args:
            bytes_max: how much memory they may take together.
        """
        self.run_count = 0
        self.kept_count = 0
        self.when_free: Callable[[], object] | None = None
        self._bytes_max = bytes_max
        self._is_short = False

    @property
    def size_bytes(self) -> int:
        """How much memory they take, at most."""
        return self.run_count * RUN_BYTES + self.kept_count * KEPT_BYTES

    def has_room(self, run_count: int) -> bool:
        """Return whether so many more may be in flight."""
        if self.size_bytes + run_count * RUN_BYTES <= self._bytes_max:
            return True
        self._is_short = True
        return False

    def may_acquire(self) -> bool:
        """Return whether there is memory for a member that acquires records."""
        return self.has_room(_WAITED_FOR)

    def may_keep(self, count: int) -> bool:
        """Return whether so many more may be kept."""
        return self.size_bytes + count * KEPT_BYTES <= self._bytes_max

    def may_keep_whole(self) -> bool:
        """Return whether one more may be kept of a run that a member has acknowledged whole.

        Other processes count what they have in flight, so here is room for what becomes of that.
        """
        return self.may_keep(1 - self._bytes_max // RUN_BYTES)

    def add_runs(self, count: int) -> None:
        """Count more runs in flight; a negative number takes away."""
        self.run_count += count
        if count < 0:
            self._tell()

    def add_kept(self, count: int) -> None:
        """Count more runs that are kept; a negative number takes away."""
        self.kept_count += count
        if count < 0:
            self._tell()

    def _tell(self) -> None:
        if self._is_short and self.may_acquire():
            self._is_short = False
            if self.when_free is not None:
                self.when_free()
